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

from slpstream.formats.slippi import metadata
from slpstream.formats.slippi.commands import GAME_START
from slpstream.formats.slippi.container import CLOSE, HEADER_BYTES, raw_length
from slpstream.formats.slippi.framing import read_event_payloads, width_of_event_payloads
from slpstream.formats.slippi.game_start import set_field
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.model.errors import FramingError

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


def as_another_game(replay: bytes, *, random_seed: int, started_at: datetime) -> bytes:
    """Return a finished replay with another random seed in Game Start and another `startAt` in its metadata.

    `started_at` is in UTC. Raises `FramingError` if the replay doesn't begin with Event Payloads and Game Start.
    """
    width = width_of_event_payloads(replay, HEADER_BYTES, HEADER_BYTES)
    start_offset = HEADER_BYTES + (width or 0)
    widths = read_event_payloads(replay[HEADER_BYTES:start_offset]).widths
    if replay[start_offset] != GAME_START:
        raise FramingError(f"expected Game Start, found {replay[start_offset]:#04x}", offset=start_offset)
    start_end = start_offset + widths[GAME_START]
    game_start = bytearray(replay[start_offset:start_end])
    set_field(game_start, "random_seed", random_seed)
    metadata_offset = HEADER_BYTES + raw_length(replay) + len(metadata.MARKER)
    values = metadata.decode(replay[metadata_offset : -len(CLOSE)], offset=metadata_offset).values
    values["startAt"] = f"{started_at:%Y-%m-%dT%H:%M:%SZ}"
    return b"".join(
        (replay[:start_offset], game_start, replay[start_end:metadata_offset], metadata.encode(values), CLOSE),
    )
