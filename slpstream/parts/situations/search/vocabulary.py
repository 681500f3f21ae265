"""The words of queries for situations. These are the names that players use for states, moves and places.

States are given by their names in the game, and moves by their ids. Hyphens in words are optional, and it doesn't
matter whether a word is in upper or lower case.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Final, get_args

from slpstream.formats.slippi.action_states import StateSet, states_called
from slpstream.formats.slippi.names import characters, moves
from slpstream.parts.situations.search.query import At, Grabs, InStates, Kills, Lands, Name, PlaceName, Term

STATES: Final[Mapping[str, str]] = {
    "hitstun": r"Damage(Hi|N|Lw|Air)\d|DamageFly\w+",
    "tumble": r"DamageFall",
    "grabbed": r"Capture(Pulled|Wait|Damage)(Hi|Lw)|Capture(Neck|Foot)",
    "thrown": r"Thrown(F|B|Hi|Lw|LwWomen|FF|FB|FHi|FLw)",
    "shield": r"Guard(On|SetOff|Reflect)?",
    "shield-stun": r"GuardSetOff",
    "shield-break": r"ShieldBreak\w+|FuraFura",
    "tech": r"Passive(Stand[FB]|Wall|WallJump|Ceil)?",
    "missed-tech": r"DownBound[UD]",
    "down": r"Down(Bound|Wait|Damage)[UD]",
    "getup": r"Down(Stand|Attack|Foward|Back|Spot)[UD]",
    "ledge": r"Cliff\w+",
    "ledge-grab": r"CliffCatch",
    "ledge-hang": r"Cliff(Catch|Wait)",
    "roll": r"Escape[FB]",
    "spot-dodge": r"Escape",
    "air-dodge": r"EscapeAir",
    "dead": r"Dead\w+",
    "respawn": r"Rebirth(Wait)?",
    "landing": r"Landing\w*",
    "aerial-landing": r"LandingAir\w+",
    "special-landing": r"LandingFallSpecial",
    "idle": r"Wait",
    "walk": r"Walk(Slow|Middle|Fast)",
    "turn": r"Turn(Run)?",
    "dash": r"Dash",
    "run": r"Run(Direct)?",
    "crouch": r"Squat(Wait|Rv)?",
    "jumpsquat": r"KneeBend",
    "jump": r"Jump(Aerial)?[FB]",
    "double-jump": r"JumpAerial[FB]",
    "fall": r"Fall(Aerial)?[FB]?",
    "helpless": r"FallSpecial[FB]?",
    "attacking": r"Attack\w+",
    "grabbing": r"Catch\w*",
    "throwing": r"Throw(F|B|Hi|Lw)",
    "taunt": r"Appeal\w+",
    "teeter": r"Ottotto(Wait)?",
    "platform-drop": r"Pass",
    "wall-jump": r"PassiveWallJump",
    "asleep": r"DamageSong\w*",
    "frozen": r"DamageIce\w*",
    "buried": r"Bury\w*",
}
"""The names of the states of each group, as a pattern."""

_HIT = (*range(0x4B, 0x5C), 0x26, 0xB9, 0xC1, *range(0xDF, 0xE9), *range(0x10A, 0x125), *range(0x126, 0x131))
HIT_STATES: Final = StateSet(frozenset((*_HIT, *range(0x147, 0x153))), {})
"""Damaged, grabbed, or in a command grab. These are the effects of a hit, as in the stats."""

PLACES: Final = get_args(PlaceName)

_DIRECTIONS = {"f": "forward", "b": "back", "u": "up", "d": "down", "n": "neutral"}
_SPECIALS = {"neutral-b": (18, *range(22, 48)), "side-b": (19,), "up-b": (20,), "down-b": (21,)}
_GROUPS: Mapping[str, tuple[int, ...]] = {
    **_SPECIALS,
    "jab": (2, 3, 4, 5),
    "dash-attack": (6,),
    "aerial": (13, 14, 15, 16, 17),
    "tilt": (7, 8, 9),
    "smash": (10, 11, 12),
    "special": (*range(18, 48),),
    "throw": (*range(53, 61),),
    "getup-attack": (50, 51),
    "ledge-attack": (61, 62),
    "laser": (18,),
    "shine": (21,),
    "rest": (21,),
}
"""The moves without a short name, by move id."""
_LEFT_OUT = {"dash", "getup", "edge", "edge-slow"}
"""Short names that mean something else here."""

_STARTS: Mapping[str, str] = {
    "jab": r"Attack1[123]|Attack100\w+",
    "dash-attack": r"AttackDash",
    "ftilt": r"AttackS3\w*",
    "utilt": r"AttackHi3",
    "dtilt": r"AttackLw3",
    "fsmash": r"AttackS4\w*",
    "usmash": r"AttackHi4",
    "dsmash": r"AttackLw4",
    "nair": r"(Float)?AttackAirN",
    "fair": r"(Float)?AttackAirF",
    "bair": r"(Float)?AttackAirB",
    "uair": r"(Float)?AttackAirHi",
    "dair": r"(Float)?AttackAirLw",
    "aerial": r"(Float)?AttackAir\w+",
    "tilt": r"Attack(S3\w*|Hi3|Lw3)",
    "smash": r"Attack(S4\w*|Hi4|Lw4)",
    "neutral-b": r"Special(Air)?N\w*",
    "side-b": r"Special(Air)?S\w*",
    "up-b": r"Special(Air)?Hi\w*",
    "down-b": r"Special(Air)?Lw\w*",
    "special": r"Special\w+",
    "laser": r"Special(Air)?N\w*",
    "shine": r"Special(Air)?Lw\w*",
    "rest": r"Special(Air)?Lw\w*",
    "grab": r"Catch(Dash)?",
    "pummel": r"CatchAttack",
    "fthrow": r"ThrowF",
    "bthrow": r"ThrowB",
    "uthrow": r"ThrowHi",
    "dthrow": r"ThrowLw",
    "throw": r"Throw(F|B|Hi|Lw)",
    "getup-attack": r"DownAttack[UD]",
    "ledge-attack": r"CliffAttack(Slow|Quick)",
}
"""The names of the states of those moves that `starts:` accepts, as a pattern."""

_CHARACTER_ALIASES: Mapping[str, int] = {
    "captainfalcon": 0, "cf": 0, "gnw": 3, "gameandwatch": 3, "mrgameandwatch": 3, "iceclimbers": 14, "ic": 14,
    "jiggs": 15, "yl": 21, "drmario": 22,
}  # fmt: skip
_PLAYABLE = 26
"""Characters with external ids below this one can be chosen in a game."""


def key_of(word: str) -> str:
    """Return a word without its optional parts: hyphens, dots, spaces and differences in case."""
    return re.sub(r"[^\w&]", "", word.casefold())


@functools.cache
def terms() -> Mapping[str, Term]:
    """Return the meaning of each word, by `key_of` the word."""
    found: dict[str, Term] = {key_of(word): Lands(ids) for word, ids in move_ids().items()}
    found |= {key_of(word): InStates(states_called(pattern)) for word, pattern in STATES.items()}
    found |= {key_of(place): At(place) for place in PLACES}
    found |= {"kill": Kills(), "hit": Lands(None), "grab": Grabs()}
    return found


@functools.cache
def move_ids() -> Mapping[str, frozenset[int]]:
    """Return the moves that each word stands for."""
    by_name: dict[str, set[int]] = {}
    for move_id, move in moves().items():
        if move.short_name not in _LEFT_OUT:
            by_name.setdefault(move.short_name, set()).add(move_id)
    found = {name: frozenset(ids) for name, ids in by_name.items()}
    found |= {name: frozenset(ids) for name, ids in _GROUPS.items()}
    for name in [*found]:
        for long_name in _long_names(name):
            found.setdefault(long_name, found[name])
    return found


@functools.cache
def starts() -> Mapping[str, StateSet]:
    """Return the states in which those moves begin that `starts:` knows, by `key_of` the word."""
    found = {key_of(name): states_called(pattern) for name, pattern in _STARTS.items()}
    for name in _STARTS:
        for long_name in _long_names(name):
            found.setdefault(key_of(long_name), found[key_of(name)])
    return found


@functools.cache
def names() -> Mapping[str, Name]:
    """Return the players that the words before the colon stand for, by `key_of` the word."""
    found = {f"port{port}": Name(port=port) for port in range(1, 5)} | {
        f"p{port}": Name(port=port) for port in range(1, 5)
    }
    for external_id, character in characters().items():
        if external_id < _PLAYABLE:
            found |= {key_of(name): Name(character=external_id) for name in (character.name, character.short_name)}
    return found | {word: Name(character=external_id) for word, external_id in _CHARACTER_ALIASES.items()}


def _long_names(name: str) -> list[str]:
    """Return other ways to write the name of a move, for example `up-air` for `uair`, or `up-throw` for `uthrow`."""
    match = re.fullmatch(r"([fbudn])(air|tilt|smash|throw)", name)
    return [] if match is None else [f"{_DIRECTIONS[match[1]]}-{match[2]}"]
