"""Inputs alone, packed: tracks with keyframes, the pads of Melee, and the lossy table of eight steps.

A track is how the article that the replay log follows stores inputs. No log has one: a log keeps the inputs of F-Zero
GX and Stunts in one block and those of Melee among the columns of its frames. Tracks are built from `put_runs` and
`take_runs`, the shipped coding of a pad, and so exercise it with many pads, runs and cuts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from slpstream.formats.slippi.commands import PRE_FRAME
from slpstream.formats.slippi.container import HEADER_BYTES, check_magic
from slpstream.formats.slippi.framing import read_event_payloads, width_of_event_payloads
from slpstream.formats.slplog.bits import BitPacker, BitUnpacker, MemoryStream
from slpstream.formats.slplog.pads import KEYFRAME_FRAMES, MAX_RUN_FRAMES, Axes, Held, Pad, held, put_runs, take_runs
from slpstream.formats.slplog.predict import STICK_GRID, TRIGGER_GRID
from slpstream.model.errors import FieldError

_MAX_SEGMENTS = 1 << 20
_MAX_RUN_SHIFT = 16


def pack_track(pad: Pad, runs: Sequence[Held], keyframe_frames: int = KEYFRAME_FRAMES) -> bytes:
    """Pack runs of inputs with a keyframe every `keyframe_frames`: an index of segments, then their bits.

    Each segment begins with the pad at rest, so any frame is reached by reading one segment.
    """
    stream = MemoryStream()
    stream.write_number(pad.buttons)
    stream.write_number(pad.run_shift)
    stream.write_number(len(pad.axes))
    for size in pad.axes:
        stream.write_number(size)
    stream.write_number(keyframe_frames)
    segments = list(_segments(runs, keyframe_frames))
    stream.write_number(len(segments))
    parts = []
    for segment in segments:
        packer = BitPacker()
        put_runs(packer, pad, segment)
        parts.append(packer.to_bytes())
        stream.write_number(len(segment))
        stream.write_number(len(parts[-1]))
    return stream.to_bytes() + b"".join(parts)


def _segments(runs: Iterable[Held], frames: int) -> Iterator[list[Held]]:
    """Cut runs into segments of `frames` frames; a run that crosses a cut is in both."""
    segment: list[Held] = []
    room = frames
    for run in runs:
        left = run.frames
        while left:
            taken = min(left, room)
            segment.append(run._replace(frames=taken))
            left, room = left - taken, room - taken
            if not room:
                yield segment
                segment, room = [], frames
    if segment:
        yield segment


class Track:
    """A packed track, readable at any frame. Raises `FieldError` for bytes that are not a track."""

    def __init__(self, data: bytes) -> None:
        stream = MemoryStream(data)
        buttons, run_shift = stream.read_number(64), stream.read_number(_MAX_RUN_SHIFT)
        axes = stream.read_number(64)
        self.pad = Pad(buttons, tuple(stream.read_number(1 << 40) for _ in range(axes)), run_shift)
        self.keyframe_frames = stream.read_number(MAX_RUN_FRAMES)
        if not self.keyframe_frames or not all(self.pad.axes):
            raise FieldError("a track without an interval or with an empty axis", offset=stream.at)
        at = 0
        self._segments: list[tuple[int, int, int]] = []
        for _ in range(stream.read_number(_MAX_SEGMENTS)):
            runs, size = stream.read_number(len(data) * 8), stream.read_number(len(data))
            self._segments.append((runs, at, size))
            at += size
        self._data = data[stream.at :]
        if len(self._data) != at:
            raise FieldError(f"{at} bytes of segments are announced, {len(self._data)} are there", offset=stream.at)

    @property
    def segments(self) -> int:
        """Number of segments."""
        return len(self._segments)

    def runs(self, segment: int) -> list[Held]:
        """The runs of a segment."""
        count, at, size = self._segments[segment]
        return list(take_runs(BitUnpacker(self._data[at : at + size], offset=at), self.pad, count))

    def at(self, frame: int) -> tuple[int, Axes]:
        """Buttons and axes of a frame, counted from 0. Reads one segment. Raises `IndexError` for other frames."""
        if frame < 0:
            raise IndexError(frame)
        left = frame % self.keyframe_frames
        for run in self.runs(frame // self.keyframe_frames):
            if left < run.frames:
                return run.buttons, run.axes
            left -= run.frames
        raise IndexError(frame)


_WRAP = 1 << 33
_ESCAPED_FROM = 256
_MIN_STEP = -128
_AXES = (
    ("joystick_x", STICK_GRID),
    ("joystick_y", STICK_GRID),
    ("c_stick_x", STICK_GRID),
    ("c_stick_y", STICK_GRID),
    ("physical_l_trigger", TRIGGER_GRID),
    ("physical_r_trigger", TRIGGER_GRID),
)
MELEE_PAD = Pad(16, (_WRAP,) * len(_AXES))
"""Axes: joystick x, y; C-stick x, y; left and right trigger."""


def melee_pads(data: bytes) -> Mapping[int, list[Held]]:
    """The inputs of a whole Slippi replay as runs, by player index, from the first frame on. Followers have none.

    Buttons are the physical ones, sticks the processed ones (what the game plays with), triggers the physical ones. A
    value is a step of the controller's grid; a value off the grid is stored with all its bits. If a frame is sent again
    after a rollback, its last sending counts.

    Raises `FormatError` for a file that does not begin like a replay; a truncated replay gives the frames it has.
    """
    check_magic(data)
    width = width_of_event_payloads(data, HEADER_BYTES, HEADER_BYTES)
    past = HEADER_BYTES + (width or len(data))
    widths = read_event_payloads(data[HEADER_BYTES:past]).widths
    layout = PRE_FRAME.layout(max(0, widths[PRE_FRAME.command] - 1))
    at_of = {field.name: field.offset for field in layout.fields}
    if not {"physical_buttons", *(name for name, _ in _AXES)} <= at_of.keys():
        return {}
    places = [(at_of[name], grid.step_of) for name, grid in _AXES]
    buttons_at = at_of["physical_buttons"]
    found: dict[int, dict[int, tuple[int, Axes]]] = {}
    at, size = past, len(data)
    while at < size:
        command = data[at]
        step = widths[command]
        if not step or at + step > size:
            break
        if command == PRE_FRAME.command and not data[at + 6]:
            frame = int.from_bytes(data[at + 1 : at + 5], "big", signed=True)
            axes = []
            for offset, steps in places:
                pattern = int.from_bytes(data[at + offset : at + offset + 4], "big")
                axes.append(_axis(pattern, steps.get(pattern)))
            buttons = int.from_bytes(data[at + buttons_at : at + buttons_at + 2], "big")
            found.setdefault(data[at + 5], {})[frame] = buttons, tuple(axes)
        at += step
    return {player: list(held(states[frame] for frame in sorted(states))) for player, states in found.items()}


def _axis(pattern: int, step: int | None) -> int:
    return _ESCAPED_FROM + pattern if step is None else step % _WRAP


def axis_pattern(axis: int, value: int) -> int:
    """The 32-bit pattern of the float that the value of an axis (0 to 5) stands for: the inverse of `melee_pads`."""
    if _ESCAPED_FROM <= value < _WRAP + _MIN_STEP:
        return value - _ESCAPED_FROM
    return _AXES[axis][1].patterns[value & 0xFF]


EIGHT_STEPS = (-128, -48, -12, -4, 4, 12, 48, 128)
"""The changes that an axis of 0 to 255 can make in the article's lossy coding, 3 bits each."""
_MIN_CHANGE = 4


def quantise_step(old: int, new: int) -> tuple[int | None, int]:
    """The index of the step nearest to a new axis value (0 to 255), and the value after that step.

    The index is `None`, and the value unchanged, when the change is smaller than any step.
    """
    delta = new - old
    if abs(delta) < _MIN_CHANGE:
        return None, old
    index = min(range(len(EIGHT_STEPS)), key=lambda i: (abs(EIGHT_STEPS[i] - delta), i))
    return index, apply_step(old, index)


def apply_step(old: int, index: int) -> int:
    """The axis value after a step, clamped to 0 to 255."""
    return min(255, max(0, old + EIGHT_STEPS[index]))
