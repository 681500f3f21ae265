"""The kinds of brackets: start.gg, webhooks, and those of installed packages.

Packages add kinds through the entry-point group `slpstream.brackets`: each entry point is a `BracketKind`.
"""

from __future__ import annotations

import pkgutil
from importlib.metadata import entry_points
from typing import Final

from slpstream.model.errors import ConfigError
from slpstream.parts.bracket.interface import BracketKind

ENTRY_POINTS: Final = "slpstream.brackets"
_BUILT_IN: Final = {
    "start.gg": "slpstream.parts.bracket.startgg.client:KIND",
    "webhook": "slpstream.parts.bracket.webhook:KIND",
}


def kind_called(name: str) -> BracketKind:
    """The kind with this name. Raises `ConfigError` if it is unknown or its package cannot be loaded."""
    if name in _BUILT_IN:
        built_in: BracketKind = pkgutil.resolve_name(_BUILT_IN[name])
        return built_in
    installed = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if name not in installed:
        known = ", ".join([*_BUILT_IN, *sorted(installed.keys() - _BUILT_IN.keys())])
        raise ConfigError("configuration", "bracket.kind", f"expected one of {known}; found {name!r}")
    entry = installed[name]
    try:
        kind = entry.load()
    except (ImportError, AttributeError, TypeError) as error:  # TypeError: made for another version of `BracketKind`
        raise ConfigError(f"entry point {name}", entry.value, "cannot be loaded", found=error) from error
    if not isinstance(kind, BracketKind):
        raise ConfigError(f"entry point {name}", entry.value, "expected a BracketKind")
    return kind
