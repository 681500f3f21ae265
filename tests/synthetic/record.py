"""Encode a fighter's frame as the events of a replay: Pre-Frame Update and Post-Frame Update."""

from __future__ import annotations

from typing import Any

from slpstream.formats.slippi.commands import POST_FRAME, PRE_FRAME
from tests.synthetic import states
from tests.synthetic.body import Mode
from tests.synthetic.controls import Pad
from tests.synthetic.fighter import Fighter

_SPEEDS = POST_FRAME.groups["self_induced_speeds"]
_RAW_STICK = 80
_FAST_FALL, _DEFENDER_IN_HITLAG, _HITLAG, _SHIELD_WITH = 0x08, 0x10, 0x20, 0x01
_HOLDING, _SHIELD = 0x04, 0x80
_HITSTUN = 0x02
_FOLLOWER, _DEAD, _OFFSCREEN = 0x08, 0x40, 0x80
_OFFSCREEN_X, _OFFSCREEN_Y = 165.0, (-75.0, 150.0)
_VULNERABLE, _INVULNERABLE, _INTANGIBLE = 0, 1, 2


def pre_frame(fighter: Fighter, frame: int, seed: int, pad: Pad) -> Any:
    """The decoded Pre-Frame Update. Call it before the fighter moves."""
    return PRE_FRAME.cls(
        frame=frame,
        player_index=fighter.index,
        is_follower=fighter.follower,
        seed=seed,
        action_state_id=fighter.state,
        position_x=fighter.x,
        position_y=fighter.y,
        facing_direction=fighter.facing,
        joystick_x=pad.stick_x,
        joystick_y=pad.stick_y,
        c_stick_x=pad.c_x,
        c_stick_y=pad.c_y,
        trigger=pad.trigger,
        buttons=pad.processed,
        physical_buttons=pad.physical,
        physical_l_trigger=pad.left,
        physical_r_trigger=pad.right,
        raw_joystick_x=round(pad.stick_x * _RAW_STICK),
        percent=fighter.percent,
        raw_joystick_y=round(pad.stick_y * _RAW_STICK),
        raw_c_stick_x=round(pad.c_x * _RAW_STICK),
        raw_c_stick_y=round(pad.c_y * _RAW_STICK),
    )


def post_frame(fighter: Fighter, frame: int) -> Any:
    """The decoded Post-Frame Update. Call it after the fighter has moved and hits are dealt."""
    stunned = fighter.mode is Mode.STUN
    return POST_FRAME.cls(
        frame=frame,
        player_index=fighter.index,
        is_follower=fighter.follower,
        internal_character_id=fighter.character.internal_id,
        action_state_id=fighter.state,
        position_x=fighter.x,
        position_y=fighter.y,
        facing_direction=fighter.facing,
        percent=fighter.percent,
        shield_size=fighter.shield,
        last_attack_landed=fighter.last_attack,
        current_combo_count=min(255, fighter.combo),
        last_hit_by=fighter.last_hit_by,
        stocks_remaining=fighter.stocks,
        action_state_counter=fighter.counter,
        state_flags_1=0,
        state_flags_2=_flags_2(fighter),
        state_flags_3=(_SHIELD if fighter.mode is Mode.SHIELD else 0) | (_HOLDING if fighter.victim else 0),
        state_flags_4=_HITSTUN if stunned else 0,
        state_flags_5=_flags_5(fighter),
        misc_action_state=float(fighter.hitstun) if stunned else 0.0,
        is_airborne=not fighter.grounded,
        last_ground_id=fighter.ground_id,
        jumps_remaining=fighter.jumps,
        l_cancel_status=fighter.l_cancel,
        hurtbox_collision_state=_hurtbox(fighter),
        self_induced_speeds=_SPEEDS(
            fighter.speed_x,
            fighter.speed_y,
            fighter.knock_x,
            fighter.knock_y,
            fighter.speed_x if fighter.grounded else 0.0,
        ),
        hitlag_remaining=float(fighter.hitlag),
        animation_index=states.animation_index(fighter.state),
        instance_hit_by=fighter.instance_hit_by,
        instance_id=fighter.instance,
    )


def _flags_2(fighter: Fighter) -> int:
    flags = _FAST_FALL if fighter.fast_falling else 0
    if fighter.hitlag:
        flags |= _HITLAG | (_DEFENDER_IN_HITLAG if fighter.hit_by_other else 0)
    return flags | (_SHIELD_WITH if fighter.mode is Mode.SHIELD else 0)


def _flags_5(fighter: Fighter) -> int:
    flags = _FOLLOWER if fighter.follower else 0
    if fighter.state == states.ENTRY or (fighter.mode is Mode.DEAD and fighter.state != states.DEAD_UP_STAR):
        flags |= _DEAD
    low, high = _OFFSCREEN_Y
    if abs(fighter.x) > _OFFSCREEN_X or not low < fighter.y < high:
        flags |= _OFFSCREEN
    return flags


def _hurtbox(fighter: Fighter) -> int:
    if fighter.intangible:
        return _INTANGIBLE
    return _INVULNERABLE if fighter.invulnerable and fighter.mode is not Mode.REBIRTH else _VULNERABLE
