"""Find the inputs in F-Zero GX and Stunts replays, code them in bits with `pads`, and decode them again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slpstream.formats.gci import body, container
from slpstream.formats.gci.bits import BitWriter
from slpstream.formats.slplog.bits import BitPacker, MemoryStream
from slpstream.formats.slplog.pads import Held, Pad, held, put_runs, take_runs
from slpstream.formats.stunts.layout import fitting
from slpstream.model.errors import FieldError, FormatError

GX, STUNTS = 1, 2
GX_PAD = Pad(8, (256, 128, 128, 256, 256))
"""Its axes are strafe, acceleration, brake, steering x and steering y; signed values are modulo 256."""
STUNTS_PAD = Pad(8, (), 2)
_PADS = {GX: GX_PAD, STUNTS: STUNTS_PAD}
_MAX_RUNS = 1 << 20


def gx_inputs(data: bytes) -> tuple[int, int, Sequence[Held]] | None:
    """Find the runs of inputs in a GCI file.

    Returns where their first bit is, where the bit after the last one is, and the runs. If the file is damaged or
    doesn't have any runs, this returns `None`.
    """
    try:
        reading = body.read_body(container.read_container(data).body, file_offset=container.BODY_AT)
    except FormatError:
        return None
    runs = reading.body.inputs
    if reading.damage is not None or not runs:
        return None
    stop = 8 * container.BODY_AT + reading.end_bit
    states = [
        Held(run.buttons, (run.strafe & 0xFF, run.accel, run.brake, run.steer_x & 0xFF, run.steer_y & 0xFF), run.frames)
        for run in runs
    ]
    return stop - len(runs) * body.INPUT_BITS, stop, states


def stunts_inputs(data: bytes) -> tuple[int, Sequence[Held]] | None:
    """Find the input bytes in a Stunts replay.

    Returns their offset, and the runs of equal ones. If the file is damaged or doesn't have any inputs, this returns
    `None`.
    """
    layouts = fitting(data, len(data))
    if not layouts or len(data) == layouts[0].inputs_offset:
        return None
    offset = layouts[0].inputs_offset
    return offset, list(held((byte, ()) for byte in data[offset:]))


def encode_pads(source: int, lead_bits: int, runs: Sequence[Held]) -> bytes:
    """Encode the payload of a PADS block. `lead_bits` is how many bits come before the inputs in their first byte."""
    stream = MemoryStream()
    stream.write_number(source)
    stream.write_number(lead_bits)
    stream.write_number(len(runs))
    packer = BitPacker()
    put_runs(packer, _PADS[source], runs)
    stream.write_bits(packer)
    return stream.to_bytes()


def decode_pads(payload: bytes, source_bytes: int) -> bytes:
    """Return those bytes of the file that are completely filled by inputs.

    Raises `FieldError` if the payload is damaged.
    """
    stream = MemoryStream(payload)
    source, lead_bits = stream.read_number(STUNTS), stream.read_number(7)
    count, bits = stream.read_number(_MAX_RUNS), stream.read_bits()
    if source not in _PADS or stream.left:
        raise FieldError("a block of inputs of an unknown kind", offset=0)
    runs = take_runs(bits, _PADS[source], count)
    data = _gx_bytes(runs, lead_bits) if source == GX else _stunts_bytes(runs, source_bytes)
    if len(data) != source_bytes:
        raise FieldError(f"expected {source_bytes} bytes of inputs, got {len(data)}", offset=0)
    return data


def _gx_bytes(runs: Iterable[Held], lead_bits: int) -> bytes:
    writer = BitWriter()
    writer.put(0, lead_bits)
    try:
        for run in runs:
            strafe, accel, brake, x, y = run.axes
            for value, row in zip(
                (run.buttons, strafe, accel, brake, run.frames - 1, x, y), body.INPUT_FIELDS, strict=True
            ):
                writer.put(value, row.bits)
    except ValueError as error:
        raise FieldError(str(error), offset=0) from None
    data, end_bit = writer.finish(), writer.at
    return data[1 if lead_bits else 0 : end_bit // 8]


def _stunts_bytes(runs: Iterable[Held], max_bytes: int) -> bytes:
    data = bytearray()
    for run in runs:
        if len(data) + run.frames > max_bytes:
            raise FieldError("more inputs than the replay has", offset=0)
        data += bytes([run.buttons]) * run.frames
    return bytes(data)
