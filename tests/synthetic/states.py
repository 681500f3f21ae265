"""The action states that the synthetic match uses, and their animations.

The numbers agree with `slippi.names`, which a test checks by name; a character's own states are looked up by name. The
animation indices were observed in real replays: they follow the action states in runs, with -1 (as u32) where nothing
is animated.
"""

from __future__ import annotations

from bisect import bisect_right

from tests.formats.slippi.name_lookups import FIRST_OWN_STATE, own_action_states

DEAD_DOWN, DEAD_LEFT, DEAD_RIGHT, DEAD_UP_STAR = 0x000, 0x001, 0x002, 0x004
REBIRTH, REBIRTH_WAIT = 0x00C, 0x00D
WAIT, WALK_SLOW, WALK_FAST, TURN, DASH, RUN, RUN_BRAKE = 0x00E, 0x00F, 0x011, 0x012, 0x014, 0x015, 0x017
KNEE_BEND, JUMP_F, JUMP_B, JUMP_AERIAL_F, JUMP_AERIAL_B = 0x018, 0x019, 0x01A, 0x01B, 0x01C
FALL, FALL_AERIAL, FALL_SPECIAL, DAMAGE_FALL = 0x01D, 0x020, 0x023, 0x026
SQUAT, SQUAT_WAIT, LANDING, LANDING_FALL_SPECIAL = 0x027, 0x028, 0x02A, 0x02B
ATTACK_AIR_N, ATTACK_AIR_LW, LANDING_AIR_N = 0x041, 0x045, 0x046
DAMAGE_N1, DAMAGE_AIR_1 = 0x04E, 0x054
DAMAGE_FLY_HI, DAMAGE_FLY_N, DAMAGE_FLY_LW, DAMAGE_FLY_TOP, DAMAGE_FLY_ROLL = 0x057, 0x058, 0x059, 0x05A, 0x05B
GUARD_ON, GUARD, GUARD_OFF, GUARD_SET_OFF = 0x0B2, 0x0B3, 0x0B4, 0x0B5
DOWN_BOUND_U, DOWN_WAIT_U, DOWN_STAND_U, DOWN_FORWARD_U, DOWN_BACK_U = 0x0B7, 0x0B8, 0x0BA, 0x0BC, 0x0BD
PASSIVE, PASSIVE_STAND_F, PASSIVE_STAND_B = 0x0C7, 0x0C8, 0x0C9
CATCH, CATCH_PULL, CATCH_WAIT, CATCH_ATTACK, CATCH_CUT = 0x0D4, 0x0D5, 0x0D8, 0x0D9, 0x0DA
THROW_F, THROW_B, THROW_HI, THROW_LW = 0x0DB, 0x0DC, 0x0DD, 0x0DE
CAPTURE_PULLED_LW, CAPTURE_WAIT_LW, CAPTURE_DAMAGE_LW, CAPTURE_CUT = 0x0E2, 0x0E3, 0x0E4, 0x0E5
ESCAPE_F, ESCAPE_B, ESCAPE, ESCAPE_AIR = 0x0E9, 0x0EA, 0x0EB, 0x0EC
THROWN_F = 0x0EF
PASS = 0x0F4
CLIFF_CATCH, CLIFF_WAIT, CLIFF_CLIMB_QUICK, CLIFF_ESCAPE_QUICK = 0x0FC, 0x0FD, 0x0FF, 0x103
CLIFF_JUMP_QUICK_1, CLIFF_JUMP_QUICK_2 = 0x106, 0x107
ENTRY, ENTRY_START, ENTRY_END = 0x142, 0x143, 0x144

NO_ANIMATION = 0xFFFF_FFFF
_OWN_ANIMATIONS_AT = 295

# (first state of a run, its animation index); `None` for a run without animations.
_RUNS: tuple[tuple[int, int | None], ...] = (
    (0x000, None),
    (0x004, 29),
    (0x005, None),
    (0x00C, 2),
    (0x00D, 2),
    (0x00E, 2),
    (0x00F, 7),
    (0x014, 12),
    (0x017, 14),
    (0x029, 34),
    (0x02C, 46),
    (0x03F, 66),
    (0x04B, 165),
    (0x0B2, None),
    (0x0B4, 39),
    (0x0B6, None),
    (0x0B7, 183),
    (0x0D4, 242),
    (0x0D5, 242),
    (0x0D6, 243),
    (0x0D7, 243),
    (0x0D8, 244),
    (0x0E9, 42),
    (0x0EB, 41),
    (0x0EC, 44),
    (0x0ED, None),
    (0x0EF, 262),
    (0x0F4, 209),
    (0x0FB, 215),
    (0x0FF, 220),
    (0x142, None),
    (0x143, 238),
    (0x144, None),
    (FIRST_OWN_STATE, _OWN_ANIMATIONS_AT),
)
_RUN_STARTS = [start for start, _ in _RUNS]


def animation_index(state: int) -> int:
    """The animation index of an action state in replays."""
    start, index = _RUNS[bisect_right(_RUN_STARTS, state) - 1]
    return NO_ANIMATION if index is None else index + state - start


def own_state(internal_character_id: int, name: str) -> int:
    """The id of a character's own state by name. Raises `ValueError` for a name that the character does not have."""
    return FIRST_OWN_STATE + own_action_states(internal_character_id).index(name)
