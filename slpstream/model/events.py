"""The shared event model: what every format's reader returns, and what the rest of the house works on.

Events are values. `end_offset` of each is the file offset just past the bytes that caused it; it orders the log and
becomes the cursor, so it must depend on the file's bytes alone and never fall.

`Frame` is format-neutral: code that asks `frame.players[i].inputs` or `.state` works for every format. The full
fidelity is in the format's own `entry`, which is also what goes onto the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeVar

import msgspec

Severity = Literal["info", "warning", "error"]
EndReason = Literal["game_end", "raw_length", "file_end", "incomplete", "error"]


class Inputs(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What a player's hands did in one frame. Axes in [-1, 1], right and up positive; triggers in [0, 1]."""

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
    """Where a player is after the frame, in the game's own units; `None` where the format does not have it."""

    position: tuple[float, ...] | None = None
    facing: float | None = None
    damage: float | None = None
    lives: int | None = None


class PlayerFrame(Protocol):
    """One player's part of a frame, the same questions for every game."""

    @property
    def inputs(self) -> Inputs | None:
        """What the hands did; `None` when the frame does not say."""

    @property
    def state(self) -> State | None:
        """Where the player is; `None` when the frame does not say."""


class FrameEntry(Protocol):
    """A format's own frame: what the wire shows as `frame`. `players` is keyed by player index."""

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


class Frame(Event, gc=False):
    """A complete frame. `revision` is 0 the first time and grows by one each time a rollback sends the number again."""

    number: int
    revision: int
    entry: Any

    @property
    def players(self) -> Mapping[int, PlayerFrame]:
        """Keyed by player index."""
        players: Mapping[int, PlayerFrame] = self.entry.players
        return players


class FrameFinalized(Event, gc=False):
    """Nothing up to and including frame `through` will change any more."""

    through: int


class GameEvent(Event, gc=False):
    """Something that was concluded from final frames: a stock lost, a lap. `values` is the payload beside `kind` and
    `frame`, which is `None` where the format does not say when it was."""

    kind: str
    frame: int | None
    values: Mapping[str, Any]


class StatsUpdate(Event, gc=False):
    """The stats as of a final frame."""

    frame: int
    stats: Any


class GameEnd(Event, gc=False, omit_defaults=True):
    """The game is over. `game_end` is the format's own end event, `duration_seconds` counts playable frames.
    `standings` is no part of the message: `stocks` and `percent` at the end, by player index."""

    reason: EndReason
    game_end: Any = None
    winners: Any = ()
    last_frame: int | None = None
    duration_seconds: float | None = None
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    standings: Mapping[int, Mapping[str, Any]] = msgspec.field(default_factory=dict)


class Metadata(Event, gc=False):
    """What the file says of itself, apart from the events."""

    metadata: Mapping[str, Any]


class Diagnostic(Event, gc=False):
    """Something is odd about the bytes. `code` is stable, `offset` is where it is, `message` is for people."""

    severity: Severity
    code: str
    offset: int
    message: str


DESCRIBING = (GameStart, StatsUpdate, GameEnd, Metadata)
"""The events that say of a game what can be said without its frames."""

AnEvent = TypeVar("AnEvent", bound=Event)


def first_of(kind: type[AnEvent], events: Iterable[Event]) -> AnEvent | None:
    """The first event of a kind."""
    for event in events:
        if isinstance(event, kind):
            return event
    return None
