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

OWN_STATES = {
    "Mario": 10,
    "Fox": 35,
    "Captain Falcon": 23,
    "Donkey Kong": 46,
    "Kirby": 203,
    "Bowser": 23,
    "Link": 21,
    "Sheik": 24,
    "Ness": 36,
    "Peach": 30,
    "Popo": 26,
    "Nana": 26,
    "Pikachu": 26,
    "Samus": 18,
    "Yoshi": 28,
    "Jigglypuff": 32,
    "Mewtwo": 20,
    "Luigi": 18,
    "Marth": 32,
    "Zelda": 18,
    "Young Link": 21,
    "Dr. Mario": 10,
    "Falco": 35,
    "Pichu": 26,
    "Mr. Game & Watch": 40,
    "Ganondorf": 23,
    "Roy": 32,
    "Master Hand": 50,
    "Crazy Hand": 49,
    "Wireframe (Male)": 0,
    "Wireframe (Female)": 0,
    "Giga Bowser": 23,
    "Sandbag": 1,
}

ENUMERATIONS = {
    table: names_of(names.FOLDER, "enumerations", table)()
    for table in read_table(names.FOLDER, "enumerations")["tables"]
}
BIT_FIELDS = {
    "physical_buttons": 0xFFFF,
    "processed_buttons": 0xFFFF_FFFF,
    **{f"state_flags_{i}": 0xFF for i in range(1, 6)},
}


def test_each_external_id_has_a_character_of_its_own() -> None:
    characters = names.characters()
    assert sorted(characters) == list(range(33))
    assert len({character.name for character in characters.values()}) == 33
    assert len({character.short_name for character in characters.values()}) == 33


def test_each_internal_id_has_a_character_of_its_own() -> None:
    characters = names.internal_characters()
    assert sorted(characters) == list(range(33))
    assert len({character.name for character in characters.values()}) == 33


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


def test_game_has_123_costumes() -> None:
    assert sum(len(names.characters()[external_id].costumes) for external_id in PLAYABLE) == 123


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
        assert len(states) == OWN_STATES[character.name]
        assert len(set(states)) == len(states)
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
    ("external_id", "name"),
    [(0, "Captain Falcon"), (2, "Fox"), (3, "Mr. Game & Watch"), (19, "Sheik"), (25, "Ganondorf"), (31, "Sandbag")],
)
def test_character_name(external_id: int, name: str) -> None:
    assert names.character_name(external_id) == name


@pytest.mark.parametrize(
    ("internal_id", "name"),
    [(0, "Mario"), (1, "Fox"), (7, "Sheik"), (10, "Popo"), (11, "Nana"), (18, "Marth"), (32, "Sandbag")],
)
def test_internal_character_name(internal_id: int, name: str) -> None:
    assert name_lookups.internal_character_name(internal_id) == name


@pytest.mark.parametrize(
    ("external_id", "costume_index", "name"),
    [(0, 0, "Default"), (0, 5, "Blue"), (12, 1, "Daisy"), (13, 2, "Party Hat"), (15, 4, "Crown"), (21, 3, "White")],
)
def test_costume_name(external_id: int, costume_index: int, name: str) -> None:
    assert name_lookups.costume_name(external_id, costume_index) == name


@pytest.mark.parametrize(
    ("stage_id", "name"),
    [
        (2, "Fountain of Dreams"),
        (3, "Pokémon Stadium"),
        (8, "Yoshi's Story"),
        (28, "Dream Land N64"),
        (31, "Battlefield"),
        (32, "Final Destination"),
        (36, "Target Test (Donkey Kong)"),
        (84, "Home-Run Contest"),
    ],
)
def test_stage_name(stage_id: int, name: str) -> None:
    assert names.stage_name(stage_id) == name


@pytest.mark.parametrize(
    ("move_id", "name", "short_name"),
    [
        (2, "Jab 1", "jab"),
        (13, "Neutral Air", "nair"),
        (17, "Down Air", "dair"),
        (21, "Down B", "down-b"),
        (56, "Down Throw", "dthrow"),
        (62, "Edge Attack", "edge"),
        (69, "Home-Run Bat Smash", "bat-smash"),
        (93, "Hammer", "hammer"),
    ],
)
def test_move_name(move_id: int, name: str, short_name: str) -> None:
    assert names.move_name(move_id) == name
    assert names.moves()[move_id].short_name == short_name


@pytest.mark.parametrize(
    ("state_id", "name"),
    [
        (0x000, "DeadDown"),
        (0x00A, "DeadUpFallHitCameraIce"),
        (0x00E, "Wait"),
        (0x014, "Dash"),
        (0x018, "KneeBend"),
        (0x02B, "LandingFallSpecial"),
        (0x041, "AttackAirN"),
        (0x046, "LandingAirN"),
        (0x04B, "DamageHi1"),
        (0x05B, "DamageFlyRoll"),
        (0x0B2, "GuardOn"),
        (0x0B7, "DownBoundU"),
        (0x0C7, "Passive"),
        (0x0D4, "Catch"),
        (0x0DE, "ThrowLw"),
        (0x0DF, "CapturePulledHi"),
        (0x0EB, "Escape"),
        (0x0EC, "EscapeAir"),
        (0x0F5, "Ottotto"),
        (0x0F7, "FlyReflectWall"),
        (0x0FC, "CliffCatch"),
        (0x108, "AppealR"),
        (0x125, "BarrelWait"),
        (0x142, "Entry"),
        (0x154, "BarrelCannonWait"),
    ],
)
def test_common_states_are_the_same_for_all_fighters(state_id: int, name: str) -> None:
    assert name_lookups.action_state_name(state_id) == name
    assert name_lookups.action_state_name(state_id, 1) == name
    assert name_lookups.action_state_name(state_id, 99) == name


@pytest.mark.parametrize(
    ("internal_id", "state_id", "name"),
    [
        (1, 0x168, "SpecialLwStart"),
        (22, 0x168, "SpecialLwStart"),
        (2, 0x163, "SpecialHiCatch"),
        (3, 0x181, "SpecialLwEnd0"),
        (4, 0x155, "JumpAerialF1"),
        (4, 0x161, "SpecialN"),
        (4, 0x18F, "MrSpecialN"),
        (4, 0x219, "FeSpecialAirNEnd1"),
        (6, 0x168, "AirCatch"),
        (7, 0x169, "SpecialLw"),
        (8, 0x16E, "SpecialAirHiRebound"),
        (9, 0x155, "Float"),
        (9, 0x15D, "AttackS4Club"),
        (9, 0x15F, "AttackS4Racket"),
        (11, 0x169, "SpecialHi_0"),
        (13, 0x161, "SpecialHi"),
        (14, 0x16E, "SpecialLw"),
        (15, 0x173, "SpecialLwR"),
        (16, 0x167, "SpecialLw"),
        (18, 0x16F, "SpecialHi"),
        (19, 0x163, "SpecialLw"),
        (24, 0x155, "Attack11"),
        (24, 0x15B, "AttackAirN"),
        (24, 0x17C, "SpecialAirLwShoot"),
        (32, 0x155, "WaitReverse"),
    ],
)
def test_own_states_need_the_character(internal_id: int, state_id: int, name: str) -> None:
    assert name_lookups.action_state_name(state_id, internal_id) == name
    assert name_lookups.action_state_name(state_id) is None


@pytest.mark.parametrize(
    ("type_id", "name"),
    [
        (0x07, "Mr. Saturn"),
        (0x06, "Bob-omb"),
        (0x0C, "Beam Sword"),
        (0x22, "Poké Ball"),
        (0x36, "Fox's Laser"),
        (0x37, "Falco's Laser"),
        (0x4F, "Sheik's Needle (Thrown)"),
        (0x5F, "Samus's Missile"),
        (0x63, "Peach's Turnip"),
        (0x75, "Mr. Game & Watch's Parachute"),
        (0x82, "Kirby's Mario Fireball"),
        (0x9F, "Coin"),
        (0xBE, "Venusaur"),
        (0xD1, "Target"),
        (0xD2, "Shy Guy"),
        (0xE1, "Whispy's Apple"),
        (0xEC, "Birdo's Egg"),
    ],
)
def test_item_name(type_id: int, name: str) -> None:
    assert name_lookups.item_name(type_id) == name


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


def test_no_attack_yet_has_no_name() -> None:
    assert names.move_name(0) is None


def test_processed_buttons_contain_the_physical_ones() -> None:
    physical, processed = ENUMERATIONS["physical_buttons"], ENUMERATIONS["processed_buttons"]
    assert physical.items() <= processed.items()
    assert physical[0x0100] == "a"
    assert processed[0x0040_0000] == "cstick_left"
