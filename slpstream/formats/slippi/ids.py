"""What the numbers in a replay are called: characters, costumes, stages, moves and the small enumerations.

A name lookup never fails: an id that nobody has named stays a number, and the lookup answers None. New game builds and
mods use ids that no table has, and a replay with one of them is still a good replay.

Characters have two numberings. The external id is the slot on the character select screen; Game Start has it. The
internal id is the fighter in the game, so Popo and Nana have one each; Post-Frame Update and the metadata have it.
Action states live in `action_states`, item types in `item_types`; their lookups are here with the others.

Names are for people and follow what players say. Names of buttons and flags are keys, so they are written like keys.

How sure we are, unless a table says otherwise: documented, in the Slippi specification, in the community's SSBM Data
Sheet that it links, or in the enumerations of the doldecomp/melee decompilation.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from slpstream.formats.slippi.action_states import (
    CHARACTER_ACTION_STATES,
    COMMON_ACTION_STATES,
    FIRST_OWN_STATE,
)
from slpstream.formats.slippi.item_types import ITEM_NAMES


class Character(NamedTuple):
    """A slot on the character select screen. Costumes are in the order of the costume index, the default first."""

    name: str
    short_name: str
    costumes: tuple[str, ...]


class InternalCharacter(NamedTuple):
    """A fighter in the game, and the slot of the character select screen he comes from."""

    name: str
    external_id: int


class Move(NamedTuple):
    """An attack, as the game counts attacks for staling."""

    name: str
    short_name: str


CHARACTERS: Final[Mapping[int, Character]] = {
    0: Character("Captain Falcon", "Falcon", ("Default", "Black", "Red", "White", "Green", "Blue")),
    1: Character("Donkey Kong", "DK", ("Default", "Black", "Red", "Blue", "Green")),
    2: Character("Fox", "Fox", ("Default", "Red", "Blue", "Green")),
    3: Character("Mr. Game & Watch", "G&W", ("Default", "Red", "Blue", "Green")),
    4: Character("Kirby", "Kirby", ("Default", "Yellow", "Blue", "Red", "Green", "White")),
    5: Character("Bowser", "Bowser", ("Default", "Red", "Blue", "Black")),
    6: Character("Link", "Link", ("Default", "Red", "Blue", "Black", "White")),
    7: Character("Luigi", "Luigi", ("Default", "White", "Blue", "Red")),
    8: Character("Mario", "Mario", ("Default", "Yellow", "Black", "Blue", "Green")),
    9: Character("Marth", "Marth", ("Default", "Red", "Green", "Black", "White")),
    10: Character("Mewtwo", "Mewtwo", ("Default", "Red", "Blue", "Green")),
    11: Character("Ness", "Ness", ("Default", "Yellow", "Blue", "Green")),
    12: Character("Peach", "Peach", ("Default", "Daisy", "White", "Blue", "Green")),
    13: Character("Pikachu", "Pikachu", ("Default", "Red", "Party Hat", "Cowboy Hat")),
    14: Character("Ice Climbers", "ICs", ("Default", "Green", "Orange", "Red")),
    15: Character("Jigglypuff", "Puff", ("Default", "Red", "Blue", "Headband", "Crown")),
    16: Character("Samus", "Samus", ("Default", "Pink", "Black", "Green", "Purple")),
    17: Character("Yoshi", "Yoshi", ("Default", "Red", "Blue", "Yellow", "Pink", "Cyan")),
    18: Character("Zelda", "Zelda", ("Default", "Red", "Blue", "Green", "White")),
    19: Character("Sheik", "Sheik", ("Default", "Red", "Blue", "Green", "White")),
    20: Character("Falco", "Falco", ("Default", "Red", "Blue", "Green")),
    21: Character("Young Link", "YLink", ("Default", "Red", "Blue", "White", "Black")),
    22: Character("Dr. Mario", "Doc", ("Default", "Red", "Blue", "Green", "Black")),
    23: Character("Roy", "Roy", ("Default", "Red", "Blue", "Green", "Yellow")),
    24: Character("Pichu", "Pichu", ("Default", "Red", "Blue", "Green")),
    25: Character("Ganondorf", "Ganon", ("Default", "Red", "Blue", "Green", "Purple")),
    26: Character("Master Hand", "Master Hand", ("Default",)),
    27: Character("Wireframe (Male)", "Wireframe (Male)", ("Default",)),
    28: Character("Wireframe (Female)", "Wireframe (Female)", ("Default",)),
    29: Character("Giga Bowser", "Giga Bowser", ("Default",)),
    30: Character("Crazy Hand", "Crazy Hand", ("Default",)),
    31: Character("Sandbag", "Sandbag", ("Default",)),
    32: Character("Popo", "Popo", ("Default",)),
}
"""External character ids. 0 to 25 can be chosen; the rest appear in single-player modes (Sandbag: home-run contest)."""

INTERNAL_CHARACTERS: Final[Mapping[int, InternalCharacter]] = {
    0: InternalCharacter("Mario", 8),
    1: InternalCharacter("Fox", 2),
    2: InternalCharacter("Captain Falcon", 0),
    3: InternalCharacter("Donkey Kong", 1),
    4: InternalCharacter("Kirby", 4),
    5: InternalCharacter("Bowser", 5),
    6: InternalCharacter("Link", 6),
    7: InternalCharacter("Sheik", 19),
    8: InternalCharacter("Ness", 11),
    9: InternalCharacter("Peach", 12),
    10: InternalCharacter("Popo", 14),
    11: InternalCharacter("Nana", 14),
    12: InternalCharacter("Pikachu", 13),
    13: InternalCharacter("Samus", 16),
    14: InternalCharacter("Yoshi", 17),
    15: InternalCharacter("Jigglypuff", 15),
    16: InternalCharacter("Mewtwo", 10),
    17: InternalCharacter("Luigi", 7),
    18: InternalCharacter("Marth", 9),
    19: InternalCharacter("Zelda", 18),
    20: InternalCharacter("Young Link", 21),
    21: InternalCharacter("Dr. Mario", 22),
    22: InternalCharacter("Falco", 20),
    23: InternalCharacter("Pichu", 24),
    24: InternalCharacter("Mr. Game & Watch", 3),
    25: InternalCharacter("Ganondorf", 25),
    26: InternalCharacter("Roy", 23),
    27: InternalCharacter("Master Hand", 26),
    28: InternalCharacter("Crazy Hand", 30),
    29: InternalCharacter("Wireframe (Male)", 27),
    30: InternalCharacter("Wireframe (Female)", 28),
    31: InternalCharacter("Giga Bowser", 29),
    32: InternalCharacter("Sandbag", 31),
}
"""Internal character ids. Popo and Nana both come from the Ice Climbers' slot; only a lone Popo would come from 32."""

STAGES: Final[Mapping[int, str]] = {
    0: "Dummy",
    1: "Test",
    2: "Fountain of Dreams",
    3: "Pokémon Stadium",
    4: "Princess Peach's Castle",
    5: "Kongo Jungle",
    6: "Brinstar",
    7: "Corneria",
    8: "Yoshi's Story",
    9: "Onett",
    10: "Mute City",
    11: "Rainbow Cruise",
    12: "Jungle Japes",
    13: "Great Bay",
    14: "Hyrule Temple",
    15: "Brinstar Depths",
    16: "Yoshi's Island",
    17: "Green Greens",
    18: "Fourside",
    19: "Mushroom Kingdom I",
    20: "Mushroom Kingdom II",
    21: "Akaneia",
    22: "Venom",
    23: "Poké Floats",
    24: "Big Blue",
    25: "Icicle Mountain",
    26: "Icetop",
    27: "Flat Zone",
    28: "Dream Land N64",
    29: "Yoshi's Island N64",
    30: "Kongo Jungle N64",
    31: "Battlefield",
    32: "Final Destination",
    33: "Target Test (Mario)",
    34: "Target Test (Captain Falcon)",
    35: "Target Test (Young Link)",
    36: "Target Test (Donkey Kong)",
    37: "Target Test (Dr. Mario)",
    38: "Target Test (Falco)",
    39: "Target Test (Fox)",
    40: "Target Test (Ice Climbers)",
    41: "Target Test (Kirby)",
    42: "Target Test (Bowser)",
    43: "Target Test (Link)",
    44: "Target Test (Luigi)",
    45: "Target Test (Marth)",
    46: "Target Test (Mewtwo)",
    47: "Target Test (Ness)",
    48: "Target Test (Peach)",
    49: "Target Test (Pichu)",
    50: "Target Test (Pikachu)",
    51: "Target Test (Jigglypuff)",
    52: "Target Test (Samus)",
    53: "Target Test (Sheik)",
    54: "Target Test (Yoshi)",
    55: "Target Test (Zelda)",
    56: "Target Test (Mr. Game & Watch)",
    57: "Target Test (Roy)",
    58: "Target Test (Ganondorf)",
    59: "Mushroom Kingdom (Adventure)",
    60: "Princess Peach's Castle (Adventure)",
    61: "Kongo Jungle (Adventure)",
    62: "Jungle Japes (Adventure)",
    63: "Underground Maze (Adventure)",
    64: "Hyrule Temple (Adventure)",
    65: "Brinstar (Adventure)",
    66: "Escape from Brinstar (Adventure)",
    67: "Green Greens (Adventure, Kirby)",
    68: "Green Greens (Adventure, Kirby Team)",
    69: "Green Greens (Adventure, Giant Kirby)",
    70: "Corneria (Adventure)",
    71: "Corneria (Adventure, Arwing Raid)",
    72: "Pokémon Stadium (Adventure)",
    73: "F-Zero Grand Prix (Adventure)",
    74: "Mute City (Adventure)",
    75: "Onett (Adventure)",
    76: "Icicle Mountain (Adventure)",
    77: "Icetop (Adventure)",
    78: "Battlefield (Adventure, Wireframes)",
    79: "Battlefield (Adventure, Metal Bros.)",
    80: "Final Destination (Adventure, Bowser)",
    81: "Final Destination (Adventure, Giga Bowser)",
    82: "Race to the Finish",
    83: "Snag the Trophies",
    84: "Home-Run Contest",
    85: "All-Star Rest Area",
}
"""Stage ids of Game Start.

2 to 32 are the versus stages; 21 was cut from the game and 26 cannot be chosen. Observed: 2, 3, 8, 28, 31, 32, 36, 84.
86 to 285 are left out: the versus stages once more, one id for each opponent in the single-player modes. Slippi records
none of those modes, and the lists of them still carry question marks.
"""

MOVES: Final[Mapping[int, Move]] = {
    1: Move("Miscellaneous", "misc"),
    2: Move("Jab 1", "jab"),
    3: Move("Jab 2", "jab"),
    4: Move("Jab 3", "jab"),
    5: Move("Rapid Jabs", "rapid-jabs"),
    6: Move("Dash Attack", "dash"),
    7: Move("Forward Tilt", "ftilt"),
    8: Move("Up Tilt", "utilt"),
    9: Move("Down Tilt", "dtilt"),
    10: Move("Forward Smash", "fsmash"),
    11: Move("Up Smash", "usmash"),
    12: Move("Down Smash", "dsmash"),
    13: Move("Neutral Air", "nair"),
    14: Move("Forward Air", "fair"),
    15: Move("Back Air", "bair"),
    16: Move("Up Air", "uair"),
    17: Move("Down Air", "dair"),
    18: Move("Neutral B", "neutral-b"),
    19: Move("Side B", "side-b"),
    20: Move("Up B", "up-b"),
    21: Move("Down B", "down-b"),
    22: Move("Neutral B (Kirby as Mario)", "kirby-mario"),
    23: Move("Neutral B (Kirby as Fox)", "kirby-fox"),
    24: Move("Neutral B (Kirby as Captain Falcon)", "kirby-falcon"),
    25: Move("Neutral B (Kirby as Donkey Kong)", "kirby-dk"),
    26: Move("Neutral B (Kirby as Bowser)", "kirby-bowser"),
    27: Move("Neutral B (Kirby as Link)", "kirby-link"),
    28: Move("Neutral B (Kirby as Sheik)", "kirby-sheik"),
    29: Move("Neutral B (Kirby as Ness)", "kirby-ness"),
    30: Move("Neutral B (Kirby as Peach)", "kirby-peach"),
    31: Move("Neutral B (Kirby as Ice Climbers)", "kirby-ics"),
    32: Move("Neutral B (Kirby as Pikachu)", "kirby-pikachu"),
    33: Move("Neutral B (Kirby as Samus)", "kirby-samus"),
    34: Move("Neutral B (Kirby as Yoshi)", "kirby-yoshi"),
    35: Move("Neutral B (Kirby as Jigglypuff)", "kirby-puff"),
    36: Move("Neutral B (Kirby as Mewtwo)", "kirby-mewtwo"),
    37: Move("Neutral B (Kirby as Luigi)", "kirby-luigi"),
    38: Move("Neutral B (Kirby as Marth)", "kirby-marth"),
    39: Move("Neutral B (Kirby as Zelda)", "kirby-zelda"),
    40: Move("Neutral B (Kirby as Young Link)", "kirby-ylink"),
    41: Move("Neutral B (Kirby as Dr. Mario)", "kirby-doc"),
    42: Move("Neutral B (Kirby as Falco)", "kirby-falco"),
    43: Move("Neutral B (Kirby as Pichu)", "kirby-pichu"),
    44: Move("Neutral B (Kirby as Mr. Game & Watch)", "kirby-g&w"),
    45: Move("Neutral B (Kirby as Ganondorf)", "kirby-ganon"),
    46: Move("Neutral B (Kirby as Roy)", "kirby-roy"),
    47: Move("Neutral B (Kirby as Giga Bowser)", "kirby-giga-bowser"),
    50: Move("Getup Attack (Face Up)", "getup"),
    51: Move("Getup Attack (Face Down)", "getup"),
    52: Move("Grab Pummel", "pummel"),
    53: Move("Forward Throw", "fthrow"),
    54: Move("Back Throw", "bthrow"),
    55: Move("Up Throw", "uthrow"),
    56: Move("Down Throw", "dthrow"),
    57: Move("Cargo Forward Throw", "cargo-fthrow"),
    58: Move("Cargo Back Throw", "cargo-bthrow"),
    59: Move("Cargo Up Throw", "cargo-uthrow"),
    60: Move("Cargo Down Throw", "cargo-dthrow"),
    61: Move("Edge Attack (Slow)", "edge-slow"),
    62: Move("Edge Attack", "edge"),
    63: Move("Beam Sword Jab", "sword-jab"),
    64: Move("Beam Sword Tilt", "sword-tilt"),
    65: Move("Beam Sword Smash", "sword-smash"),
    66: Move("Beam Sword Dash Attack", "sword-dash"),
    67: Move("Home-Run Bat Jab", "bat-jab"),
    68: Move("Home-Run Bat Tilt", "bat-tilt"),
    69: Move("Home-Run Bat Smash", "bat-smash"),
    70: Move("Home-Run Bat Dash Attack", "bat-dash"),
    71: Move("Parasol Jab", "parasol-jab"),
    72: Move("Parasol Tilt", "parasol-tilt"),
    73: Move("Parasol Smash", "parasol-smash"),
    74: Move("Parasol Dash Attack", "parasol-dash"),
    75: Move("Fan Jab", "fan-jab"),
    76: Move("Fan Tilt", "fan-tilt"),
    77: Move("Fan Smash", "fan-smash"),
    78: Move("Fan Dash Attack", "fan-dash"),
    79: Move("Star Rod Jab", "star-rod-jab"),
    80: Move("Star Rod Tilt", "star-rod-tilt"),
    81: Move("Star Rod Smash", "star-rod-smash"),
    82: Move("Star Rod Dash Attack", "star-rod-dash"),
    83: Move("Lip's Stick Jab", "lips-stick-jab"),
    84: Move("Lip's Stick Tilt", "lips-stick-tilt"),
    85: Move("Lip's Stick Smash", "lips-stick-smash"),
    86: Move("Lip's Stick Dash Attack", "lips-stick-dash"),
    87: Move("Open Parasol", "parasol"),
    88: Move("Ray Gun", "ray-gun"),
    89: Move("Fire Flower", "fire-flower"),
    90: Move("Screw Attack", "screw-attack"),
    91: Move("Super Scope (Rapid)", "scope-rapid"),
    92: Move("Super Scope (Charged)", "scope-charged"),
    93: Move("Hammer", "hammer"),
    94: Move("Warp Star", "warp-star"),
}
"""Ids of the last attack that hit; 0 is none. Observed: 1 to 21, 50 to 56, 61, 62, 69.

slippi-js knows the observed ones but 69. Our names differ from its names in two places, on purpose: the long names tell
the three jabs apart, and 50 and 51 are the getup attacks from lying face up and face down (the attacker is in
DownAttackU or DownAttackD), not a quick one and a slow one.
"""

END_METHODS: Final[Mapping[int, str]] = {
    0: "unresolved",
    1: "time",
    2: "game",
    3: "resolved",
    4: "stage failure",
    5: "stage clear",
    6: "new record",
    7: "no contest",
    8: "retry",
    9: "game clear",
}
"""How a game ended. Open: more values may come.

Documented are 0 and 3 before 2.0.0, and 1, 2 and 7 since. Observed besides: 3 in a 3.13 file, 6 in a target test, 9 in
a home-run contest. The names of 4, 5, 6, 8 and 9 are guessed: they are M'Overlay's for the game's own match result.
"""

TIMER_TYPES: Final[Mapping[int, str]] = {0: "none", 2: "counting down", 3: "counting up"}
"""The two low bits of Game Bitfield 1."""

IN_GAME_MODES: Final[Mapping[int, str]] = {0: "time", 1: "stock", 2: "coin", 3: "bonus"}
"""The three high bits of Game Bitfield 1, shifted down by five."""

MAJOR_SCENES: Final[Mapping[int, str]] = {
    0: "title screen",
    1: "main menu",
    2: "versus",
    3: "classic",
    4: "adventure",
    5: "all-star",
    6: "debug menu",
    7: "sound test",
    8: "online",
    10: "camera mode",
    11: "trophy gallery",
    12: "trophy lottery",
    13: "trophy collection",
    14: "debug versus",
    15: "target test",
    16: "super sudden death",
    17: "invisible melee",
    18: "slo-mo melee",
    19: "lightning melee",
    20: "challenger approaching",
    21: "classic ending",
    22: "adventure ending",
    23: "all-star ending",
    24: "opening movie",
    25: "debug cutscene",
    26: "debug ending",
    27: "tournament",
    28: "training",
    29: "tiny melee",
    30: "giant melee",
    31: "stamina mode",
    32: "home-run contest",
    33: "10-man melee",
    34: "100-man melee",
    35: "3-minute melee",
    36: "15-minute melee",
    37: "endless melee",
    38: "cruel melee",
    39: "progressive scan",
    40: "boot",
    41: "memory card",
    42: "fixed-camera mode",
    43: "event match",
    44: "single-button mode",
}
"""Which part of the game a match was played in. Observed: 2, 8, 15, 32.

Slippi put its online play in the place of a developers' screen, 8. 9 is another such screen, without a name.
"""

LANGUAGES: Final[Mapping[int, str]] = {0: "Japanese", 1: "English"}

TEAMS: Final[Mapping[int, str]] = {0: "red", 1: "blue", 2: "green"}
"""Team ids; they mean something only in a teams game."""

PHYSICAL_BUTTONS: Final[Mapping[int, str]] = {
    0x0001: "dpad_left",
    0x0002: "dpad_right",
    0x0004: "dpad_down",
    0x0008: "dpad_up",
    0x0010: "z",
    0x0020: "r",
    0x0040: "l",
    0x0100: "a",
    0x0200: "b",
    0x0400: "x",
    0x0800: "y",
    0x1000: "start",
}
"""Bits of the physical buttons; r and l are the clicks at the bottom of the triggers. The other bits have no name."""

PROCESSED_BUTTONS: Final[Mapping[int, str]] = {
    **PHYSICAL_BUTTONS,
    0x0001_0000: "joystick_up",
    0x0002_0000: "joystick_down",
    0x0004_0000: "joystick_left",
    0x0008_0000: "joystick_right",
    0x0010_0000: "cstick_up",
    0x0020_0000: "cstick_down",
    0x0040_0000: "cstick_left",
    0x0080_0000: "cstick_right",
    0x8000_0000: "trigger",
}
"""Bits of the processed buttons: the physical ones, then the sticks and triggers as the game took them."""

STATE_FLAGS: Final[tuple[Mapping[int, str], ...]] = (
    {0x02: "absorber", 0x08: "reflect_keeps_owner", 0x10: "reflect"},
    {
        0x04: "subaction_invincibility",
        0x08: "fast_fall",
        0x10: "defender_in_hitlag",
        0x20: "hitlag",
    },
    {0x04: "holding_grab", 0x80: "shield"},
    {0x02: "hitstun", 0x04: "shield_touched", 0x20: "powershield"},
    {0x02: "cloaking", 0x08: "follower", 0x10: "inactive", 0x40: "dead", 0x80: "offscreen"},
)
"""Bits of State Bit Flags 1 to 5, in this order. Bits without a name are set in real replays too."""

TURNIP_FACES: Final[Mapping[int, str]] = {
    0: "smile",
    1: "T eyes",
    2: "line eyes",
    3: "circle eyes",
    4: "upward curve",
    5: "wink",
    6: "dot eyes",
    7: "stitch face",
}
"""Means something only for item type 0x63. Observed: 0 to 5."""

MISSILE_TYPES: Final[Mapping[int, str]] = {0: "homing", 1: "super"}
"""Means something only for item type 0x5F."""

HURTBOX_STATES: Final[Mapping[int, str]] = {0: "vulnerable", 1: "invulnerable", 2: "intangible"}

L_CANCEL_STATUSES: Final[Mapping[int, str]] = {0: "none", 1: "successful", 2: "unsuccessful"}

GROUND_STATES: Final[Mapping[int, str]] = {0: "grounded", 1: "airborne"}

FOD_PLATFORMS: Final[Mapping[int, str]] = {0: "right", 1: "left"}
"""Platforms of Fountain of Dreams. Right comes first."""

WHISPY_DIRECTIONS: Final[Mapping[int, str]] = {0: "none", 1: "left", 2: "right"}

STADIUM_EVENTS: Final[Mapping[int, str]] = {
    0: "finished",
    2: "initialise",
    3: "on monitor",
    4: "old receding",
    5: "new rising",
    6: "finalise",
}
"""Steps of a transformation of Pokémon Stadium; 0 comes last. None observed."""

STADIUM_TRANSFORMATIONS: Final[Mapping[int, str]] = {3: "fire", 4: "grass", 5: "normal", 6: "rock", 9: "water"}


def character_name(external_id: int) -> str | None:
    """Name of an external character id (0 to 32), as in Game Start."""
    character = CHARACTERS.get(external_id)
    return character.name if character else None


def internal_character_name(internal_id: int) -> str | None:
    """Name of an internal character id (0 to 32), as in Post-Frame Update: Popo and Nana have one each."""
    character = INTERNAL_CHARACTERS.get(internal_id)
    return character.name if character else None


def costume_name(external_id: int, costume_index: int) -> str | None:
    """Name of a costume: the index (0 to 5) counts within an external character id, so it is no colour by itself."""
    character = CHARACTERS.get(external_id)
    return _at(character.costumes, costume_index) if character else None


def stage_name(stage_id: int) -> str | None:
    """Name of a stage id (named: 0 to 85), as in Game Start."""
    return STAGES.get(stage_id)


def move_name(move_id: int) -> str | None:
    """Name of the attack that hit last (1 to 94); None for 0, no attack yet."""
    move = MOVES.get(move_id)
    return move.name if move else None


def action_state_name(state_id: int, internal_character_id: int | None = None) -> str | None:
    """Name of an action state. Below 0x155 it is everybody's; from there on only the internal character id tells."""
    if state_id < FIRST_OWN_STATE:
        return _at(COMMON_ACTION_STATES, state_id)
    if internal_character_id is None:
        return None
    return _at(CHARACTER_ACTION_STATES.get(internal_character_id, ()), state_id - FIRST_OWN_STATE)


def item_name(type_id: int) -> str | None:
    """Name of an item type (0x00 to 0xEC, with gaps), as in Item Update."""
    return ITEM_NAMES.get(type_id)


def _at(names: Sequence[str], index: int) -> str | None:
    # Not a plain subscript: -1 would name the last one, and a corrupt replay has any number.
    return names[index] if 0 <= index < len(names) else None
