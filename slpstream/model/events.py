"""The events that every format's reader returns.

Events are values. `end_offset` is the file offset just past the bytes that caused the event. It orders the log and
becomes the cursor, so it depends on the file's bytes alone and never decreases.

`Frame` is format-neutral: code that uses `frame.players[i].inputs` or `.state` works for every format. The format's own
`entry` holds every field of the file, and is what messages contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeVar

import msgspec

Severity = Literal["info", "warning", "error"]
Form = Literal["json", "msgpack"]
EndReason = Literal["game_end", "raw_length", "file_end", "incomplete", "error"]


class Inputs(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A player's inputs in one frame. Axes are in [-1, 1], right and up positive; triggers are in [0, 1]."""

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
    """A player's state after a frame, in the game's own units; `None` for values that the format does not store."""

    position: tuple[float, ...] | None = None
    facing: float | None = None
    damage: float | None = None
    lives: int | None = None


class PlayerFrame(Protocol):
    """One player's part of a frame, with the same attributes in every format."""

    @property
    def inputs(self) -> Inputs | None:
        """The player's inputs; `None` if the frame does not have them."""

    @property
    def state(self) -> State | None:
        """The player's state; `None` if the frame does not have it."""


class FrameEntry(Protocol):
    """A format's own frame, which `frame` messages contain."""

    @property
    def players(self) -> Mapping[int, Any]:
        """Player frames by player index."""


class Event(msgspec.Struct, gc=False):
    """Base of all events."""

    end_offset: int


class GameStart(Event, gc=False):
    """A game has begun. `game_id` is 32 hex digits of a SHA-256, `rate` is frames per second as a fraction."""

    format: str
    game_id: str
    settings: Any
    rate: tuple[int, int]


class PackedEntry(msgspec.Struct, gc=False):
    """A frame that is kept as bytes of its file, and decoded or encoded on demand."""

    def entry(self) -> Any:
        """Return the decoded frame."""
        raise NotImplementedError

    def form(self, form: Form, fields: tuple[str, ...] | None = None) -> bytes | None:
        """Return the end of a `frame` message, from its key `frame` on, cut down to `fields` if they are given.

        `None` if it has to be made from `entry`.
        """
        raise NotImplementedError

    def size_bytes(self) -> int:
        """Return the approximate size of the message as JSON, in bytes."""
        raise NotImplementedError


class Frame(Event, gc=False, eq=False):
    """A complete frame. `revision` is 0 at first, and grows by one each time a rollback sends the number again."""

    number: int
    revision: int
    content: Any
    """The format's `FrameEntry`, or a `PackedEntry`, which logs keep as it is."""
    decoded: Any = None
    """The decoded packed entry. It is kept in the event and not in logs, because it takes ten times the memory."""

    @property
    def entry(self) -> Any:
        """The format's own frame, a `FrameEntry`."""
        content = self.content
        if not isinstance(content, PackedEntry):
            return content
        if self.decoded is None:
            self.decoded = content.entry()
        return self.decoded

    def __eq__(self, other: object) -> bool:
        """Whether both are the same frame, packed or not."""
        if not isinstance(other, Frame):
            return NotImplemented
        mine, others = ((f.end_offset, f.number, f.revision, f.entry) for f in (self, other))
        return mine == others

    __hash__ = None  # type: ignore[assignment]  # frames can change: a packed one is decoded

    def __repr__(self) -> str:
        return f"Frame({self.end_offset}, {self.number}, {self.revision}, {self.entry})"

    @property
    def players(self) -> Mapping[int, PlayerFrame]:
        """The player frames by player index."""
        players: Mapping[int, PlayerFrame] = self.entry.players
        return players


class FrameFinalized(Event, gc=False):
    """No frame up to and including `through` will change any more."""

    through: int


class GameEvent(Event, gc=False):
    """An event derived from final frames, such as a lost stock or a lap.

    `frame` is `None` where the format does not store when it happened. `values` is the rest of the message's payload.
    """

    kind: str
    frame: int | None
    values: Mapping[str, Any]


class StatsUpdate(Event, gc=False):
    """The stats as of a final frame."""

    frame: int
    stats: Any


class GameEnd(Event, gc=False, omit_defaults=True):
    """The game is over.

    `game_end` is the format's own end event. `duration_seconds` counts playable frames. `standings` has each player's
    `stocks` and `percent` at the end, by player index; the message leaves it out.
    """

    reason: EndReason
    game_end: Any = None
    winners: Any = ()
    last_frame: int | None = None
    duration_seconds: float | None = None
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    standings: Mapping[int, Mapping[str, Any]] = msgspec.field(default_factory=dict)


class Metadata(Event, gc=False):
    """The metadata that the file stores in addition to the game's events."""

    metadata: Mapping[str, Any]


class Diagnostic(Event, gc=False):
    """The bytes at `offset` are unusual or wrong. `code` is stable; `message` is for people."""

    severity: Severity
    code: str
    offset: int
    message: str


DESCRIBING = (GameStart, StatsUpdate, GameEnd, Metadata)
"""The events that describe a game apart from its frames."""

AnEvent = TypeVar("AnEvent", bound=Event)


def first_of(kind: type[AnEvent], events: Iterable[Event]) -> AnEvent | None:
    """Return the first event of a kind, or `None`."""
    for event in events:
        if isinstance(event, kind):
            return event
    return None
