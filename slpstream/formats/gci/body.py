"""The body of a replay, which contains racers, checkpoints and runs of inputs as rows of a bit stream.

Which fields there are depends on the racer array type (5 in all replays that we know), and on whether a racer is human.
We need all fields up to the number of laps. If the stream ends later than that, this isn't an error: `Body` contains
the fields before the end, and `Reading.damage` tells you where it ended.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec

from slpstream.formats.gci.bits import BitReader
from slpstream.formats.gci.custom import CUSTOM_BYTES, CustomMachine, read_custom
from slpstream.formats.gci.rows import BitRow, as_float, take_rows
from slpstream.model.errors import FormatError

FRAMES_PER_SECOND = 60
"""Nominal rate."""
GO_FRAME = 182
"""Native frame at which the race timer starts. Native frame 0 is the start of the countdown."""
GRAND_PRIX, TIME_ATTACK = 1, 2
USUAL_TYPE = 5
"""The racer array type of every known replay."""
PLACES = 4

FIRST_FIELDS = (
    BitRow("tick_low", 8, "Low byte of the console's tick counter."),
    BitRow("array_type", 7, "Racer array type; determines which fields are present.", sure="observed"),
    BitRow("course", 6, "Course id; not all ids are in use."),
    BitRow("unknown_a", 32, "Unknown.", sure="guessed"),
    BitRow("unknown_b", 32, "Unknown; often begins with CAE8.", sure="guessed"),
    BitRow("racer_count", 5, "1 in Time Attack, 30 in Grand Prix."),
    BitRow("difficulty", 3, "0 Novice to 3 Master; 0 in Time Attack.", sure="observed"),
    BitRow("mode", 2, "1 Grand Prix, 2 Time Attack."),
    BitRow("unknown_flag", 1, "0.", sure="observed"),
    BitRow("laps", 7, "3.", sure="observed"),
)

RACER_FIELDS = (
    BitRow("human", 1, "1 for a human, 0 for a CPU."),
    BitRow("machine", 6, "Machine id; 50 is a machine of custom parts."),
    BitRow("ai", 5, "Behaviour of a CPU racer; 0 in Time Attack.", since=4, sure="observed"),
    BitRow("slider", 7, "Acceleration (0) to maximum speed (100); the game ignores that of a CPU.", since=3),
    BitRow("color", 2, "Color swap, 0 to 3.", human_only=True),
    BitRow("old_slider", 7, "The slider in older types; in no known replay.", until=1, human_only=True),
    BitRow("custom_flag", 1, "1 when the block of a custom machine follows.", human_only=True),
)

HUMAN_FLAG = BitRow("human_flag", 1, "Unknown, one for each human; 1 in a real replay.", since=5, sure="observed")
HUMAN_PAIR = BitRow("human_pair", 2, "Unknown, one for each human; 0 in a real replay.", sure="observed")
TOTAL_FRAMES = BitRow("total_frames", 20, "From the start of the countdown to the finish line.", since=5)
CHECKPOINT_COUNT = BitRow("checkpoint_count", 8, "4.", sure="observed")

CHECKPOINT_FIELDS = (
    BitRow("frame1", 14, "Native frame of the positions 1 and 3; the first checkpoint has 182."),
    BitRow("frame2", 14, "Native frame of the positions 2 and 4; if less than frame1, the checkpoint is disabled."),
    BitRow("unknown_1", 4, "Unknown.", sure="guessed"),
    *(BitRow(f"unknown_{number}", 5, "Unknown.", sure="guessed") for number in range(2, 7)),
)
_COORDINATES = 3 * PLACES
CHECKPOINT_BITS = sum(row.bits for row in CHECKPOINT_FIELDS) + 32 * _COORDINATES

LAST_INPUT = BitRow("last_input", 14, "Number of input runs minus 1.")

INPUT_FIELDS = (
    BitRow("buttons", 8, "0x80 side attack, 0x40 boost, 0x20 spin attack, 0x10 both strafe triggers; low bits 4."),
    BitRow("strafe", 8, "Right minus left trigger, signed: -100 to 100."),
    BitRow("accel", 7, "0 to 100."),
    BitRow("brake", 7, "0 to 100."),
    BitRow("frames", 8, "Number of frames that the run lasts, minus 1."),
    BitRow("steer_x", 8, "Signed: -100 to 100, right positive.", sure="observed"),
    BitRow("steer_y", 8, "Signed: -100 to 100; the positive direction is not documented.", sure="observed"),
)
INPUT_BITS = sum(row.bits for row in INPUT_FIELDS)

Place = tuple[int, int, int]
"""A position: x, y (up) and z as the 32-bit patterns of floats."""


class Racer(msgspec.Struct, frozen=True, kw_only=True):
    """A racer, with the rows of `RACER_FIELDS`. If the stream doesn't have a field, it is `None`."""

    human: int = 1
    machine: int = 6
    ai: int | None = 0
    slider: int | None = 50
    color: int | None = None
    old_slider: int | None = None
    custom: CustomMachine | None = None


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The position that the machine must have at a certain frame. The game only checks the first of the places.

    The first two `places` are those of the player at `frame1` and at `frame2`. At the same frames, there are two more:
    in Grand Prix, they belong to the CPU with racer index 1, and in Time Attack to the player again.
    """

    frame1: int
    frame2: int
    places: tuple[Place, Place, Place, Place]
    unknown_1: int = 0
    unknown_2: int = 0
    unknown_3: int = 0
    unknown_4: int = 0
    unknown_5: int = 0
    unknown_6: int = 0

    @property
    def unknown(self) -> tuple[int, ...]:
        """The six values that we don't understand."""
        return (
            self.unknown_1, self.unknown_2, self.unknown_3, self.unknown_4, self.unknown_5, self.unknown_6,
        )  # fmt: skip

    @property
    def enabled(self) -> bool:
        """Whether the game checks it."""
        return self.frame2 >= self.frame1

    @property
    def positions(self) -> list[tuple[float, ...]]:
        """The places as floats. They might be NaN or infinite."""
        return [tuple(as_float(pattern) for pattern in place) for place in self.places]

    @property
    def finite(self) -> bool:
        """Whether none of the coordinates is NaN or infinite."""
        return all(math.isfinite(value) for place in self.positions for value in place)


class InputRun(NamedTuple):
    """The same inputs for 1 to 256 frames. These are the file's own values, where signed ones are signed integers."""

    buttons: int = 4
    strafe: int = 0
    accel: int = 0
    brake: int = 0
    frames: int = 1
    steer_x: int = 0
    steer_y: int = 0


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a replay body. `human_flags` and `human_pairs` have one number for each human racer."""

    tick_low: int = 0
    array_type: int = USUAL_TYPE
    course: int = 1
    unknown_a: int = 0
    unknown_b: int = 0xCAE80000
    difficulty: int = 0
    mode: int = TIME_ATTACK
    unknown_flag: int = 0
    laps: int = 3
    racers: tuple[Racer, ...] = ()
    human_flags: tuple[int, ...] = ()
    human_pairs: tuple[int, ...] = ()
    total_frames: int | None = None
    """`None` when the racer array type does not have the field, or the stream ends before it."""
    checkpoints: tuple[Checkpoint, ...] = ()
    inputs: tuple[InputRun, ...] = ()
    rest: bytes = b""
    """The bytes from the end of the last run on, without trailing zeros; the run's own bits are cleared."""

    @property
    def humans(self) -> tuple[int, ...]:
        """Indices of the human racers."""
        return tuple(index for index, racer in enumerate(self.racers) if racer.human)


class Reading(NamedTuple):
    """A body, and where each of its parts is, in bits from the start of the body."""

    body: Body
    racer_bits: tuple[int, ...]
    checkpoints_bit: int
    inputs_bit: int
    """Position of the number of runs, which precedes them."""
    end_bit: int
    damage: FormatError | None
    """The error where the stream ended early, or `None`. `body` has the fields before it."""


def read_body(data: bytes, *, file_offset: int = 0) -> Reading:
    """Read a body. `data` begins at `file_offset`, and goes up to the end of the file.

    If the stream ends in one of the first fields, this raises `OutOfBits`. If it ends later, `Reading.damage` is set
    instead.
    """
    reader = BitReader(data, file_offset=file_offset)
    first = take_rows(reader, FIRST_FIELDS, USUAL_TYPE)
    racer_count, array_type = first.pop("racer_count"), first["array_type"]
    racers: list[Racer] = []
    racer_bits: list[int] = []
    flags: list[int] = []
    pairs: list[int] = []
    checkpoints: list[Checkpoint] = []
    inputs: list[InputRun] = []
    total_frames: int | None = None
    checkpoints_bit = inputs_bit = reader.at
    damage: FormatError | None = None
    try:
        for index in range(racer_count):
            racer_bits.append(reader.at)
            racers.append(_take_racer(reader, array_type, index))
        humans = sum(racer.human for racer in racers)
        if HUMAN_FLAG.present(array_type):
            flags += (reader.take(HUMAN_FLAG.bits, HUMAN_FLAG.name) for _ in range(humans))
        pairs += (reader.take(HUMAN_PAIR.bits, HUMAN_PAIR.name) for _ in range(humans))
        if TOTAL_FRAMES.present(array_type):
            total_frames = reader.take(TOTAL_FRAMES.bits, TOTAL_FRAMES.name)
        checkpoint_count = reader.take(CHECKPOINT_COUNT.bits, CHECKPOINT_COUNT.name)
        checkpoints_bit = inputs_bit = reader.at
        for index in range(checkpoint_count):
            checkpoints.append(_take_checkpoint(reader, index))
            inputs_bit = reader.at
        count = reader.take(LAST_INPUT.bits, LAST_INPUT.name) + 1
        whole = min(count, reader.left_bits // INPUT_BITS)
        inputs += map(_as_run, reader.take_each(INPUT_BITS, whole))
        reader.need(INPUT_BITS * (count - whole), f"the inputs {whole} to {count - 1} of {count}")
    except FormatError as error:
        damage = error
    body = Body(
        **first,
        racers=tuple(racers),
        human_flags=tuple(flags),
        human_pairs=tuple(pairs),
        total_frames=total_frames,
        checkpoints=tuple(checkpoints),
        inputs=tuple(inputs),
        rest=reader.rest() if damage is None else b"",
    )
    return Reading(body, tuple(racer_bits), checkpoints_bit, inputs_bit, reader.at, damage)


def _take_racer(reader: BitReader, array_type: int, index: int) -> Racer:
    human = reader.take(1, f"racer {index}")
    values = take_rows(reader, RACER_FIELDS[1:], array_type, bool(human))
    custom = None
    if values.pop("custom_flag", 0):
        custom = read_custom(reader.take_octets(CUSTOM_BYTES, f"the custom machine of racer {index}"))
    absent = {"ai": None, "slider": None}
    return Racer(human=human, custom=custom, **(absent | values))  # type: ignore[arg-type]


def _take_checkpoint(reader: BitReader, index: int) -> Checkpoint:
    reader.need(CHECKPOINT_BITS, f"checkpoint {index}")
    values = take_rows(reader, CHECKPOINT_FIELDS, USUAL_TYPE)
    x = reader.take_each(32, _COORDINATES)
    places = ((x[0], x[1], x[2]), (x[3], x[4], x[5]), (x[6], x[7], x[8]), (x[9], x[10], x[11]))
    return Checkpoint(places=places, **values)


def _as_run(element: int) -> InputRun:
    """Decode an input element of 54 bits."""
    # The shifts follow from the widths in INPUT_FIELDS. There is no loop over the rows, because the longest file has
    # 16,384 elements.
    strafe, x, y = element >> 38 & 0xFF, element >> 8 & 0xFF, element & 0xFF
    return InputRun(
        element >> 46,
        strafe - (strafe >> 7 << 8),
        element >> 31 & 0x7F,
        element >> 24 & 0x7F,
        (element >> 16 & 0xFF) + 1,
        x - (x >> 7 << 8),
        y - (y >> 7 << 8),
    )
