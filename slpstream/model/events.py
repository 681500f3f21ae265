"""The events that the readers of all formats return.

Events are plain values. `end_offset` is the offset in the file just after the bytes that caused the event. We use it to
order the log, and it becomes part of the cursor. That's why it depends on nothing but the bytes of the file and never
decreases.

A `Frame` looks the same for every format, so if your code only uses `frame.players[i].inputs` and `.state`, it works
with all of them. If you need the other fields of the file too, you find them in the format's own `entry`, which is also
the value that messages contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

import msgspec

Severity = Literal["info", "warning", "error"]
Form = Literal["json", "msgpack"]
EndReason = Literal["game_end", "raw_length", "file_end", "incomplete", "error"]


class Inputs(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The inputs of one player in one frame.

    Axes range from -1 to 1, where right and up are positive, and triggers range from 0 to 1.
    """

    steer: float = 0.0
    pitch: float = 0.0
    strafe: float = 0.0
    throttle: float = 0.0
    brake: float = 0.0
    stick: tuple[float, float] = (0.0, 0.0)
    c_stick: tuple[float, float] = (0.0, 0.0)
    triggers: tuple[float, float] = (0.0, 0.0)
    buttons: frozenset[str] = frozenset()


class State(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The state of a player after a frame, in the game's own units. A value that the format doesn't store is `None`."""

    position: tuple[float, ...] | None = None
    facing: float | None = None
    damage: float | None = None
    lives: int | None = None


class PlayerFrame(Protocol):
    """One player's part of a frame. It has the same attributes no matter which format the frame comes from."""

    @property
    def inputs(self) -> Inputs | None:
        """The inputs of the player, or `None` if the frame doesn't contain them."""

    @property
    def state(self) -> State | None:
        """The state of the player, or `None` if the frame doesn't contain it."""


class FrameEntry(Protocol):
    """A frame in the format's own form. This is the value that `frame` messages contain."""

    @property
    def players(self) -> Mapping[int, Any]:
        """A mapping from player indices to the frames of these players."""


class Event(msgspec.Struct, gc=False):
    """The base class of all events."""

    end_offset: int


class GameStart(Event, gc=False):
    """A game has begun.

    `game_id` consists of 32 hex digits of a SHA-256. `rate` is the number of frames per second, given as a fraction.
    """

    format: str
    game_id: str
    settings: Any
    rate: tuple[int, int]


class PackedEntry(msgspec.Struct, gc=False):
    """A frame that is kept in the form of its bytes in the file, and only decoded or encoded when it is needed.

    `size_bytes` is approximately how many bytes the message would take as JSON.
    """

    size_bytes: int

    def entry(self) -> Any:
        """Decode the frame and return it."""
        raise NotImplementedError

    def form(self, form: Form, fields: tuple[str, ...] | None = None) -> bytes | None:
        """Return the end of a `frame` message, beginning with its key `frame`. If you pass `fields`, the frame is cut
        down to these.

        Returns `None` if this can't be done directly. In this case, you have to encode the result of `entry` yourself.
        """
        raise NotImplementedError


class Frame(Event, gc=False, eq=False):
    """A complete frame.

    `revision` is 0 when a frame number occurs for the first time, and grows by one each time a rollback sends it again.
    """

    number: int
    revision: int
    content: Any
    """The format's `FrameEntry`, or a `PackedEntry`, which logs keep as it is."""
    decoded: Any = None
    """The decoded packed entry. It is kept in the event and not in logs, because it takes ten times the memory."""

    @property
    def entry(self) -> Any:
        """The frame in the format's own form, which is a `FrameEntry`."""
        content = self.content
        if not isinstance(content, PackedEntry):
            return content
        if self.decoded is None:
            self.decoded = content.entry()
        return self.decoded

    def __eq__(self, other: object) -> bool:
        """Whether both are the same frame. It doesn't matter whether they are packed."""
        if not isinstance(other, Frame):
            return NotImplemented
        mine, others = ((f.end_offset, f.number, f.revision, f.entry) for f in (self, other))
        return mine == others

    __hash__ = None  # type: ignore[assignment]  # frames can change: a packed one is decoded

    def __repr__(self) -> str:
        return f"Frame({self.end_offset}, {self.number}, {self.revision}, {self.entry})"

    @property
    def players(self) -> Mapping[int, PlayerFrame]:
        """A mapping from player indices to the frames of these players."""
        players: Mapping[int, PlayerFrame] = self.entry.players
        return players


class FrameFinalized(Event, gc=False):
    """Tells you that all frames up to and including `through` are final, so they won't change any more.

    `frames` are those that were not final before, in the order of their numbers and in the form that remains.
    """

    through: int
    frames: Sequence[Frame]


class GameEvent(Event, gc=False):
    """Something that happened in the game, such as a lost stock or a lap. It is derived from frames that are final.

    `frame` is `None` if the format doesn't store when it happened. `values` contains everything else in the payload of
    the message.
    """

    kind: str
    frame: int | None
    values: Mapping[str, Any]


class StatsUpdate(Event, gc=False):
    """The stats of the game up to a final frame."""

    frame: int
    stats: Any


class GameEnd(Event, gc=False, omit_defaults=True):
    """The game is over.

    `game_end` is the end event of the format itself. `duration_seconds` only counts the frames in which people can
    play. `standings` has the `stocks` and `percent` that each player had at the end, by player index, but this isn't
    part of the message.
    """

    reason: EndReason
    game_end: Any = None
    winners: Any = ()
    last_frame: int | None = None
    duration_seconds: float | None = None
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    standings: Mapping[int, Mapping[str, Any]] = msgspec.field(default_factory=dict)


class Metadata(Event, gc=False):
    """The metadata that the file contains in addition to the events of the game."""

    metadata: Mapping[str, Any]


class Diagnostic(Event, gc=False):
    """A note that the bytes at `offset` are unusual or wrong.

    If you want to react to it in a program, use `code`, which doesn't change. `message` is meant for people.
    """

    severity: Severity
    code: str
    offset: int
    message: str


DESCRIBING = (GameStart, StatsUpdate, GameEnd, Metadata)
"""The events that describe a game apart from its frames."""

AnEvent = TypeVar("AnEvent", bound=Event)


def first_of(kind: type[AnEvent], events: Iterable[Event]) -> AnEvent | None:
    """Return the first event of a certain kind. Returns `None` if there isn't one."""
    for event in events:
        if isinstance(event, kind):
            return event
    return None


def final_frames(events: Iterable[Event]) -> Iterator[Frame]:
    """Yield the frames that some events of a reader make final. You get each number once, and in order."""
    for event in events:
        if type(event) is FrameFinalized:
            yield from event.frames
