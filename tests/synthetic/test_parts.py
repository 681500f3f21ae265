"""The parts of the synthetic match: its tables agree with those of the game, and commands become controller inputs."""

from __future__ import annotations

from typing import Any

import pytest

from slpstream.formats.slippi import names as slippi_names
from tests.formats.slippi import name_lookups
from tests.synthetic import states
from tests.synthetic.controls import REST, Command, Controller, Pad, Verb
from tests.synthetic.roster import LINE_UP, NANA, POPO


def test_states_have_the_names_of_the_game() -> None:
    spelled = {"DOWN_FORWARD_U": "DownFowardU", "GUARD_SET_OFF": "GuardSetOff"}
    names = [name for name, value in vars(states).items() if name.isupper() and isinstance(value, int)]
    checked = 0
    for name in names:
        value = getattr(states, name)
        if name.startswith("_") or value >= name_lookups.FIRST_OWN_STATE or name == "FIRST_OWN_STATE":
            continue
        expected = spelled.get(name) or "".join(part.title() for part in name.split("_"))
        assert name_lookups.action_state_name(value) == expected
        checked += 1
    assert checked > 60


@pytest.mark.parametrize(
    "character", [*LINE_UP, POPO, NANA], ids=lambda c: name_lookups.internal_character_name(c.internal_id)
)
def test_character_matches_the_tables(character: Any) -> None:
    assert slippi_names.internal_characters()[character.internal_id].external_id == character.external_id
    recovery = character.recovery
    for name in (recovery.start_state, recovery.flight_state):
        assert states.own_state(character.internal_id, name) > 0x154
    for name, move in character.moves.items():
        assert move.name == name
        assert move.move_id in slippi_names.moves()
        assert 0 < move.first <= move.last <= move.total
        is_aerial = states.ATTACK_AIR_N <= move.state <= states.ATTACK_AIR_LW
        assert bool(move.landing_lag) == is_aerial
        assert is_aerial == (name in ("nair", "fair", "bair", "uair", "dair"))


@pytest.mark.parametrize(
    ("state", "animation"),
    [
        (0x00, 0xFFFFFFFF),
        (0x04, 29),
        (0x0C, 2),
        (0x0E, 2),
        (0x11, 9),
        (0x12, 10),
        (0x14, 12),
        (0x15, 13),
        (0x17, 14),
        (0x18, 15),
        (0x1D, 20),
        (0x23, 26),
        (0x26, 29),
        (0x28, 31),
        (0x2A, 35),
        (0x2B, 36),
        (0x2C, 46),
        (0x3C, 62),
        (0x3F, 66),
        (0x45, 72),
        (0x4A, 77),
        (0x4E, 168),
        (0x5A, 180),
        (0xB2, 0xFFFFFFFF),
        (0xB4, 39),
        (0xB5, 40),
        (0xB7, 183),
        (0xC7, 199),
        (0xD4, 242),
        (0xD5, 242),
        (0xD8, 244),
        (0xDD, 249),
        (0xE2, 254),
        (0xE9, 42),
        (0xEB, 41),
        (0xEC, 44),
        (0xF1, 264),
        (0xF4, 209),
        (0xFC, 216),
        (0xFF, 220),
        (0x107, 228),
        (0x142, 0xFFFFFFFF),
        (0x143, 238),
        (0x144, 0xFFFFFFFF),
        (0x158, 298),
    ],
)
def test_animation_index_equals_real_replays(state: int, animation: int) -> None:
    assert states.animation_index(state) == animation


def test_button_is_held_and_released() -> None:
    controller = Controller()
    jump = Command(Verb.JUMP, 1.0)
    pads = [controller.pad(command, 1.0) for command in (jump, REST, REST, REST, REST)]
    assert [bool(pad.physical) for pad in pads] == [True, True, True, False, False]


def test_sticks_follow_the_facing_direction() -> None:
    left = Controller().pad(Command(Verb.ATTACK, move="fsmash"), -1.0)
    assert (left.c_x, left.physical) == (-1.0, 0)
    tilt = Controller().pad(Command(Verb.ATTACK, move="ftilt"), -1.0)
    assert (tilt.stick_x, tilt.physical) == (-0.5, 0x100)


def test_processed_buttons_include_sticks_and_triggers() -> None:
    pad = Pad(stick_x=-1.0, c_y=1.0, right=0.5, physical=0x100)
    assert pad.processed == 0x100 | 0x4_0000 | 0x10_0000 | 0x8000_0000
    assert pad.trigger == 0.5
    assert Pad(physical=0x40).trigger == 1.0
    assert Pad().processed == 0
