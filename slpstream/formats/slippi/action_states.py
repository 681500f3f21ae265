"""Sets of action states. To select them, you write a pattern for the names that the game itself gives to the states.

From 0x155 on, the same id means something different for each fighter. That's why a set has two parts: the ids that all
fighters have in common and, by internal character id, those of single fighters.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from slpstream.formats.slippi.names import FOLDER

_COMMON = -1


@dataclass(eq=False, slots=True)
class StateSet:
    """Some action states, which can be common to all fighters or belong to single ones."""

    common: frozenset[int]
    by_fighter: Mapping[int, frozenset[int]]
    """By internal character id."""

    def __bool__(self) -> bool:
        return bool(self.common or self.by_fighter)

    def has(self, internal_id: int, state: int) -> bool:
        """Whether a state of this fighter is in the set."""
        return state in self.common or state in self.by_fighter.get(internal_id, ())


@functools.cache
def states_called(pattern: str) -> StateSet:
    """Return all states whose whole name matches a regular expression, ignoring case, in which fighters differ."""
    matches = re.compile(pattern, re.IGNORECASE).fullmatch
    found = {
        fighter: frozenset(state for state, name in names.items() if matches(name))
        for fighter, names in _names().items()
    }
    common = found.pop(_COMMON)
    return StateSet(common, {fighter: states for fighter, states in found.items() if states})


def state_name(internal_id: int, state: int) -> str | None:
    """Return the name of a fighter's state, or `None` if the id doesn't have one."""
    return _names().get(internal_id, {}).get(state) or _names()[_COMMON].get(state)


@functools.cache
def _names() -> Mapping[int, Mapping[int, str]]:
    """Return the names of each fighter's own states, by internal character id, and those of all under `_COMMON`."""
    tables = msgspec.json.decode((FOLDER / "action_states.json").read_bytes())["tables"]
    tables["common"]["fighters"] = [_COMMON]
    return {
        fighter: {int(first, 16) + i: name for first, block in table["blocks"].items() for i, name in enumerate(block)}
        for table in tables.values()
        for fighter in table.get("fighters", ())
    }
