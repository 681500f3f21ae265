"""Writes Stunts replays (`.rpl`) for tests, in both layouts: the mirror of the reader.

A replay that was read is written back byte for byte, because `StuntsReplay` keeps the leftover bytes after the texts.
Tests edit a replay with `msgspec.structs.replace` and encode it.
"""

from __future__ import annotations

import struct
from typing import Any

from slpstream.formats.stunts.layout import NEW, OLD, OLD_FREQUENCY_HZ, StuntsReplay
from slpstream.formats.stunts.track import TRACK_BYTES

_TEXT_BYTES = {"car": 4, "opponent_car": 4, "track_name": 9}
_MAX_TICKS = 0xFFFF


def encode(replay: StuntsReplay) -> bytes:
    """Encode the whole file. Short texts are padded with NULs.

    Raises `ValueError` for values that the layout cannot hold: a number that does not fit, a text that is too long,
    more than 65,535 tics, a frequency other than 20 Hz in the old layout.
    """
    layout = NEW if replay.layout == "new" else OLD
    if layout is OLD and replay.frequency_hz != OLD_FREQUENCY_HZ:
        raise ValueError(f"the old layout has {OLD_FREQUENCY_HZ} tics a second, not {replay.frequency_hz}")
    if len(replay.inputs) > _MAX_TICKS:
        raise ValueError(f"{len(replay.inputs)} tics are more than the {_MAX_TICKS} that a replay can have")
    if len(replay.track.data) != TRACK_BYTES:
        raise ValueError(f"a track has {TRACK_BYTES} bytes, not {len(replay.track.data)}")
    values: list[Any] = []
    for name in layout.names:
        value: Any = len(replay.inputs) if name == "ticks" else getattr(replay, name)
        if name in _TEXT_BYTES and len(value) > _TEXT_BYTES[name]:
            raise ValueError(f"{name}: {len(value)} bytes are more than {_TEXT_BYTES[name]}")
        values.append(value)
    try:
        header = layout.struct.pack(*values)
    except struct.error as error:
        raise ValueError(str(error)) from error
    return header + replay.track.data + bytes(replay.inputs)
