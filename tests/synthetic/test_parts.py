"""The tables of the synthetic match agree with those of the game."""

from __future__ import annotations

from typing import Any

import pytest

from slpstream.formats.slippi import names as slippi_names
from tests.formats.slippi import name_lookups
from tests.synthetic import states
from tests.synthetic.roster import LINE_UP, NANA, POPO, SHEIK, ZELDA


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
    "character", [*LINE_UP, POPO, NANA, ZELDA, SHEIK], ids=lambda c: name_lookups.internal_character_name(c.internal_id)
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
