"""What the numbers of F-Zero GX stand for.

Numbers that are not here have no known meaning; they stay numbers. The ids of parts go on from each other: bodies 0 to
24, cockpits 25 to 49, boosters 50 to 74.
"""

from __future__ import annotations

from collections.abc import Mapping

MACHINES: Mapping[int, str] = {
    0: "Red Gazelle",
    1: "White Cat",
    2: "Golden Fox",
    3: "Iron Tiger",
    4: "Fire Stingray",
    5: "Wild Goose",
    6: "Blue Falcon",
    7: "Deep Claw",
    8: "Great Star",
    9: "Little Wyvern",
    10: "Mad Wolf",
    11: "Super Piranha",
    12: "Death Anchor",
    13: "Astro Robin",
    14: "Big Fang",
    15: "Sonic Phantom",
    16: "Green Panther",
    17: "Hyper Speeder",
    18: "Space Angler",
    19: "King Meteor",
    20: "Queen Meteor",
    21: "Twin Noritta",
    22: "Night Thunder",
    23: "Wild Boar",
    24: "Blood Hawk",
    25: "Wonder Wasp",
    26: "Mighty Typhoon",
    27: "Mighty Hurricane",
    28: "Crazy Bear",
    29: "Black Bull",
    30: "Dark Schneider",
    31: "Fat Shark",
    32: "Cosmic Dolphin",
    33: "Pink Spider",
    34: "Magic Seagull",
    35: "Silver Rat",
    36: "Spark Moon",
    37: "Bunny Flash",
    38: "Groovy Taxi",
    39: "Rolling Turtle",
    40: "Rainbow Phoenix",
    50: "original machine",
}
"""By machine id; 50 is built of custom parts."""

PILOTS: Mapping[int, str] = {
    0: "Mighty Gazelle",
    1: "Jody Summer",
    2: "Dr. Stewart",
    3: "Baba",
    4: "Samurai Goroh",
    5: "Pico",
    6: "Captain Falcon",
    7: "Octoman",
    8: "Mr. EAD",
    9: "James McCloud",
    10: "Billy",
    11: "Kate Alen",
    12: "Zoda",
    13: "Jack Levin",
    14: "Bio Rex",
    15: "The Skull",
    16: "Antonio Guster",
    17: "Beastman",
    18: "Leon",
    19: "Super Arrow",
    20: "Mrs. Arrow",
    21: "Gomar & Shioh",
    22: "Silver Neelsen",
    23: "Michael Chain",
    24: "Blood Falcon",
    25: "John Tanaka",
    26: "Draq",
    27: "Roger Buster",
    28: "Dr. Clash",
    29: "Black Shadow",
    30: "Deathborn",
    31: "Don Genie",
    32: "Digi-Boy",
    33: "Dai San Gen",
    34: "Spade",
    35: "Daigoroh",
    36: "Princia Ramode",
    37: "Lily Flyer",
    38: "PJ",
    39: "QQQ",
    40: "Phoenix",
}
"""By pilot id, which is the id of the pilot's own machine."""

COURSES: Mapping[int, str] = {
    0: "Screw Drive (test, unused)",
    1: "Mute City: Twist Road",
    3: "Mute City: Serial Gaps",
    5: "Aeropolis: Multiplex",
    7: "Port Town: Aero Dive",
    8: "Lightning: Loop Cross",
    9: "Lightning: Half Pipe",
    10: "Green Plant: Intersection",
    11: "Green Plant: Mobius Ring",
    13: "Port Town: Long Pipe",
    14: "Big Blue: Drift Highway",
    15: "Fire Field: Cylinder Knot",
    16: "Casino Palace: Split Oval",
    17: "Fire Field: Undulation",
    21: "Aeropolis: Dragon Slope",
    24: "Cosmo Terminal: Trident",
    25: "Sand Ocean: Lateral Shift",
    26: "Sand Ocean: Surface Slide",
    27: "Big Blue: Ordeal",
    28: "Phantom Road: Slim-Line Slits",
    29: "Casino Palace: Double Branches",
    31: "Aeropolis: Screw Drive",
    32: "Outer Space: Meteor Stream",
    33: "Port Town: Cylinder Wave",
    34: "Lightning: Thunder Road",
    35: "Green Plant: Spiral",
    36: "Mute City: Sonic Oval",
    37: "Story chapter 1",
    38: "Story chapter 2",
    39: "Story chapter 3",
    40: "Story chapter 4",
    41: "Story chapter 5",
    42: "Story chapter 6",
    43: "Story chapter 7",
    44: "Story chapter 8",
    45: "Story chapter 9",
    49: "Grand Prix podium",
    50: "Grand Prix victory lap",
}
"""By course id; there are gaps."""

BODIES: Mapping[int, str] = {
    0: "Brave Eagle",
    1: "Galaxy Falcon",
    2: "Giant Planet",
    3: "Megalo Cruiser",
    4: "Splash Whale",
    5: "Wild Chariot",
    6: "Valiant Jaguar",
    7: "Holy Spider",
    8: "Blood Raven",
    9: "Funny Swallow",
    10: "Optical Wing",
    11: "Mad Bull",
    12: "Big Tyrant",
    13: "Grand Base",
    14: "Fire Wolf",
    15: "Dread Hammer",
    16: "Silver Sword",
    17: "Rage Knight",
    18: "Rapid Barrel",
    19: "Sky Horse",
    20: "Aqua Goose",
    21: "Space Cancer",
    22: "Metal Shell",
    23: "Speedy Dragon",
    24: "Liberty Manta",
}
"""By part id."""

COCKPITS: Mapping[int, str] = {
    25: "Wonder Worm",
    26: "Rush Cyclone",
    27: "Combat Cannon",
    28: "Muscle Gorilla",
    29: "Cyber Fox",
    30: "Heat Snake",
    31: "Rave Drifter",
    32: "Aerial Bullet",
    33: "Spark Bird",
    34: "Blast Camel",
    35: "Dark Chaser",
    36: "Garnet Phantom",
    37: "Bright Spear",
    38: "Hyper Stream",
    39: "Super Lynx",
    40: "Crystal Egg",
    41: "Windy Shark",
    42: "Red Rex",
    43: "Sonic Soldier",
    44: "Maximum Star",
    45: "Moon Snail",
    46: "Crazy Buffalo",
    47: "Scud Viper",
    48: "Round Disk",
    49: "Energy Crest",
}
"""By part id."""

BOOSTERS: Mapping[int, str] = {
    50: "Euros -01",
    51: "Triangle -GT",
    52: "Velocity -J",
    53: "Sunrise 140",
    54: "Saturn -SG",
    55: "Bluster -X",
    56: "Devilfish -RX",
    57: "Mars -EX",
    58: "Titan -G4",
    59: "Extreme -ZZ",
    60: "Thunderbolt -V2",
    61: "Boxer -2C",
    62: "Shuttle -M2",
    63: "Punisher -4X",
    64: "Scorpion -R",
    65: "Raiden -88",
    66: "Impulse 220",
    67: "Bazooka -YS",
    68: "Meteor -RR",
    69: "Tiger -RZ",
    70: "Hornet -FX",
    71: "Jupiter -Q",
    72: "Comet -V",
    73: "Crown -77",
    74: "Triple -Z",
}
"""By part id."""

DIFFICULTIES: Mapping[int, str] = {
    0: "Novice",
    1: "Standard",
    2: "Expert",
    3: "Master",
}
"""By number; Time Attack stores 0."""

MODES: Mapping[int, str] = {
    1: "Grand Prix",
    2: "Time Attack",
}
"""By number."""

EMBLEM_PARTS: Mapping[int, str] = {
    0: "body",
    1: "cockpit",
    2: "booster",
}
"""Which part of the machine an emblem is on."""

REGIONS: Mapping[str, str] = {
    "GFZE": "NTSC-U",
    "GFZP": "PAL",
    "GFZJ": "NTSC-J",
}
"""By game code."""

FILE_KINDS: Mapping[int, str] = {
    0x010B: "save",
    0x0201: "ghost",
    0x0301: "garage",
    0x0401: "emblem",
    0x0504: "replay",
}
"""By file type: the kinds of file that the game writes to a memory card."""

BUTTONS: Mapping[int, str] = {
    0x80: "side_attack",
    0x40: "boost",
    0x20: "spin_attack",
    0x10: "both_strafe",
}
"""By bit of the buttons byte. The low four bits were 4 in everything that was seen."""
