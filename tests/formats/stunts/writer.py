"""Writes Stunts replays (`.rpl`) for tests, in both layouts: the mirror of the reader.

A replay that was read is written back byte for byte, because `StuntsReplay` keeps the leftover bytes after the texts.
Tests edit a replay with `msgspec.structs.replace` and encode it.
"""

from __future__ import annotations

from slpstream.formats.stunts.layout import NEW, OLD, StuntsReplay


def encode(replay: StuntsReplay) -> bytes:
    """Encode the whole file."""
    layout = NEW if replay.layout == "new" else OLD
    values = [len(replay.inputs) if name == "ticks" else getattr(replay, name) for name in layout.names]
    return layout.struct.pack(*values) + replay.track.data + bytes(replay.inputs)
