"""Values to the bytes of a `.gci`: the mirror of the reader, for tests and for tools that edit replays.

`encode(read_replay(data)) == data` for every file whose checksum is right: what is not understood is kept and comes
back as it was. The checksum is always that of the bytes. A replay that was edited goes through `fitted` first, which
makes the file as long as its body needs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from msgspec.structs import replace

from slpstream.formats.gci.body import GO_FRAME, USUAL_TYPE, Body, Checkpoint, InputRun, Place, Racer, write_body
from slpstream.formats.gci.container import (
    BLOCK_BYTES,
    BODY_AT,
    CHECKSUM_AT,
    ENTRY,
    ENTRY_BYTES,
    EPOCH,
    TICKS_PER_SECOND,
    Entry,
    checksum,
    length_of,
)
from slpstream.formats.gci.rows import as_pattern
from slpstream.formats.gci.settings import Replay

MIN_BLOCKS = 2
LAST_CHECKPOINT_FRAME = (1 << 14) - 1
ORIGIN: Place = (0, 0, 0)
SAVED_AT = dt.datetime(2018, 5, 8, 12, 34, 56)
"""When a new replay was saved, unless it is said."""


def encode(replay: Replay) -> bytes:
    """The whole file. Raises `ValueError` for values that do not fit their fields, pictures of another size, or a body
    that is longer than the file."""
    head = ENTRY.pack(replay.entry) + replay.banner + replay.icon
    if len(head) != BODY_AT:
        raise ValueError(f"banner and icon end at {len(head)}, not at {BODY_AT}")
    data = head + write_body(replay.body)
    if len(data) > replay.length_bytes:
        raise ValueError(f"the body needs {len(data)} bytes; the file has {replay.length_bytes}: see fitted()")
    data = data.ljust(replay.length_bytes, b"\0")
    return data[:CHECKSUM_AT] + checksum(data).to_bytes(2, "big") + data[CHECKSUM_AT + 2 :]


def fitted(replay: Replay) -> Replay:
    """The same replay with the length and the block count that its body needs, and the checksum of that file."""
    size_bytes = BODY_AT + len(write_body(replay.body))
    blocks = max(MIN_BLOCKS, -(-(size_bytes - ENTRY_BYTES) // BLOCK_BYTES))
    made = replace(replay, length_bytes=length_of(blocks), entry=replace(replay.entry, block_count=blocks))
    stored = int.from_bytes(encode(made)[CHECKSUM_AT : CHECKSUM_AT + 2], "big")
    return replace(made, entry=replace(made.entry, checksum=stored))


def new_replay(
    inputs: Sequence[InputRun],
    *,
    racers: Sequence[Racer] = (Racer(color=0),),
    total_frames: int | None = None,
    checkpoints: Sequence[Checkpoint] | None = None,
    game_code: str = "GFZE",
    comment: str | None = None,
    saved_at: dt.datetime = SAVED_AT,
    **rows: int,
) -> Replay:
    """A replay of the usual kind, fitted: Time Attack of three laps on Mute City with the Blue Falcon.

    `total_frames` is what the inputs last, unless it is given. `checkpoints` are the start and equal laps at the
    origin, unless they are given. `rows` are further fields of the body by name (`course=36`, `mode=1`).
    """
    frames = sum(run.frames for run in inputs) if total_frames is None else total_frames
    body = replace(Body(racers=tuple(racers), inputs=tuple(inputs)), **rows)
    humans = len(body.humans)
    if checkpoints is None:
        checkpoints = equal_laps(body.laps, frames)
    body = replace(
        body,
        human_flags=(1,) * humans if body.array_type >= USUAL_TYPE else (),
        human_pairs=(0,) * humans,
        total_frames=frames if body.array_type >= USUAL_TYPE else None,
        checkpoints=tuple(checkpoints),
    )
    seconds = int((saved_at - EPOCH).total_seconds())
    entry = Entry(game_code=game_code.encode("ascii"), modified=seconds)
    file_name = f"fzr00003580{seconds * TICKS_PER_SECOND:014X}.dat"
    entry = replace(
        entry,
        file_name=file_name.encode("ascii").ljust(32, b"\0"),
        comment=_text(f"{saved_at:%y/%m/%d %H:%M}" if comment is None else comment, entry.encoding, 60),
    )
    return fitted(Replay(entry=entry, body=body))


def equal_laps(laps: int, total_frames: int) -> list[Checkpoint]:
    """Checkpoints at GO and at the end of laps of the same length, all at the origin.

    The frames of checkpoints have 14 bits: behind 16,383 there is none.
    """
    race_frames = max(total_frames + 1 - GO_FRAME, 0)
    at = [min(GO_FRAME + race_frames * lap // max(laps, 1), LAST_CHECKPOINT_FRAME) for lap in range(laps + 1)]
    return [Checkpoint(frame1=frame, frame2=frame, places=(ORIGIN,) * 4) for frame in at]


def place(x: float, y: float, z: float) -> Place:
    """A position as the file has it, rounded to binary32."""
    return as_pattern(x), as_pattern(y), as_pattern(z)


def _text(text: str, encoding: str, width_bytes: int) -> bytes:
    raw = text.encode(encoding)
    if len(raw) > width_bytes:
        raise ValueError(f"{text!r} needs {len(raw)} bytes, {width_bytes} are there")
    return raw.ljust(width_bytes, b"\0")
