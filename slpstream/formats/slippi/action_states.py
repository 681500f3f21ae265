"""Sets of action states, selected by a pattern over the game's own names of the states.

Ids from 0x155 on have another meaning for each fighter, so a set has the ids of all fighters and, by internal character
id, those of single ones.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from slpstream.formats.slippi.names import FOLDER

_COMMON = "common"


class StateSet:
    """Some action states, common to all fighters or of single fighters."""

    __slots__ = ("by_fighter", "common")

    def __init__(self, common: frozenset[int], by_fighter: Mapping[int, frozenset[int]]) -> None:
        self.common = common
        self.by_fighter = by_fighter
        """By internal character id."""

    def __bool__(self) -> bool:
        return bool(self.common or self.by_fighter)

    def has(self, internal_id: int, state: int) -> bool:
        """Whether the set contains a fighter's state."""
        if state in self.common:
            return True
        own = self.by_fighter.get(internal_id)
        return own is not None and state in own


@functools.cache
def states_called(pattern: str) -> StateSet:
    """The states whose whole name matches a regular expression, in any fighter's spelling of upper and lower case."""
    matches = re.compile(pattern, re.IGNORECASE).fullmatch
    common: frozenset[int] = frozenset()
    by_fighter: dict[int, frozenset[int]] = {}
    for table in _tables().values():
        found = frozenset(state for state, name in _names(table) if matches(name))
        if table.get("fighters"):
            if found:
                by_fighter |= dict.fromkeys(table["fighters"], found)
        elif table is _tables()[_COMMON]:
            common = found
    return StateSet(common, by_fighter)


def state_name(internal_id: int, state: int) -> str | None:
    """Name of a fighter's state; `None` for an id without a name."""
    own = _by_fighter().get(internal_id)
    name = None if own is None else own.get(state)
    return name or _common_names().get(state)


@functools.cache
def _by_fighter() -> Mapping[int, Mapping[int, str]]:
    """The names of fighters' own states by internal character id."""
    return {fighter: dict(_names(table)) for table in _tables().values() for fighter in table.get("fighters", ())}


@functools.cache
def _common_names() -> Mapping[int, str]:
    return dict(_names(_tables()[_COMMON]))


@functools.cache
def _tables() -> Mapping[str, Any]:
    tables: Mapping[str, Any] = msgspec.json.decode((FOLDER / "action_states.json").read_bytes())["tables"]
    return tables


def _names(table: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    for first, names in table["blocks"].items():
        yield from ((int(first, 16) + index, name) for index, name in enumerate(names))
