"""The reader of Stunts replays. It turns a whole file into Game Start, one frame for each tic, and Game End.

A frame is a tic, and tic 0 is GO. There are no positions, laps or times in the format. The game computes them with its
physics, and these are different in each version. So all we know at Game End is how long the replay is, and whether its
last second looks as if the race was finished.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any, ClassVar

import msgspec

from slpstream.formats.stunts import names
from slpstream.formats.stunts.inputs import StuntsFrame, likely_finished, players_of
from slpstream.formats.stunts.layout import (
    BUFFER_TICKS,
    MAX_BYTES,
    MIN_BYTES,
    NEW,
    USUAL_FREQUENCIES_HZ,
    Layout,
    StuntsReplay,
    fitting,
    plausible,
    text,
    unpack,
)
from slpstream.formats.stunts.sniff import has_suffix
from slpstream.formats.stunts.track import TRACK_BYTES
from slpstream.formats.whole_file import Recording, WholeFileReader
from slpstream.model.errors import FormatError, FramingError, WrongFormat
from slpstream.model.events import Diagnostic, Event, Frame, FrameFinalized, GameEnd, GameStart


class CarSettings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A car.

    `car` is its four-character id, and `car_name` its name, which only stock cars have. `color` is the number of the
    paint job. `transmission` is `manual` or `automatic`.
    """

    car: str
    color: int
    transmission: str
    car_name: str | None = None


class OpponentSettings(CarSettings, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The opponent, driven by the computer. Opponents 1 to 6 have names. The file does not have its inputs."""

    id: int
    name: str | None = None


class TrackSettings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The track: its name, the SHA-256 of its 1,802 bytes in hex, and the number and name of its horizon."""

    name: str
    sha256: str
    horizon: int
    horizon_name: str | None = None


class StuntsSettings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The settings of a replay. `opponent` is absent when the player drove alone."""

    layout: str
    ticks: int
    frequency_hz: int
    player: CarSettings
    track: TrackSettings
    opponent: OpponentSettings | None = None


class StuntsRecording(Recording):
    """One replay, which was read from a complete file. You find all its values in `replay`."""

    def __init__(self, data: bytes, layout: Layout, both_fit: bool) -> None:
        self.replay = replay = unpack(data, layout)
        self._inputs_offset = layout.inputs_offset
        start = GameStart(
            layout.inputs_offset,
            "stunts",
            hashlib.sha256(data).hexdigest()[:32],
            settings_of(replay),
            (replay.frequency_hz, 1),
        )
        self.head = [start, *_diagnostics(replay, layout, both_fit)]
        self.tail = [_game_end(replay, len(data))]

    @property
    def frame_count(self) -> int:
        """The number of tics."""
        return len(self.replay.inputs)

    def frame_events(self, first: int, stop: int) -> list[Event]:
        """Return a `Frame` and a `FrameFinalized` for each of the tics from `first` to `stop - 1`."""
        manual, offset = self.replay.manual, self._inputs_offset + 1
        events: list[Event] = []
        for number, byte in enumerate(self.replay.inputs.expand(first, stop), first):
            entry = StuntsFrame(number, number, 0, players_of(byte, manual))
            frame = Frame(offset + number, number, 0, entry)
            events += frame, FrameFinalized(offset + number, number, [frame])
        return events


class StuntsReader(WholeFileReader):
    """Reads one replay.

    `name` is the name of the file. If the length is wrong, we use it to decide whether this is a damaged replay
    (because the name ends with `.rpl`) or something completely different. `strict` doesn't have any effect, because
    there's no checksum, and neither does `personal`, because there's no personal data.
    """

    format: ClassVar[str] = "stunts"
    max_bytes: ClassVar[int] = MAX_BYTES

    def __init__(self, *, strict: bool = False, name: str = "", personal: bool = False) -> None:
        super().__init__()
        self.strict = strict
        self.name = name
        self.personal = personal

    def read(self, data: bytes) -> StuntsRecording:
        """Read a complete file.

        Raises `FramingError` if the name is that of a replay but the length is wrong, and `WrongFormat` if neither the
        name nor the bytes are those of a replay.
        """
        layouts = fitting(data, len(data))
        suffix_fits = has_suffix(self.name)
        if not layouts:
            raise _wrong_length(data, suffix_fits)
        if not suffix_fits and not plausible(data, layouts[0]):
            raise WrongFormat("the length is that of a Stunts replay, but not the header and the terrain", offset=0)
        return StuntsRecording(data, layouts[0], len(layouts) > 1)


def settings_of(replay: StuntsReplay) -> StuntsSettings:
    """Return the settings of a replay for Game Start."""
    opponent = None
    if replay.opponent_id:
        car = text(replay.opponent_car)
        opponent = OpponentSettings(
            car=car,
            color=replay.opponent_color,
            transmission=_transmission(replay.opponent_transmission),
            car_name=names.cars().get(car),
            id=replay.opponent_id,
            name=names.opponents().get(replay.opponent_id),
        )
    car, track = text(replay.car), replay.track
    return StuntsSettings(
        layout=replay.layout,
        ticks=len(replay.inputs),
        frequency_hz=replay.frequency_hz,
        player=CarSettings(car, replay.color, _transmission(replay.transmission), names.cars().get(car)),
        track=TrackSettings(text(replay.track_name), track.sha256, track.horizon, names.horizons().get(track.horizon)),
        opponent=opponent,
    )


def _transmission(value: int) -> str:
    return "automatic" if value else "manual"


def _game_end(replay: StuntsReplay, size_bytes: int) -> GameEnd:
    ticks, frequency_hz = len(replay.inputs), replay.frequency_hz
    finished = likely_finished(replay.inputs, frequency_hz)
    values: dict[str, Any] = {"finished": "likely" if finished else "unknown", "basis": "inferred"}
    if finished:
        values["raceSeconds"] = (ticks - frequency_hz) / frequency_hz
    return GameEnd(
        size_bytes,
        "file_end",
        last_frame=ticks - 1 if ticks else None,
        duration_seconds=ticks / frequency_hz if frequency_hz else None,
        values=values,
    )


def _diagnostics(replay: StuntsReplay, layout: Layout, both_fit: bool) -> list[Diagnostic]:
    """Return warnings about unusual values."""
    ticks, frequency_hz = len(replay.inputs), replay.frequency_hz
    found: list[tuple[str, str, str]] = []
    if both_fit:
        found.append(("layout_ambiguous", "ticks", "the length fits the old layout as well; the new one is taken"))
    if frequency_hz not in USUAL_FREQUENCIES_HZ:
        found.append(("frequency", "frequency_hz", f"{frequency_hz} tics a second; the game writes 20 or 10"))
    if ticks > BUFFER_TICKS:
        found.append(("over_buffer", "ticks", f"{ticks} tics; the game's own buffer ends at {BUFFER_TICKS}"))
    if replay.transmission > 1:
        found.append(("transmission", "transmission", f"transmission {replay.transmission}; the game writes 0 or 1"))
    if not all(0x20 <= byte <= 0x7E for byte in replay.car):
        found.append(("car_id", "car", f"car id {replay.car.hex(' ')} is not printable"))
    return [
        Diagnostic(layout.inputs_offset, "warning", code, layout.offset_of(field), message)
        for code, field, message in found
    ]


def _wrong_length(data: bytes, suffix_fits: bool) -> FormatError:
    """Return the error to raise for a file that doesn't fit any layout.

    `suffix_fits` is whether it has the name of a replay.
    """
    problem, offset = _length_problem(data)
    if suffix_fits:
        return FramingError(problem, offset=offset)
    return WrongFormat(f"not a Stunts replay: {problem}", offset=0)


def _length_problem(data: bytes) -> tuple[str, int]:
    """Explain why no layout fits. You also get the offset where the file should have ended, or where it does end."""
    size = len(data)
    if size == TRACK_BYTES:
        return f"{size} bytes are a plain Stunts track, not a replay", 0
    if size < MIN_BYTES:
        return f"{size} bytes: header or track are cut off, which take {MIN_BYTES} at least", size
    frequency_hz, ticks = struct.unpack_from("<HH", data, NEW.offset_of("frequency_hz"))
    if frequency_hz in USUAL_FREQUENCIES_HZ:
        if NEW.header_bytes + ticks == size:
            return f"{size} bytes are a header and {ticks} tics: the track between them is missing", NEW.header_bytes
        expected = NEW.inputs_offset + ticks
        return f"{size} bytes: with {ticks} tics there should be {expected}", min(size, expected)
    return f"{size} bytes: neither layout has that length with the tics it declares", size
