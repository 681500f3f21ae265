"""The registry of parts: finds the declarations of built-in parts and of installed packages, and composes them.

A built-in part is registered by its folder next to this module, so that adding or deleting a folder is all there is to
do. Packages register theirs through the entry-point group `slpstream.parts` (`docs/howto/add_a_part.md`); both kinds
have the same declaration and the same interface.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from typing import TYPE_CHECKING

from slpstream import config
from slpstream import parts as folder
from slpstream.config import Config, Section
from slpstream.model.errors import ConfigError
from slpstream.parts.interface import Command, Part, RunningPart
from slpstream.system.metric_row import Row

if TYPE_CHECKING:
    from slpstream.system.metrics import Metrics
    from slpstream.web.endpoint import Endpoint

ENTRY_POINTS = "slpstream.parts"


@functools.cache
def parts() -> tuple[Part, ...]:
    """All parts: the built-in ones, then those of installed packages, each by name.

    Raises `ConfigError` for a package that cannot be loaded, that registers something other than a `Part`, or whose
    name, section or command is taken.
    """
    built_in = sorted(module.name for module in iter_modules(folder.__path__) if module.ispkg)
    found: list[Part] = [import_module(f"{folder.__name__}.{name}.part").PART for name in built_in]
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        where = f"entry point {entry.name}"
        try:
            part = entry.load()
        except (ImportError, AttributeError, TypeError) as error:  # TypeError: made for another version of `Part`
            raise ConfigError(where, entry.value, "cannot be loaded", found=error) from error
        if not isinstance(part, Part):
            raise ConfigError(where, entry.value, "expected a slpstream.parts.interface.Part")
        for kind, names, taken in (
            ("name", {part.name}, {other.name for other in found}),
            ("section", {each.name for each in part.sections}, _section_names(found)),
            ("command", {each.name for each in part.commands}, {each.name for p in found for each in p.commands}),
        ):
            if names & taken:
                raise ConfigError(where, entry.value, f"the {kind} {min(names & taken)} is taken")
        found.append(part)
    return tuple(found)


def _section_names(found: list[Part]) -> set[str]:
    return {*(each.name for each in config.CORE), *(each.name for part in found for each in part.sections)}


def sections() -> list[Section]:
    """The sections of the configuration that parts declare."""
    return [section for part in parts() for section in part.sections]


def metric_rows() -> list[Row]:
    """The metrics of all parts."""
    return [row for part in parts() for row in part.metrics]


def labels() -> list[str]:
    """The names of all parts in `slpstream_internal_errors_total`."""
    return [label for part in parts() for label in (part.labels or (part.name,))]


def commands() -> Mapping[str, Command]:
    """The commands of all parts by name."""
    return {command.name: command for part in parts() for command in part.commands}


def load(path: Path) -> Config:
    """Load a configuration file with the sections of all parts. Raises `ConfigError`."""
    return config.load(path, sections())


def endpoints(running: Mapping[str, RunningPart]) -> list[Endpoint]:
    """The HTTP endpoints of all parts. `running` are the running parts by name; it is empty for a description."""
    found: list[Endpoint] = []
    for part in parts():
        if part.endpoints:
            found += resolve_name(part.endpoints)(running.get(part.name))
    return found


def described_endpoints() -> list[Endpoint]:
    """All endpoints of the HTTP API, for a description: they cannot respond."""
    from slpstream.web import app  # noqa: PLC0415 -- commands without a web server use this module too

    return app.described_endpoints(endpoints({}))


def metrics() -> Metrics:
    """The collectors of all metrics, see `system.metrics.Metrics`."""
    from slpstream.system.metrics import Metrics  # noqa: PLC0415 -- the same

    return Metrics(metric_rows(), labels())
