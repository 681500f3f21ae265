"""The bundled matches that `slpstream demo` plays.

They are replay logs in the folder `matches`. We have recorded them from synthetic games (with `python -m
tests.synthetic.record_demo` in the source repository), so nothing in them comes from a real game. In order, they form
two best-of-three sets between the same two players. The first set ends 2-1, and the second 2-0 for the other player.

A game id is a hash of Game Start, so if a match was written twice, it would count as one game. Because of this, each
play gets its own random seed in Game Start, and its start time in the metadata. Everything else stays as recorded. In
particular, the seeds in Frame Start and Pre-Frame Update don't follow from the new seed.
"""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files

from slpstream.formats.slippi.edited import as_another_game
from slpstream.formats.slplog.reader import ReplayLog

MATCHES = (
    "1_battlefield.slplog",
    "2_fountain_of_dreams.slplog",
    "3_pokemon_stadium.slplog",
    "4_final_destination.slplog",
    "5_dream_land.slplog",
)
"""The file names of the bundled matches, in the order in which they are played."""

_FOLDER = files("slpstream.parts.demo") / "matches"
_SEED_STEP = 0x9E37_79B1
"""This is odd, so that 2 ** 32 consecutive plays all have different random seeds."""


def bundled_match(play: int, *, started_at: datetime) -> bytes:
    """Return the replay of one play, including its metadata and its raw length.

    Plays 1 to 5 are the five matches, play 6 is the first match again, and so on. No two plays have the same game id,
    but the same play always has the same one.
    """
    name = MATCHES[(play - 1) % len(MATCHES)]
    recorded = ReplayLog.of((_FOLDER / name).read_bytes()).unpack()
    return as_another_game(recorded, random_seed=play * _SEED_STEP & 0xFFFF_FFFF, started_at=started_at)
