"""The reader of a Stunts replay: a whole file to Game Start, one frame a tic, Game End.

A frame is a tic and tic 0 is GO. The format has no positions, laps or times: those come out of the game's physics,
which are not the same in every version. So Game End says how long the replay is, and whether its last second looks like
that of a finished race.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any, ClassVar

import msgspec

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
from slpstream.formats.stunts.names import CARS, HORIZONS, OPPONENTS
from slpstream.formats.stunts.sniff import has_suffix
from slpstream.formats.stunts.track import TRACK_BYTES
from slpstream.formats.whole_file import Recording, WholeFileReader
from slpstream.model.errors import FormatError, FramingError, WrongFormat
from slpstream.model.events import Diagnostic, Event, Frame, FrameFinalized, GameEnd, GameStart


class CarSettings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A car: its four-character id and, for stock cars, its name; `color` is the number of the paint job;
    `transmission` is `manual` or `automatic`."""

    car: str
    color: int
    transmission: str
    car_name: str | None = None


class OpponentSettings(CarSettings, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The opponent that the computer drives: 1 to 6 have names. What it did is not in the file."""

    id: int
    name: str | None = None


class TrackSettings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The track: its name, the SHA-256 of its 1,802 bytes in hex, the horizon's number and name."""

    name: str
    sha256: str
    horizon: int
    horizon_name: str | None = None


class StuntsSettings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The settings of a replay; `opponent` is absent when the player drove alone."""

    layout: str
    ticks: int
    frequency_hz: int
    player: CarSettings
    track: TrackSettings
    opponent: OpponentSettings | None = None


class StuntsRecording(Recording):
    """One replay, read. `replay` is what the writer takes."""

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
        self.head = [start, *_oddities(replay, layout, both_fit)]
        self.tail = [_game_end(replay, len(data))]

    @property
    def frame_count(self) -> int:
        """How many tics."""
        return len(self.replay.inputs)

    def frame_events(self, first: int, stop: int) -> list[Event]:
        """`Frame` and `FrameFinalized` of each tic."""
        manual, offset = self.replay.manual, self._inputs_offset + 1
        events: list[Event] = []
        for number, byte in enumerate(self.replay.inputs.expand(first, stop), first):
            entry = StuntsFrame(number, number, 0, players_of(byte, manual))
            events.append(Frame(offset + number, number, 0, entry))
            events.append(FrameFinalized(offset + number, number))
        return events


class StuntsReader(WholeFileReader):
    """Reads one replay. `name` is the file's name: with `.rpl` a wrong length is damage, without it another format.

    `strict` changes nothing, as there is no checksum; neither does `personal`, as there are no people in it.
    """

    format: ClassVar[str] = "stunts"
    max_bytes: ClassVar[int] = MAX_BYTES

    def __init__(self, *, strict: bool = False, name: str = "", personal: bool = False) -> None:
        super().__init__()
        self.strict = strict
        self.name = name
        self.personal = personal

    def read(self, data: bytes) -> StuntsRecording:
        """A complete file.

        Raises `WrongFormat` when neither the name nor the bytes say that it is a replay, `FramingError` when the name
        does and the length is wrong.
        """
        layouts = fitting(data, len(data))
        named = has_suffix(self.name)
        if not layouts:
            raise _wrong_length(data, named)
        if not named and not plausible(data, layouts[0]):
            raise WrongFormat("the length is that of a Stunts replay, but not the header and the terrain", offset=0)
        return StuntsRecording(data, layouts[0], len(layouts) > 1)


def settings_of(replay: StuntsReplay) -> StuntsSettings:
    """The settings as they are on the wire."""
    opponent = None
    if replay.opponent_id:
        car = text(replay.opponent_car)
        opponent = OpponentSettings(
            car=car,
            color=replay.opponent_color,
            transmission=_transmission(replay.opponent_transmission),
            car_name=CARS.get(car),
            id=replay.opponent_id,
            name=OPPONENTS.get(replay.opponent_id),
        )
    car, track = text(replay.car), replay.track
    return StuntsSettings(
        layout=replay.layout,
        ticks=len(replay.inputs),
        frequency_hz=replay.frequency_hz,
        player=CarSettings(car, replay.color, _transmission(replay.transmission), CARS.get(car)),
        track=TrackSettings(text(replay.track_name), track.sha256, track.horizon, HORIZONS.get(track.horizon)),
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


def _oddities(replay: StuntsReplay, layout: Layout, both_fit: bool) -> list[Diagnostic]:
    """What is odd about a replay that can be read."""
    ticks, frequency_hz = len(replay.inputs), replay.frequency_hz
    odd: list[tuple[str, str, str]] = []
    if both_fit:
        odd.append(("layout_ambiguous", "ticks", "the length fits the old layout as well; the new one is taken"))
    if frequency_hz not in USUAL_FREQUENCIES_HZ:
        odd.append(("frequency", "frequency_hz", f"{frequency_hz} tics a second; the game writes 20 or 10"))
    if ticks > BUFFER_TICKS:
        odd.append(("over_buffer", "ticks", f"{ticks} tics; the game's own buffer ends at {BUFFER_TICKS}"))
    if replay.transmission > 1:
        odd.append(("transmission", "transmission", f"transmission {replay.transmission}; the game writes 0 or 1"))
    if not all(0x20 <= byte <= 0x7E for byte in replay.car):
        odd.append(("car_id", "car", f"car id {replay.car.hex(' ')} is not printable"))
    return [
        Diagnostic(layout.inputs_offset, "warning", code, layout.offset_of(field), message)
        for code, field, message in odd
    ]


def _wrong_length(data: bytes, named: bool) -> FormatError:
    """Why no layout fits, as well as it can be said; the offset is where the file should have ended, or does end."""
    what, offset = _what_is_wrong(data)
    if named:
        return FramingError(what, offset=offset)
    return WrongFormat(f"not a Stunts replay: {what}", offset=0)


def _what_is_wrong(data: bytes) -> tuple[str, int]:
    size = len(data)
    if size == TRACK_BYTES:
        return f"{size} bytes are a plain Stunts track, not a replay", 0
    if size < MIN_BYTES:
        return f"{size} bytes: header or track are cut off, which take {MIN_BYTES} at least", size
    frequency_hz, ticks = struct.unpack_from("<HH", data, NEW.offset_of("frequency_hz"))
    if frequency_hz in USUAL_FREQUENCIES_HZ:
        if NEW.header_bytes + ticks == size:
            return f"{size} bytes are a header and {ticks} tics: the track between them is missing", NEW.header_bytes
        wanted = NEW.inputs_offset + ticks
        return f"{size} bytes: with {ticks} tics there should be {wanted}", min(size, wanted)
    return f"{size} bytes: neither layout has that length with the tics it declares", size
