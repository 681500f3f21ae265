"""Turn a replay into one of another game, so that a match can be played again.

A game id is a hash of Game Start, so a match that is written twice would count as one game. Another random seed makes
it another game.
"""

from __future__ import annotations

from datetime import datetime

from slpstream.formats.slippi import metadata
from slpstream.formats.slippi.commands import GAME_START
from slpstream.formats.slippi.container import CLOSE, HEADER_BYTES, raw_length
from slpstream.formats.slippi.framing import read_event_payloads, width_of_event_payloads
from slpstream.formats.slippi.game_start import set_field
from slpstream.model.errors import FramingError


def as_another_game(replay: bytes, *, random_seed: int, started_at: datetime) -> bytes:
    """Return a finished replay with another random seed in Game Start and another `startAt` in its metadata.

    `started_at` is in UTC. Raises `FramingError` for a replay that does not begin with Event Payloads and Game Start.
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
