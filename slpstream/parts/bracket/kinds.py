"""The kinds of brackets. These are start.gg, webhooks, and those of packages that you have installed.

If you write such a package, add your kind through the entry-point group `slpstream.brackets`. Each entry point must be
a `BracketKind`.
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
    """Return the kind with the given name.

    Raises `ConfigError` if there's no such kind, or if its package can't be loaded.
    """
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
