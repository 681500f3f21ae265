"""The names of Slippi's ids: tables that are complete where they claim to be, and lookups that never fail.

Single names are checked against facts that can be looked up elsewhere; their number is checked against the game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from slpstream.formats.name_tables import names_of, read_table
from slpstream.formats.slippi import names
from slpstream.formats.slippi.frame_entry import PlayerFrame
from tests.formats.slippi import name_lookups
from tests.replays import SHARED, needs_shared

PLAYABLE = range(26)
SIX_COSTUMES = ("Captain Falcon", "Kirby", "Yoshi")
FOUR_COSTUMES = (
    "Fox",
    "Mr. Game & Watch",
    "Bowser",
    "Luigi",
    "Mewtwo",
    "Ness",
    "Pikachu",
    "Ice Climbers",
    "Falco",
    "Pichu",
)

ENUMERATIONS = {
    table: names_of(names.FOLDER, "enumerations", table)()
    for table in read_table(names.FOLDER, "enumerations")["tables"]
}
BIT_FIELDS = {
    "physical_buttons": 0xFFFF,
    "processed_buttons": 0xFFFF_FFFF,
    **{f"state_flags_{i}": 0xFF for i in range(1, 6)},
}


@pytest.mark.parametrize("table", [names.characters, names.internal_characters])
def test_each_id_has_a_different_character(table: Callable[[], Mapping[int, Any]]) -> None:
    assert sorted(table()) == list(range(33))
    assert len({character.name for character in table().values()}) == 33


def test_internal_characters_come_from_the_slot_of_their_name() -> None:
    characters = names.internal_characters().values()
    assert {character.external_id for character in characters} == set(range(32))
    for character in characters:
        expected = "Ice Climbers" if character.name in {"Popo", "Nana"} else character.name
        assert names.character_name(character.external_id) == expected


@pytest.mark.parametrize("external_id", PLAYABLE)
def test_playable_characters_have_all_their_costumes(external_id: int) -> None:
    character = names.characters()[external_id]
    count = 6 if character.name in SIX_COSTUMES else 4 if character.name in FOUR_COSTUMES else 5
    assert len(character.costumes) == count
    assert len(set(character.costumes)) == count
    assert character.costumes[0] == "Default"


def test_swatches_cover_all_characters_and_costumes() -> None:
    swatches = read_table(names.FOLDER, "swatches")["tables"]
    assert swatches["characters"]["rows"].keys() == {str(number) for number in names.characters()}
    costumes = {costume for character in names.characters().values() for costume in character.costumes}
    assert swatches["costumes"]["rows"].keys() == costumes - {"Default"}
    letters = [row["letters"] for row in swatches["characters"]["rows"].values()]
    assert len(set(letters)) == len(letters)


@needs_shared
def test_landing_lags_are_those_of_slippi_js() -> None:
    table: dict[str, Any] = msgspec.json.decode((SHARED.parent / "formats" / "landing_lag.json").read_bytes())
    table.pop("note")
    for number, character in names.internal_characters().items():
        lags = table.get(str(number))
        expected = None if lags is None else tuple(full for full, _ in lags.values())
        assert character.landing_lag_frames == names.landing_lag_frames(number) == expected
        if lags is not None:
            assert list(lags) == ["nair", "fair", "bair", "upair", "dair"]
            assert all(cancelled == full // 2 for full, cancelled in lags.values())
    assert names.landing_lag_frames(33) is None


def test_stages_are_complete_and_unique() -> None:
    assert sorted(names.stages()) == list(range(86))
    assert len({stage.name for stage in names.stages().values()}) == 86


def test_tournament_stages_have_an_outline() -> None:
    assert {number for number in names.stages() if names.stage_edge(number) is not None} == {2, 3, 8, 28, 31, 32}
    assert names.stage_edge(32) == 85.57
    assert names.stage_edge(84) is names.stage_edge(-1) is None


def test_each_playable_character_has_a_target_test() -> None:
    stages = {names.stage_name(stage_id) for stage_id in range(33, 59)}
    assert stages == {f"Target Test ({names.character_name(external_id)})" for external_id in PLAYABLE}


def test_moves_leave_only_the_unknown_ids_out() -> None:
    assert set(range(1, 95)) - names.moves().keys() == {48, 49}
    assert len({move.name for move in names.moves().values()}) == len(names.moves())


def test_kirby_has_a_move_for_each_fighter_that_he_can_swallow() -> None:
    copied = {names.move_name(move_id) for move_id in range(22, 48)}
    others = {names.character_name(external_id) for external_id in PLAYABLE} - {"Kirby"} | {"Giga Bowser"}
    assert copied == {f"Neutral B (Kirby as {name})" for name in others}


def test_common_action_states_are_complete_and_unique() -> None:
    common = name_lookups.common_action_states()
    assert len(common) == name_lookups.FIRST_OWN_STATE == 0x155
    data_sheet = read_table(names.FOLDER, "action_states", "data_sheet")["blocks"].values()
    both = [*common, *(name for block in data_sheet for name in block)]
    assert len(both) == len(set(both)) == 0x17F
    assert all(name.isidentifier() for name in both)


def test_own_action_states_are_complete_and_unique() -> None:
    for internal_id, character in names.internal_characters().items():
        states = name_lookups.own_action_states(internal_id)
        assert len(set(states)) == len(states)
        assert bool(states) != character.name.startswith("Wireframe")
        assert all(name.isidentifier() for name in states)


def test_blocks_of_action_states_follow_each_other() -> None:
    tables = read_table(names.FOLDER, "action_states")["tables"]
    for name, table in tables.items():
        state_id = 0 if name == "common" else name_lookups.FIRST_OWN_STATE
        for first, block in table["blocks"].items():
            assert int(first, 16) == state_id, name
            state_id += len(block)
    fighters = [fighter for table in tables.values() for fighter in table.get("fighters", ())]
    assert len(fighters) == len(set(fighters))


def test_items_are_unique_and_within_their_range() -> None:
    assert min(name_lookups.items()) == 0x00
    assert max(name_lookups.items()) == 0xEC
    assert len(set(name_lookups.items().values())) == len(name_lookups.items()) == 225


@pytest.mark.parametrize("table", ENUMERATIONS.values(), ids=ENUMERATIONS.keys())
def test_enumerations_name_each_value_once(table: Mapping[int, str]) -> None:
    assert all(value >= 0 for value in table)
    assert len(set(table.values())) == len(table)
    assert all(table.values())


@pytest.mark.parametrize("name", BIT_FIELDS)
def test_bit_names_belong_to_single_bits(name: str) -> None:
    table = ENUMERATIONS[name]
    assert all(bit.bit_count() == 1 and bit & BIT_FIELDS[name] for bit in table)
    assert all(key.isidentifier() and key.islower() for key in table.values())


def test_physical_buttons_are_called_as_in_messages() -> None:
    class Pre(msgspec.Struct):
        physical_buttons: int
        joystick_x: float = 0.0
        joystick_y: float = 0.0
        c_stick_x: float = 0.0
        c_stick_y: float = 0.0
        physical_l_trigger: float = 0.0
        physical_r_trigger: float = 0.0

    for bit in (1 << place for place in range(16)):
        inputs = PlayerFrame(pre=Pre(bit)).inputs
        name = ENUMERATIONS["physical_buttons"].get(bit)
        assert inputs is not None
        assert inputs.buttons == (frozenset() if name is None else {name})


@pytest.mark.parametrize(
    "lookup",
    [
        names.character_name,
        name_lookups.internal_character_name,
        names.stage_name,
        names.move_name,
        name_lookups.item_name,
        name_lookups.action_state_name,
        lambda number: name_lookups.costume_name(0, number),
        lambda number: name_lookups.costume_name(number, 0),
        lambda number: name_lookups.action_state_name(0x155, number),
        *(lambda number, who=who: name_lookups.action_state_name(number, who) for who in (*range(34), 255)),
    ],
)
@pytest.mark.parametrize("number", [-1, -341, -(2**31), 0x220, 0xFFFF, 2**31])
def test_unknown_numbers_have_no_name(lookup: Callable[[int], str | None], number: int) -> None:
    assert lookup(number) is None


NAMES: Mapping[Callable[..., str | None], Mapping[Any, str]] = {
    names.character_name: {0: "Captain Falcon", 2: "Fox", 3: "Mr. Game & Watch", 19: "Sheik", 31: "Sandbag"},
    name_lookups.internal_character_name: {0: "Mario", 1: "Fox", 7: "Sheik", 10: "Popo", 11: "Nana", 32: "Sandbag"},
    name_lookups.costume_name: {(0, 0): "Default", (0, 5): "Blue", (12, 1): "Daisy", (15, 4): "Crown"},
    names.stage_name: {
        2: "Fountain of Dreams",
        3: "Pokémon Stadium",
        28: "Dream Land N64",
        36: "Target Test (Donkey Kong)",
        84: "Home-Run Contest",
    },
    names.move_name: {2: "Jab 1", 13: "Neutral Air", 21: "Down B", 56: "Down Throw", 62: "Edge Attack", 93: "Hammer"},
    name_lookups.item_name: {
        0x06: "Bob-omb",
        0x22: "Poké Ball",
        0x36: "Fox's Laser",
        0x82: "Kirby's Mario Fireball",
        0xD1: "Target",
        0xEC: "Birdo's Egg",
    },
    name_lookups.action_state_name: {
        0x000: "DeadDown",
        0x00E: "Wait",
        (0x00E, 99): "Wait",
        0x0B7: "DownBoundU",
        0x154: "BarrelCannonWait",
        (0x168, 1): "SpecialLwStart",
        (0x18F, 4): "MrSpecialN",
        (0x15D, 9): "AttackS4Club",
        (0x169, 11): "SpecialHi_0",
        (0x163, 19): "SpecialLw",
        (0x17C, 24): "SpecialAirLwShoot",
    },
}
"""Facts that can be looked up elsewhere, by lookup and arguments."""


@pytest.mark.parametrize(
    ("lookup", "arguments", "name"),
    [(lookup, arguments, name) for lookup, facts in NAMES.items() for arguments, name in facts.items()],
)
def test_single_names(lookup: Callable[..., str | None], arguments: Any, name: str) -> None:
    assert lookup(*(arguments if isinstance(arguments, tuple) else (arguments,))) == name


def test_processed_buttons_contain_the_physical_ones() -> None:
    physical, processed = ENUMERATIONS["physical_buttons"], ENUMERATIONS["processed_buttons"]
    assert physical.items() <= processed.items()
    assert physical[0x0100] == "a"
    assert processed[0x0040_0000] == "cstick_left"
