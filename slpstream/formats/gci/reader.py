"""The bytes of a replay to its events: Game Start with all that precedes the race, the frames, checkpoints and laps
where they fall, Game End.

Frame numbers are native numbers less 182, so that 0 is GO. The inputs are those of the human; the other racers are not
recorded. Nothing says that the race was finished: the game saves replays of finished races, so we assume it and say so
(`basis`). A body that is damaged gives what precedes the damage, and a diagnostic; the start and the end always come.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, ClassVar

from slpstream.formats.gci.body import (
    CHECKPOINT_BITS,
    FRAMES_PER_SECOND,
    GO_FRAME,
    INPUT_BITS,
    LAST_INPUT,
    TIME_ATTACK,
    USUAL_TYPE,
    Body,
    Checkpoint,
    Reading,
    read_body,
)
from slpstream.formats.gci.container import (
    BLOCK_COUNT_AT,
    BODY_AT,
    CHECKSUM_AT,
    MAX_BYTES,
    Container,
    length_of,
    read_container,
)
from slpstream.formats.gci.frames import RunFrames, in_range
from slpstream.formats.gci.settings import Replay, finite_or_none, settings_of
from slpstream.formats.whole_file import Recording, WholeFileReader
from slpstream.model.errors import FieldError
from slpstream.model.events import Diagnostic, Event, Frame, FrameFinalized, GameEnd, GameEvent, GameStart, Severity

FORMAT = "gci"
RATE = (FRAMES_PER_SECOND, 1)

MAX_FRAMES = 100_000
"""About 28 minutes. The runs of a small file can ask for four million frames."""

LAP_TOLERANCE_FRAMES = 2
"""How far the last checkpoint may be from the finish for the checkpoints to be laps."""


class ChecksumError(FieldError):
    """The checksum is not that of the bytes."""

    code = "checksum"


class GciRecording(Recording):
    """One replay. `replay` has all its values, also those that no message has."""

    def __init__(self, data: bytes, container: Container, reading: Reading) -> None:
        self.replay = Replay(
            entry=container.entry,
            banner=container.banner,
            icon=container.icon,
            body=reading.body,
            length_bytes=len(data),
        )
        self._reading = reading
        body = reading.body
        self._runs = RunFrames(body.inputs, body.humans[0] if body.humans else 0)
        race_frames = self._native_frames()
        self._frame_count = min(race_frames, MAX_FRAMES) if body.inputs else 0
        self._start_offset = _offset_past(reading.inputs_bit + (LAST_INPUT.bits if body.inputs else 0), len(data))
        falling = _events_by_frame(body)
        self._falling = {native: items for native, items in falling.items() if native < self._frame_count}
        late = [item for native, items in sorted(falling.items()) if native >= self._frame_count for item in items]
        start = GameStart(
            self._start_offset,
            FORMAT,
            hashlib.sha256(data[BODY_AT:]).hexdigest()[:32],
            settings_of(self.replay),
            RATE,
        )
        odd = (*_oddities_of_container(data, container), *_oddities_of_body(reading, self._runs.frames))
        self.head = [start, *(Diagnostic(self._start_offset, *oddity) for oddity in odd)]
        self.tail = [*_game_events(len(data), late), self._game_end(len(data), race_frames)]

    @property
    def frame_count(self) -> int:
        """As many as the race has, at most 100,000."""
        return self._frame_count

    def frame_events(self, first: int, stop: int) -> list[Event]:
        """The events of the frames with native number `first` to `stop - 1`."""
        made: list[Event] = []
        if first >= stop:
            return made
        first_run_bit = self._reading.inputs_bit + LAST_INPUT.bits
        falling = self._falling
        for run, entry in self._runs.between(first, stop):
            end_offset = BODY_AT + (first_run_bit + INPUT_BITS * (run + 1) + 7) // 8
            number = entry.frame
            made.append(Frame(end_offset, number, 0, entry))
            made.append(FrameFinalized(end_offset, number))
            if entry.native_frame in falling:
                made += _game_events(end_offset, falling[entry.native_frame])
        return made

    def _native_frames(self) -> int:
        total_frames = self._reading.body.total_frames
        return self._runs.frames if total_frames is None else total_frames

    def _game_end(self, end_offset: int, native_frames: int) -> GameEnd:
        race_frames = native_frames - GO_FRAME
        raced = race_frames >= 0
        finished = raced and self._reading.damage is None
        return GameEnd(
            end_offset,
            "file_end",
            last_frame=self._frame_count - 1 - GO_FRAME if self._frame_count else None,
            duration_seconds=race_frames / FRAMES_PER_SECOND if raced else None,
            values={
                "finished": "assumed" if finished else "unknown",
                **({"raceFrames": race_frames, "basis": "estimated"} if raced else {}),
            },
        )


class GciReader(WholeFileReader):
    """Reads one replay. `strict` refuses a wrong checksum and a body that ends early, which otherwise are warnings;
    `name` and `personal` are what all formats of this kind are given, and nothing here depends on them."""

    format: ClassVar[str] = FORMAT
    max_bytes: ClassVar[int] = MAX_BYTES

    def __init__(self, *, strict: bool = False, name: str = "", personal: bool = False) -> None:
        super().__init__()
        self.strict = strict
        self.name = name
        self.personal = personal

    def read(self, data: bytes) -> GciRecording:
        """A complete file. Raises `WrongFormat`, `Unsupported` for other kinds of F-Zero GX files, and further
        `FormatError`s for a file that is too short or too long."""
        container = read_container(data)
        reading = read_body(container.body, file_offset=BODY_AT)
        if self.strict:
            _refuse_damage(container, reading)
        return GciRecording(data, container, reading)


def lap_frames(body: Body) -> list[tuple[int, int]]:
    """The native frames at which each lap begins and ends, where that can be concluded; else nothing.

    In Time Attack the checkpoints are the start and the end of each lap. That was seen in a real replay, so it is
    believed only where everything fits: as many checkpoints, rising, the last one at the finish.
    """
    at = [checkpoint.frame1 for checkpoint in body.checkpoints]
    laps = list(pairwise(at))
    if body.mode != TIME_ATTACK or not laps or len(laps) != body.laps or body.total_frames is None:
        return []
    rising = all(begin < end for begin, end in laps)
    return laps if rising and abs(at[-1] - body.total_frames) <= LAP_TOLERANCE_FRAMES else []


_Falling = tuple[str, int, dict[str, Any]]
"""Kind, frame number, values."""


def _events_by_frame(body: Body) -> dict[int, list[_Falling]]:
    """Checkpoints and laps by native frame; a lap behind the checkpoint that ends it."""
    falling: defaultdict[int, list[_Falling]] = defaultdict(list)
    for index, checkpoint in enumerate(body.checkpoints):
        at = checkpoint.frame1
        falling[at].append(("checkpoint", at - GO_FRAME, _checkpoint_values(index, checkpoint)))
    for index, (begin, end) in enumerate(lap_frames(body)):
        values = {
            "index": index,
            "basis": "inferred",
            "frames": end - begin,
            "milliseconds": round((end - begin) * 1000 / FRAMES_PER_SECOND),
            "millisecondsBasis": "estimated",
        }
        falling[end].append(("lap", end - GO_FRAME, values))
    return falling


def _checkpoint_values(index: int, checkpoint: Checkpoint) -> dict[str, Any]:
    values: dict[str, Any] = {
        "index": index,
        "frame1": checkpoint.frame1,
        "frame2": checkpoint.frame2,
        "enabled": checkpoint.enabled,
        "positions": [[finite_or_none(value) for value in place] for place in checkpoint.positions],
        "unknown": checkpoint.unknown,
        "basis": "stored",
    }
    if not checkpoint.finite:
        values["rawPositions"] = [[f"{pattern:08x}" for pattern in place] for place in checkpoint.places]
    return values


def _game_events(end_offset: int, falling: Iterable[_Falling]) -> list[GameEvent]:
    return [GameEvent(end_offset, kind, frame, values) for kind, frame, values in falling]


def _offset_past(bit: int, length_bytes: int) -> int:
    return min(BODY_AT + (bit + 7) // 8, length_bytes)


def _refuse_damage(container: Container, reading: Reading) -> None:
    if container.entry.checksum != container.computed_checksum:
        raise ChecksumError(_checksum_message(container), offset=CHECKSUM_AT)
    if reading.damage is not None:
        raise reading.damage


def _checksum_message(container: Container) -> str:
    return (
        f"the checksum is {container.entry.checksum:04x}, of these bytes it would be {container.computed_checksum:04x}"
    )


Oddity = tuple[Severity, str, int, str]
"""Severity, code, file offset, message."""


def _oddities_of_container(data: bytes, container: Container) -> Iterator[Oddity]:
    expected = length_of(container.entry.block_count)
    if len(data) != expected:
        blocks = container.entry.block_count
        what = f"{blocks} blocks make a file of {expected} bytes; it has {len(data)}"
        yield "warning", "size_mismatch", BLOCK_COUNT_AT, what
    if container.entry.checksum != container.computed_checksum:
        yield "warning", "checksum", CHECKSUM_AT, _checksum_message(container)


def _oddities_of_body(reading: Reading, run_frames: int) -> Iterator[Oddity]:
    body, damage = reading.body, reading.damage
    if body.array_type != USUAL_TYPE:
        yield "warning", "racer_array_type", BODY_AT + 1, f"the racer array type is {body.array_type}, not {USUAL_TYPE}"
    yield from _oddities_of_racers(reading)
    for index, checkpoint in enumerate(body.checkpoints):
        if not checkpoint.finite:
            at = _byte_at(reading.checkpoints_bit + CHECKPOINT_BITS * index)
            yield "warning", "position", at, f"checkpoint {index} has a position that is no finite number"
            break
    if damage is not None:
        yield "warning", damage.code, damage.offset, damage.what
        if not body.inputs:
            return
    yield from _oddities_of_inputs(reading, run_frames)


def _oddities_of_racers(reading: Reading) -> Iterator[Oddity]:
    body = reading.body
    if len(body.humans) > 1:
        at = _byte_at(reading.racer_bits[body.humans[1]])
        yield "warning", "humans", at, f"{len(body.humans)} racers are human; the inputs are taken for the first one's"
    elif not body.humans and reading.damage is None:
        yield "warning", "humans", BODY_AT, "no racer is human; the inputs are given for racer index 0"
    for index, racer in enumerate(body.racers):
        strange = {} if racer.custom is None else racer.custom.strange_parts
        if strange:
            parts = ", ".join(f"{name} {part}" for name, part in strange.items())
            what = f"racer {index} has parts that the game does not have: {parts}"
            yield "warning", "part_id", _byte_at(reading.racer_bits[index]), what
            break


def _oddities_of_inputs(reading: Reading, run_frames: int) -> Iterator[Oddity]:
    body = reading.body
    at = _byte_at(reading.inputs_bit)
    native_frames = run_frames if body.total_frames is None else body.total_frames
    if body.total_frames is not None and native_frames < GO_FRAME:
        yield "warning", "total_frames", at, f"{native_frames} frames end before GO, which is after {GO_FRAME}"
    if native_frames > MAX_FRAMES:
        what = f"{native_frames} frames: only the first {MAX_FRAMES} are given"
        yield "warning", "clamped", at, what
    elif run_frames > native_frames:
        what = f"the inputs last {run_frames} frames; what is behind the {native_frames} of the race is left out"
        yield "info", "clamped", at, what
    elif run_frames < native_frames and reading.damage is None:
        what = f"the inputs last {run_frames} frames; the last one is held until frame {native_frames}"
        yield "info", "held", at, what
    strange = [index for index, run in enumerate(body.inputs) if not in_range(run)]
    if strange:
        at = _byte_at(reading.inputs_bit + LAST_INPUT.bits + INPUT_BITS * strange[0])
        what = f"{len(strange)} of {len(body.inputs)} runs have values that the game does not make"
        yield "warning", "input_range", at, what
    if body.rest:
        yield "warning", "padding", _byte_at(reading.end_bit), "what is behind the inputs is not all zero"


def _byte_at(bit: int) -> int:
    return BODY_AT + bit // 8
