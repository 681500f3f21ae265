"""The reader of F-Zero GX replays. It turns a whole file into Game Start, frames, checkpoints and laps, and Game End.

To get our frame numbers, we subtract 182 from the native ones, so that 0 is GO. The inputs are those of the human
player, because those of the other racers aren't recorded. The file doesn't tell us whether the race was finished, but
since the game only saves replays of finished races, `finished` is `assumed`. If the body is damaged, you get all events
before the damage and a diagnostic. You always get Game Start and Game End.
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
from slpstream.formats.text import BAD_TEXT
from slpstream.formats.whole_file import Recording, WholeFileReader
from slpstream.model.errors import FieldError
from slpstream.model.events import Diagnostic, Event, Frame, FrameFinalized, GameEnd, GameEvent, GameStart, Severity

FORMAT = "gci"
RATE = (FRAMES_PER_SECOND, 1)

MAX_FRAMES = 100_000
"""About 28 minutes. The runs of even a small file can add up to four million frames."""

LAP_TOLERANCE_FRAMES = 2
"""Maximum distance of the last checkpoint from the finish if checkpoints are laps."""


class ChecksumError(FieldError):
    """Raised if the checksum that is stored in the file is wrong."""

    code = "checksum"


class GciRecording(Recording):
    """One replay, which was read from a complete file.

    In `replay`, you find all its values, even those that aren't in any message.
    """

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
        by_frame = _events_by_frame(body)
        self._events_by_frame = {native: items for native, items in by_frame.items() if native < self._frame_count}
        late = [item for native, items in sorted(by_frame.items()) if native >= self._frame_count for item in items]
        start = GameStart(
            self._start_offset,
            FORMAT,
            hashlib.sha256(data[BODY_AT:]).hexdigest()[:32],
            settings_of(self.replay),
            RATE,
        )
        findings = (*_check_container(data, container), *_check_body(reading, self._runs.frames))
        self.head = [start, *(Diagnostic(self._start_offset, *finding) for finding in findings)]
        self.tail = [*_game_events(len(data), late), self._game_end(len(data), race_frames)]

    @property
    def frame_count(self) -> int:
        """How many frames the race has, but at most `MAX_FRAMES`."""
        return self._frame_count

    def frame_events(self, first: int, stop: int) -> list[Event]:
        """Return the events of the native frames from `first` to `stop - 1`."""
        made: list[Event] = []
        if first >= stop:
            return made
        first_run_bit = self._reading.inputs_bit + LAST_INPUT.bits
        by_frame = self._events_by_frame
        for run, entry in self._runs.between(first, stop):
            end_offset = BODY_AT + (first_run_bit + INPUT_BITS * (run + 1) + 7) // 8
            number = entry.frame
            frame = Frame(end_offset, number, 0, entry)
            made += frame, FrameFinalized(end_offset, number, [frame])
            if entry.native_frame in by_frame:
                made += _game_events(end_offset, by_frame[entry.native_frame])
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
    """Reads one replay.

    If you set `strict`, a wrong checksum and a body that ends early are errors. Otherwise, you only get warnings about
    them. All whole-file formats have the parameters `name` and `personal`, but this one ignores them.
    """

    format: ClassVar[str] = FORMAT
    max_bytes: ClassVar[int] = MAX_BYTES

    def __init__(self, *, strict: bool = False, name: str = "", personal: bool = False) -> None:
        super().__init__()
        self.strict = strict
        self.name = name
        self.personal = personal

    def read(self, data: bytes) -> GciRecording:
        """Read a complete file.

        Raises `WrongFormat` if the file belongs to another game, and `Unsupported` if it is another kind of F-Zero GX
        file. If it is too short or too long, or, with `strict`, if it is damaged, you get another `FormatError`.
        """
        container = read_container(data)
        reading = read_body(container.body, file_offset=BODY_AT)
        if self.strict:
            _reject_damage(container, reading)
        return GciRecording(data, container, reading)


def lap_frames(body: Body) -> list[tuple[int, int]]:
    """Return the native frames at which each lap begins and ends. If it isn't possible to tell, the list is empty.

    In Time Attack, the checkpoints are where each lap starts and ends. We have only observed this in one real replay,
    so we don't assume it unless everything fits: how many checkpoints there are, their order, and that the last one is
    at the finish.
    """
    frames = [checkpoint.frame1 for checkpoint in body.checkpoints]
    laps = list(pairwise(frames))
    if body.mode != TIME_ATTACK or not laps or len(laps) != body.laps or body.total_frames is None:
        return []
    ascending = all(begin < end for begin, end in laps)
    return laps if ascending and abs(frames[-1] - body.total_frames) <= LAP_TOLERANCE_FRAMES else []


_EventValues = tuple[str, int, dict[str, Any]]
"""Kind, frame number and values of a game event."""


def _events_by_frame(body: Body) -> dict[int, list[_EventValues]]:
    """Return checkpoints and laps by native frame. Each lap comes after the checkpoint that ends it."""
    by_frame: defaultdict[int, list[_EventValues]] = defaultdict(list)
    for index, checkpoint in enumerate(body.checkpoints):
        native = checkpoint.frame1
        by_frame[native].append(("checkpoint", native - GO_FRAME, _checkpoint_values(index, checkpoint)))
    for index, (begin, end) in enumerate(lap_frames(body)):
        values = {
            "index": index,
            "basis": "inferred",
            "frames": end - begin,
            "milliseconds": round((end - begin) * 1000 / FRAMES_PER_SECOND),
            "millisecondsBasis": "estimated",
        }
        by_frame[end].append(("lap", end - GO_FRAME, values))
    return by_frame


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


def _game_events(end_offset: int, items: Iterable[_EventValues]) -> list[GameEvent]:
    return [GameEvent(end_offset, kind, frame, values) for kind, frame, values in items]


def _offset_past(bit: int, length_bytes: int) -> int:
    return min(BODY_AT + (bit + 7) // 8, length_bytes)


def _reject_damage(container: Container, reading: Reading) -> None:
    if container.entry.checksum != container.computed_checksum:
        raise ChecksumError(_checksum_message(container), offset=CHECKSUM_AT)
    if reading.damage is not None:
        raise reading.damage


def _checksum_message(container: Container) -> str:
    return (
        f"the checksum is {container.entry.checksum:04x}, of these bytes it would be {container.computed_checksum:04x}"
    )


_Finding = tuple[Severity, str, int, str]
"""Severity, code, file offset and message of a diagnostic."""


def _check_container(data: bytes, container: Container) -> Iterator[_Finding]:
    for name, offset in container.entry.bad_texts():
        yield "warning", BAD_TEXT, offset, f"{name} has bytes that are no text"
    expected = length_of(container.entry.block_count)
    if len(data) != expected:
        blocks = container.entry.block_count
        message = f"{blocks} blocks make a file of {expected} bytes; it has {len(data)}"
        yield "warning", "size_mismatch", BLOCK_COUNT_AT, message
    if container.entry.checksum != container.computed_checksum:
        yield "warning", "checksum", CHECKSUM_AT, _checksum_message(container)


def _check_body(reading: Reading, run_frames: int) -> Iterator[_Finding]:
    body, damage = reading.body, reading.damage
    if body.array_type != USUAL_TYPE:
        yield "warning", "racer_array_type", BODY_AT + 1, f"the racer array type is {body.array_type}, not {USUAL_TYPE}"
    yield from _check_racers(reading)
    for index, checkpoint in enumerate(body.checkpoints):
        if not checkpoint.finite:
            offset = _file_offset(reading.checkpoints_bit + CHECKPOINT_BITS * index)
            yield "warning", "position", offset, f"checkpoint {index} has a position that is no finite number"
            break
    if damage is not None:
        yield "warning", damage.code, damage.offset, damage.what
        if not body.inputs:
            return
    yield from _check_inputs(reading, run_frames)


def _check_racers(reading: Reading) -> Iterator[_Finding]:
    body = reading.body
    if len(body.humans) > 1:
        message = f"{len(body.humans)} racers are human; the inputs are taken for the first one's"
        yield "warning", "humans", _file_offset(reading.racer_bits[body.humans[1]]), message
    elif not body.humans and reading.damage is None:
        yield "warning", "humans", BODY_AT, "no racer is human; the inputs are given for racer index 0"
    for index, racer in enumerate(body.racers):
        invalid = {} if racer.custom is None else racer.custom.invalid_parts
        if invalid:
            parts = ", ".join(f"{name} {part}" for name, part in invalid.items())
            message = f"racer {index} has parts that the game does not have: {parts}"
            yield "warning", "part_id", _file_offset(reading.racer_bits[index]), message
            break


def _check_inputs(reading: Reading, run_frames: int) -> Iterator[_Finding]:
    body = reading.body
    offset = _file_offset(reading.inputs_bit)
    native_frames = run_frames if body.total_frames is None else body.total_frames
    if body.total_frames is not None and native_frames < GO_FRAME:
        yield "warning", "total_frames", offset, f"{native_frames} frames end before GO, which is after {GO_FRAME}"
    if native_frames > MAX_FRAMES:
        message = f"{native_frames} frames: only the first {MAX_FRAMES} are given"
        yield "warning", "clamped", offset, message
    elif run_frames > native_frames:
        message = f"the inputs last {run_frames} frames; what is behind the {native_frames} of the race is left out"
        yield "info", "clamped", offset, message
    elif run_frames < native_frames and reading.damage is None:
        message = f"the inputs last {run_frames} frames; the last one is held until frame {native_frames}"
        yield "info", "held", offset, message
    out_of_range = [index for index, run in enumerate(body.inputs) if not in_range(run)]
    if out_of_range:
        first_bit = reading.inputs_bit + LAST_INPUT.bits + INPUT_BITS * out_of_range[0]
        message = f"{len(out_of_range)} of {len(body.inputs)} runs have values that the game does not make"
        yield "warning", "input_range", _file_offset(first_bit), message
    if body.rest:
        yield "warning", "padding", _file_offset(reading.end_bit), "what is behind the inputs is not all zero"


def _file_offset(bit: int) -> int:
    """Return the offset of the byte to which a bit of the body belongs."""
    return BODY_AT + bit // 8
