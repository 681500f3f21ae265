"""Writes F-Zero GX replays (`.gci`) for tests: the mirror of the reader.

`encode(read_replay(data)) == data` for every file with a correct checksum: bytes of unknown meaning are kept and come
back as they were. `encode` always writes the correct checksum. An edited replay goes through `fitted` first, which
makes the file as long as its body needs.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Sequence

from msgspec.structs import replace

from slpstream.formats.gci.bits import BitWriter
from slpstream.formats.gci.body import (
    CHECKPOINT_COUNT,
    CHECKPOINT_FIELDS,
    FIRST_FIELDS,
    GO_FRAME,
    HUMAN_FLAG,
    HUMAN_PAIR,
    INPUT_FIELDS,
    LAST_INPUT,
    RACER_FIELDS,
    TOTAL_FRAMES,
    USUAL_TYPE,
    Body,
    Checkpoint,
    InputRun,
    Place,
    Racer,
    read_body,
)
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
    read_container,
)
from slpstream.formats.gci.custom import EMBLEM, EMBLEM_BYTES, EMBLEM_SLOTS, Emblem, write_custom
from slpstream.formats.gci.reader import GciRecording
from slpstream.formats.gci.rows import BitRow
from slpstream.formats.gci.settings import Replay

MIN_BLOCKS = 2
MAX_RUN_FRAMES = 256
MAX_CHECKPOINT_FRAME = (1 << 14) - 1
ORIGIN: Place = (0, 0, 0)
SAVED_AT = dt.datetime(2018, 5, 8, 12, 34, 56)
"""When new replays were saved."""

_SIGNED_INPUTS = frozenset({"strafe", "steer_x", "steer_y"})


def read_replay(data: bytes) -> Replay:
    """Read all values of a complete file, for `encode`.

    Raises `FormatError`, also for a body that ends early, because such a file would not come back as it was.
    """
    container = read_container(data)
    reading = read_body(container.body, file_offset=BODY_AT)
    if reading.damage is not None:
        raise reading.damage
    return GciRecording(data, container, reading).replay


def encode(replay: Replay) -> bytes:
    """Encode the whole file."""
    data = ENTRY.pack(replay.entry) + replay.banner + replay.icon + write_body(replay.body)
    assert len(data) <= replay.length_bytes, "see fitted()"
    data = data.ljust(replay.length_bytes, b"\0")
    return data[:CHECKSUM_AT] + checksum(data).to_bytes(2, "big") + data[CHECKSUM_AT + 2 :]


def fitted(replay: Replay) -> Replay:
    """Return the replay with the length and block count that its body needs, and the checksum of that file."""
    size_bytes = BODY_AT + len(write_body(replay.body))
    blocks = max(MIN_BLOCKS, -(-(size_bytes - ENTRY_BYTES) // BLOCK_BYTES))
    resized = replace(replay, length_bytes=length_of(blocks), entry=replace(replay.entry, block_count=blocks))
    stored = int.from_bytes(encode(resized)[CHECKSUM_AT : CHECKSUM_AT + 2], "big")
    return replace(resized, entry=replace(resized.entry, checksum=stored))


def new_replay(
    inputs: Sequence[InputRun],
    *,
    racers: Sequence[Racer] = (Racer(color=0),),
    total_frames: int | None = None,
    checkpoints: Sequence[Checkpoint] | None = None,
    **rows: int,
) -> Replay:
    """Make a fitted replay, by default a Time Attack of three laps on Mute City with the Blue Falcon.

    `total_frames` defaults to the length of the inputs, `checkpoints` to the start and equal laps at the origin. `rows`
    sets further fields of the body by name (`course=36`, `mode=1`).
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
    seconds = int((SAVED_AT - EPOCH).total_seconds())
    entry = Entry(game_code=b"GFZE", modified=seconds)
    file_name = f"fzr00003580{seconds * TICKS_PER_SECOND:014X}.dat"
    entry = replace(
        entry,
        file_name=file_name.encode("ascii").ljust(32, b"\0"),
        comment=f"{SAVED_AT:%y/%m/%d %H:%M}".encode("ascii").ljust(60, b"\0"),
    )
    return fitted(Replay(entry=entry, body=body))


def equal_laps(laps: int, total_frames: int) -> list[Checkpoint]:
    """Checkpoints at GO and at the end of each of `laps` equally long laps, all at the origin.

    The frame of a checkpoint has 14 bits, so frames above 16,383 are clamped.
    """
    race_frames = max(total_frames + 1 - GO_FRAME, 0)
    at = [min(GO_FRAME + race_frames * lap // max(laps, 1), MAX_CHECKPOINT_FRAME) for lap in range(laps + 1)]
    return [Checkpoint(frame1=frame, frame2=frame, places=(ORIGIN,) * 4) for frame in at]


def place(x: float, y: float, z: float) -> Place:
    """A position as the file stores it, rounded to binary32."""
    return as_pattern(x), as_pattern(y), as_pattern(z)


def as_pattern(value: float) -> int:
    """The 32-bit pattern of a number, rounded to binary32."""
    return int.from_bytes(struct.pack(">f", value), "big")


def write_emblems(*emblems: Emblem) -> bytes:
    """Encode the `emblem_blocks` of a machine, with zeros for the other slots."""
    return b"".join(EMBLEM.pack(emblem) for emblem in emblems).ljust(EMBLEM_SLOTS * EMBLEM_BYTES, b"\0")


def write_body(body: Body) -> bytes:
    """Encode the body, without the zeros that fill the file."""
    writer = BitWriter()
    put_rows(writer, FIRST_FIELDS, body, body.array_type, racer_count=len(body.racers))
    for racer in body.racers:
        custom_flag = int(racer.custom is not None)
        put_rows(writer, RACER_FIELDS, racer, body.array_type, human=bool(racer.human), custom_flag=custom_flag)
        if racer.custom is not None:
            put_octets(writer, write_custom(racer.custom))
    for flag in body.human_flags:
        writer.put(flag, HUMAN_FLAG.bits, HUMAN_FLAG.name)
    for pair in body.human_pairs:
        writer.put(pair, HUMAN_PAIR.bits, HUMAN_PAIR.name)
    put_rows(writer, (TOTAL_FRAMES,), body, body.array_type)
    writer.put(len(body.checkpoints), CHECKPOINT_COUNT.bits, CHECKPOINT_COUNT.name)
    for checkpoint in body.checkpoints:
        put_rows(writer, CHECKPOINT_FIELDS, checkpoint, body.array_type)
        for pattern in (pattern for place in checkpoint.places for pattern in place):
            writer.put(pattern, 32, "a coordinate")
    writer.put(len(body.inputs) - 1, LAST_INPUT.bits, LAST_INPUT.name)
    for run in body.inputs:
        _put_run(writer, run)
    return finish(writer, body.rest)


def put_rows(
    writer: BitWriter, rows: Sequence[BitRow], values: object, array_type: int, *, human: bool = True, **computed: int
) -> None:
    """Put the attributes of `values`, or else the `computed` values, for each row that is present."""
    for row in rows:
        if row.present(array_type, human):
            value = computed[row.name] if row.name in computed else getattr(values, row.name)
            writer.put(value, row.bits, row.name)


def put_octets(writer: BitWriter, data: bytes) -> None:
    """Put bytes as fields of 8 bits."""
    writer.put(int.from_bytes(data, "big"), 8 * len(data))


def finish(writer: BitWriter, rest: bytes) -> bytes:
    """Return all bytes that were put, followed by the bits that `BitReader.rest` returned.

    The first byte of `rest` shares the last, unfinished byte.
    """
    data = bytearray(writer.finish())
    used_bits = writer.at & 7
    if not rest or not used_bits:
        return bytes(data) + rest
    data[-1] |= rest[0]
    return bytes(data) + rest[1:]


def _put_run(writer: BitWriter, run: InputRun) -> None:
    for row, value in zip(INPUT_FIELDS, run, strict=True):
        stored = value & 0xFF if row.name in _SIGNED_INPUTS else value - (row.name == "frames")
        writer.put(stored, row.bits, row.name)
