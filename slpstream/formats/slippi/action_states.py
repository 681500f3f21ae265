"""Sets of action states. To select them, you write a pattern for the names that the game itself gives to the states.

From 0x155 on, the same id means something different for each fighter. That's why a set has two parts: the ids that all
fighters have in common and, by internal character id, those of single fighters.
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
    """Some action states, which can be common to all fighters or belong to single ones."""

    __slots__ = ("by_fighter", "common")

    def __init__(self, common: frozenset[int], by_fighter: Mapping[int, frozenset[int]]) -> None:
        self.common = common
        self.by_fighter = by_fighter
        """By internal character id."""

    def __bool__(self) -> bool:
        return bool(self.common or self.by_fighter)

    def has(self, internal_id: int, state: int) -> bool:
        """Whether a state of this fighter is in the set."""
        if state in self.common:
            return True
        own = self.by_fighter.get(internal_id)
        return own is not None and state in own


@functools.cache
def states_called(pattern: str) -> StateSet:
    """Return all states whose whole name matches a regular expression.

    It doesn't matter how a fighter spells it, because case is ignored.
    """
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
    """Return the name of a fighter's state, or `None` if the id doesn't have one."""
    own = _by_fighter().get(internal_id)
    name = None if own is None else own.get(state)
    return name or _common_names().get(state)


@functools.cache
def _by_fighter() -> Mapping[int, Mapping[int, str]]:
    """Return the names of those states that only some fighters have, by internal character id."""
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
