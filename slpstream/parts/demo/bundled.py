"""The bundled matches that `slpstream demo` plays.

They are replay logs in the folder `matches`, recorded from synthetic games (by `python -m tests.synthetic.record_demo`
in the source repository). Nothing in them comes from a real game. In order, they form two best-of-three sets between
the same two players: the first set ends 2-1, the second 2-0 for the other player.

A game id is a hash of Game Start, so a match that is written twice would count as one game. Each play therefore gets
its own random seed in Game Start, and its start time in the metadata. Everything else remains as recorded; in
particular, the seeds in Frame Start and Pre-Frame Update do not follow from the new seed.
"""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files

from slpstream.formats.slippi.another_game import as_another_game
from slpstream.formats.slplog.reader import ReplayLog

MATCHES = (
    "1_battlefield.slplog",
    "2_fountain_of_dreams.slplog",
    "3_pokemon_stadium.slplog",
    "4_final_destination.slplog",
    "5_dream_land.slplog",
)
"""File names of the bundled matches, in the order in which they are played."""

_FOLDER = files("slpstream.parts.demo") / "matches"
_SEED_STEP = 0x9E37_79B1
"""Odd, so that 2 ** 32 consecutive plays have different random seeds."""


def bundled_match(play: int, *, started_at: datetime) -> bytes:
    """The replay of one play, complete with metadata and raw length.

    Plays 1 to 5 are the five matches, play 6 is the first match again, and so on. No two plays have the same game id;
    the same play always has the same one.
    """
    name = MATCHES[(play - 1) % len(MATCHES)]
    recorded = ReplayLog.of((_FOLDER / name).read_bytes()).unpack()
    return as_another_game(recorded, random_seed=play * _SEED_STEP & 0xFFFF_FFFF, started_at=started_at)
