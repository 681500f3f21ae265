"""The registry of parts. It finds the declarations of all parts, built-in or installed, and puts them together.

To register a built-in part, you just add its folder next to this module, and to remove the part, you delete the folder.
Other packages register their parts through the entry-point group `slpstream.parts` (see `docs/howto/add_a_part.md`).
Both kinds use the same declaration and the same interface.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from slpstream import parts as folder
from slpstream.model.errors import ConfigError
from slpstream.parts.interface import Command, Message, Part, RunningPart
from slpstream.system.metric_row import Row

if TYPE_CHECKING:
    from starlette.routing import Route

    from slpstream.config import Config, Section
    from slpstream.system.metrics import Metrics
    from slpstream.web.endpoint import Endpoint
    from slpstream.web.site import Page

ENTRY_POINTS = "slpstream.parts"


class _Registered(NamedTuple):
    """A part, together with the folder that contains its module."""

    part: Part
    folder: Path


def parts() -> list[Part]:
    """Return all parts: the built-in ones by name, followed by those of installed packages by name.

    Raises `ConfigError`.
    """
    return [each.part for each in _registered()]


@functools.cache
def _registered() -> tuple[_Registered, ...]:
    """Find all parts and check that they fit together.

    Raises `ConfigError` if a package can't be loaded, if it registers something that isn't a `Part`, or if one of its
    names, sections or commands is already taken.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 -- commands of built-in parts start without these

    from slpstream import config  # noqa: PLC0415

    core = {section.name: section.struct.__struct_fields__ for section in config.CORE}
    names_of_core = {"section": {*core} - {"stations"}, "key of stations": {*core["stations"]}}
    built_in = sorted(module.name for module in iter_modules(folder.__path__) if module.ispkg)
    found = [_built_in(name) for name in built_in]
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
            others |= names_of_core.get(kind, set())
            if taken & others:
                raise ConfigError(where, entry.value, f"the {kind} {min(taken & others)} is taken")
        found.append(added)
    return tuple(found)


def _built_in(name: str) -> _Registered:
    return _loaded(f"{folder.__name__}.{name}.part", "PART")


def _loaded(module: str, attribute: str) -> _Registered:
    loaded = import_module(module)
    return _Registered(getattr(loaded, attribute), Path(loaded.__file__ or "").parent)


def _names(part: Part) -> Mapping[str, set[str]]:
    """Return the names that no other part is allowed to have, by kind."""
    return {
        "name": {part.name},
        "section": {section.name for section in part.sections if section.name != "stations"},
        "key of stations": {
            key for each in part.sections if each.name == "stations" for key in each.struct.__struct_fields__
        },
        "command": {command.name for command in part.commands},
        "message": {message.type for message in part.messages},
        "metric": {row.name for row in part.metrics},
        "page": {page.path for page in part.pages},
        "function": set(part.functions),
    }


def sections() -> list[Section]:
    """Return the sections of the configuration that parts declare."""
    return [section for part in parts() for section in part.sections]


def metric_rows() -> list[Row]:
    """Return the metrics of all parts."""
    return [row for part in parts() for row in part.metrics]


def messages() -> list[Message]:
    """Return the types of messages of all parts."""
    return [message for part in parts() for message in part.messages]


def labels() -> list[str]:
    """Return the names that appear in `slpstream_internal_errors_total`, for all parts that can run."""
    return [label for part in parts() if part.start for label in (part.label, *part.labels)]


def commands() -> Mapping[str, Command]:
    """Return the commands of all parts, by name."""
    return {command.name: command for part in parts() for command in part.commands}


def command(name: str) -> Command | None:
    """Return the command with this name, or `None` if no part has it.

    If a built-in part has the same name, only this part is loaded, so that its command starts quickly.
    """
    if name.isidentifier() and Path(folder.__path__[0], name, "part.py").is_file():
        of_same_name = next((each for each in _built_in(name).part.commands if each.name == name), None)
        if of_same_name is not None:
            return of_same_name
    return commands().get(name)


def function(name: str) -> Callable[..., Any] | None:
    """Return the function that a part implements under this name, or `None` if no part does."""
    found = (part.functions[name] for part in parts() if name in part.functions)
    reference = next(found, None)
    return None if reference is None else resolve_name(reference)


def pages() -> list[Page]:
    """Return the pages of all parts."""
    from slpstream.web.site import Page  # noqa: PLC0415 -- commands without a web server use this module too

    return [
        Page(page.path, each.folder / "static", page.file, page.title, page.frames)
        for each in _registered()
        for page in each.part.pages
    ]


def page_routes(exists: Callable[[str], bool], overlay_folder: Path | None) -> list[Route]:
    """Return the routes to pages and files that parts compute. `exists` returns whether a station exists."""
    return [route for part in parts() if part.routes for route in resolve_name(part.routes)(exists, overlay_folder)]


def claim_paths() -> list[str]:
    """Return the prefixes of those paths that use tokens different from the usual ones, for all parts."""
    return [path for part in parts() for path in part.claim_paths]


def static_folders() -> Mapping[str, Path]:
    """Return the folders from which the pages, scripts and styles of all parts are served, by the names in their
    URLs.
    """
    return {each.part.name: static for each in _registered() if (static := each.folder / "static").is_dir()}


def load(path: Path) -> Config:
    """Load a configuration file, which can contain the sections of all parts.

    Raises `ConfigError` if something is wrong.
    """
    from slpstream import config  # noqa: PLC0415 -- as above

    return config.load(path, sections())


def endpoints(running: Mapping[str, RunningPart]) -> list[Endpoint]:
    """Return the HTTP endpoints of all parts.

    `running` contains the running parts by name. If you only want a description of the endpoints, it can be empty.
    """
    found: list[Endpoint] = []
    for part in parts():
        if part.endpoints:
            found += resolve_name(part.endpoints)(running.get(part.name))
    return found


def metrics() -> Metrics:
    """Create the collectors of all metrics (see `system.metrics.Metrics`)."""
    from slpstream.system.metrics import Metrics  # noqa: PLC0415 -- most commands have no metrics

    return Metrics(metric_rows(), labels())
