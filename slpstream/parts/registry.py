"""The registry of parts: finds the declarations of built-in parts and of installed packages, and composes them.

A built-in part is registered by its folder next to this module, so that adding or deleting a folder is all there is to
do. Packages register theirs through the entry-point group `slpstream.parts` (`docs/howto/add_a_part.md`); both kinds
have the same declaration and the same interface.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from slpstream import config
from slpstream import parts as folder
from slpstream.config import Config, Section
from slpstream.model.errors import ConfigError
from slpstream.parts.interface import Command, Part, RunningPart
from slpstream.system.metric_row import Row

if TYPE_CHECKING:
    from starlette.routing import Route

    from slpstream.system.metrics import Metrics
    from slpstream.web.endpoint import Endpoint
    from slpstream.web.site import Page

ENTRY_POINTS = "slpstream.parts"


class _Registered(NamedTuple):
    """A part, and the folder that its module is in."""

    part: Part
    folder: Path


def parts() -> list[Part]:
    """All parts: the built-in ones, then those of installed packages, each by name. Raises `ConfigError`."""
    return [each.part for each in _registered()]


@functools.cache
def _registered() -> tuple[_Registered, ...]:
    """Raises `ConfigError` for a package that cannot be loaded, that registers something other than a `Part`, or whose
    name, section or command is taken."""
    built_in = sorted(module.name for module in iter_modules(folder.__path__) if module.ispkg)
    found = [_loaded(f"{folder.__name__}.{name}.part", "PART") for name in built_in]
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        where = f"entry point {entry.name}"
        try:
            added = _loaded(entry.module, entry.attr)
        except (ImportError, AttributeError, TypeError) as error:  # TypeError: made for another version of `Part`
            raise ConfigError(where, entry.value, "cannot be loaded", found=error) from error
        if not isinstance(added.part, Part):
            raise ConfigError(where, entry.value, "expected a slpstream.parts.interface.Part")
        for kind, taken in _names(added.part).items():
            others = {name for each in found for name in _names(each.part)[kind]}
            others |= {section.name for section in config.CORE} if kind == "section" else set()
            if taken & others:
                raise ConfigError(where, entry.value, f"the {kind} {min(taken & others)} is taken")
        found.append(added)
    return tuple(found)


def _loaded(module: str, attribute: str) -> _Registered:
    loaded = import_module(module)
    return _Registered(getattr(loaded, attribute), Path(loaded.__file__ or "").parent)


def _names(part: Part) -> Mapping[str, set[str]]:
    """The names that no other part may have, by kind."""
    return {
        "name": {part.name},
        "section": {section.name for section in part.sections},
        "command": {command.name for command in part.commands},
        "metric": {row.name for row in part.metrics},
        "page": {page.path for page in part.pages},
        "function": set(part.functions),
    }


def sections() -> list[Section]:
    """The sections of the configuration that parts declare."""
    return [section for part in parts() for section in part.sections]


def metric_rows() -> list[Row]:
    """The metrics of all parts."""
    return [row for part in parts() for row in part.metrics]


def labels() -> list[str]:
    """The names in `slpstream_internal_errors_total` of all parts that can run."""
    return [part.label for part in parts() if part.start]


def commands() -> Mapping[str, Command]:
    """The commands of all parts by name."""
    return {command.name: command for part in parts() for command in part.commands}


def function(name: str) -> Callable[..., Any] | None:
    """The function that a part implements for the core under a name; `None` if no part does."""
    found = (part.functions[name] for part in parts() if name in part.functions)
    reference = next(found, None)
    return None if reference is None else resolve_name(reference)


def pages() -> list[Page]:
    """The pages of all parts."""
    from slpstream.web.site import Page  # noqa: PLC0415 -- commands without a web server use this module too

    return [
        Page(page.path, each.folder / "static", page.file, page.title, page.frames)
        for each in _registered()
        for page in each.part.pages
    ]


def page_routes(exists: Callable[[str], bool]) -> list[Route]:
    """The routes of all parts to pages that need a token. `exists` returns whether a station exists."""
    return [route for part in parts() if part.routes for route in resolve_name(part.routes)(exists)]


def claim_paths() -> list[str]:
    """The prefixes of paths of all parts whose requests have separate tokens."""
    return [path for part in parts() for path in part.claim_paths]


def static_folders() -> Mapping[str, Path]:
    """The folders of pages, scripts and styles of all parts, by the names under which they are served."""
    return {each.part.name: static for each in _registered() if (static := each.folder / "static").is_dir()}


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


def metrics() -> Metrics:
    """The collectors of all metrics, see `system.metrics.Metrics`."""
    from slpstream.system.metrics import Metrics  # noqa: PLC0415 -- most commands have no metrics

    return Metrics(metric_rows(), labels())
