"""The tables of names: complete where they claim to be, and lookups that never fail.

What a name says is checked against facts that can be looked up elsewhere; how many there are, against the game.
"""

from collections.abc import Callable, Mapping

import pytest

from slpstream.formats.slippi import action_states, ids, item_types

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
    "END_METHODS": ids.END_METHODS,
    "TIMER_TYPES": ids.TIMER_TYPES,
    "IN_GAME_MODES": ids.IN_GAME_MODES,
    "MAJOR_SCENES": ids.MAJOR_SCENES,
    "LANGUAGES": ids.LANGUAGES,
    "TEAMS": ids.TEAMS,
    "TURNIP_FACES": ids.TURNIP_FACES,
    "MISSILE_TYPES": ids.MISSILE_TYPES,
    "HURTBOX_STATES": ids.HURTBOX_STATES,
    "L_CANCEL_STATUSES": ids.L_CANCEL_STATUSES,
    "GROUND_STATES": ids.GROUND_STATES,
    "FOD_PLATFORMS": ids.FOD_PLATFORMS,
    "WHISPY_DIRECTIONS": ids.WHISPY_DIRECTIONS,
    "STADIUM_EVENTS": ids.STADIUM_EVENTS,
    "STADIUM_TRANSFORMATIONS": ids.STADIUM_TRANSFORMATIONS,
}

BIT_TABLES = {
    "PHYSICAL_BUTTONS": (ids.PHYSICAL_BUTTONS, 0xFFFF),
    "PROCESSED_BUTTONS": (ids.PROCESSED_BUTTONS, 0xFFFF_FFFF),
    **{f"STATE_FLAGS[{i}]": (flags, 0xFF) for i, flags in enumerate(ids.STATE_FLAGS)},
}


def test_every_external_id_has_a_character_of_its_own() -> None:
    assert sorted(ids.CHARACTERS) == list(range(33))
    assert len({character.name for character in ids.CHARACTERS.values()}) == 33
    assert len({character.short_name for character in ids.CHARACTERS.values()}) == 33


def test_every_internal_id_has_a_character_of_its_own() -> None:
    assert sorted(ids.INTERNAL_CHARACTERS) == list(range(33))
    assert len({character.name for character in ids.INTERNAL_CHARACTERS.values()}) == 33


def test_internal_characters_come_from_the_slot_of_their_name() -> None:
    slots = {character.external_id for character in ids.INTERNAL_CHARACTERS.values()}
    assert slots == set(range(32))
    for internal in ids.INTERNAL_CHARACTERS.values():
        climber = internal.name in {"Popo", "Nana"}
        expected = "Ice Climbers" if climber else internal.name
        assert ids.CHARACTERS[internal.external_id].name == expected


@pytest.mark.parametrize("external_id", PLAYABLE)
def test_playable_characters_have_all_their_costumes(external_id: int) -> None:
    character = ids.CHARACTERS[external_id]
    count = 6 if character.name in SIX_COSTUMES else 4 if character.name in FOUR_COSTUMES else 5
    assert len(character.costumes) == count
    assert len(set(character.costumes)) == count
    assert character.costumes[0] == "Default"


def test_the_game_has_123_costumes() -> None:
    assert sum(len(ids.CHARACTERS[external_id].costumes) for external_id in PLAYABLE) == 123


def test_stages_are_complete_and_unique() -> None:
    assert sorted(ids.STAGES) == list(range(86))
    assert len(set(ids.STAGES.values())) == 86


def test_every_playable_character_has_a_target_test() -> None:
    stages = {ids.STAGES[stage_id] for stage_id in range(33, 59)}
    assert stages == {f"Target Test ({ids.CHARACTERS[external_id].name})" for external_id in PLAYABLE}


def test_moves_leave_only_the_unknown_ids_out() -> None:
    assert set(range(1, 95)) - set(ids.MOVES) == {48, 49}
    assert len({move.name for move in ids.MOVES.values()}) == len(ids.MOVES)


def test_kirby_has_a_move_for_everybody_he_can_swallow() -> None:
    copied = [ids.MOVES[move_id].name for move_id in range(22, 48)]
    everybody = {ids.CHARACTERS[external_id].name for external_id in PLAYABLE} - {"Kirby"} | {"Giga Bowser"}
    assert set(copied) == {f"Neutral B (Kirby as {name})" for name in everybody}


def test_common_action_states_are_complete_and_unique() -> None:
    assert len(action_states.COMMON_ACTION_STATES) == action_states.FIRST_OWN_STATE == 0x155
    names = action_states.COMMON_ACTION_STATES + action_states.DATA_SHEET_ACTION_STATES
    assert len(names) == len(set(names)) == 0x17F
    assert all(name.isidentifier() for name in names)


def test_own_action_states_are_complete_and_unique() -> None:
    counts = {
        ids.INTERNAL_CHARACTERS[internal_id].name: len(states)
        for internal_id, states in action_states.CHARACTER_ACTION_STATES.items()
    }
    assert counts == OWN_STATES
    for states in action_states.CHARACTER_ACTION_STATES.values():
        assert len(set(states)) == len(states)
        assert all(name.isidentifier() for name in states)


def test_items_are_unique_and_within_their_range() -> None:
    assert min(item_types.ITEM_NAMES) == 0x00
    assert max(item_types.ITEM_NAMES) == 0xEC
    assert len(set(item_types.ITEM_NAMES.values())) == len(item_types.ITEM_NAMES) == 225


@pytest.mark.parametrize("table", ENUMERATIONS.values(), ids=ENUMERATIONS.keys())
def test_enumerations_name_each_value_once(table: Mapping[int, str]) -> None:
    assert all(value >= 0 for value in table)
    assert len(set(table.values())) == len(table)
    assert all(table.values())


@pytest.mark.parametrize(("table", "mask"), BIT_TABLES.values(), ids=BIT_TABLES.keys())
def test_bit_names_belong_to_single_bits(table: Mapping[int, str], mask: int) -> None:
    assert all(bit.bit_count() == 1 and bit & mask for bit in table)
    assert len(set(table.values())) == len(table)
    assert all(name.isidentifier() and name.islower() for name in table.values())


def test_there_are_five_bytes_of_state_flags() -> None:
    assert len(ids.STATE_FLAGS) == 5


@pytest.mark.parametrize(
    ("external_id", "name"),
    [(0, "Captain Falcon"), (2, "Fox"), (3, "Mr. Game & Watch"), (19, "Sheik"), (25, "Ganondorf"), (31, "Sandbag")],
)
def test_character_name(external_id: int, name: str) -> None:
    assert ids.character_name(external_id) == name


@pytest.mark.parametrize(
    ("internal_id", "name"),
    [(0, "Mario"), (1, "Fox"), (7, "Sheik"), (10, "Popo"), (11, "Nana"), (18, "Marth"), (32, "Sandbag")],
)
def test_internal_character_name(internal_id: int, name: str) -> None:
    assert ids.internal_character_name(internal_id) == name


@pytest.mark.parametrize(
    ("external_id", "costume_index", "name"),
    [(0, 0, "Default"), (0, 5, "Blue"), (12, 1, "Daisy"), (13, 2, "Party Hat"), (15, 4, "Crown"), (21, 3, "White")],
)
def test_costume_name(external_id: int, costume_index: int, name: str) -> None:
    assert ids.costume_name(external_id, costume_index) == name


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
    assert ids.stage_name(stage_id) == name


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
    assert ids.move_name(move_id) == name
    assert ids.MOVES[move_id].short_name == short_name


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
def test_common_states_are_everybodys(state_id: int, name: str) -> None:
    assert ids.action_state_name(state_id) == name
    assert ids.action_state_name(state_id, 1) == name
    assert ids.action_state_name(state_id, 99) == name


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
    assert ids.action_state_name(state_id, internal_id) == name
    assert ids.action_state_name(state_id) is None


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
    assert ids.item_name(type_id) == name


@pytest.mark.parametrize(
    "lookup",
    [
        ids.character_name,
        ids.internal_character_name,
        ids.stage_name,
        ids.move_name,
        ids.item_name,
        ids.action_state_name,
        lambda number: ids.costume_name(0, number),
        lambda number: ids.costume_name(number, 0),
        lambda number: ids.action_state_name(0x155, number),
        *(lambda number, who=who: ids.action_state_name(number, who) for who in (*ids.INTERNAL_CHARACTERS, 33, 255)),
    ],
)
@pytest.mark.parametrize("number", [-1, -341, -(2**31), 0x220, 0xFFFF, 2**31])
def test_unknown_numbers_have_no_name(lookup: Callable[[int], str | None], number: int) -> None:
    assert lookup(number) is None


def test_no_attack_yet_has_no_name() -> None:
    assert ids.move_name(0) is None


def test_processed_buttons_contain_the_physical_ones() -> None:
    assert ids.PHYSICAL_BUTTONS.items() <= ids.PROCESSED_BUTTONS.items()
    assert ids.PHYSICAL_BUTTONS[0x0100] == "a"
    assert ids.PROCESSED_BUTTONS[0x0040_0000] == "cstick_left"
