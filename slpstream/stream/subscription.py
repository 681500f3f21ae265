"""Subscriptions.

They arrive in a `subscribe` message or the query of a URL, and this module checks all their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from slpstream.model.errors import ProtocolViolation
from slpstream.model.foreign_data import converted
from slpstream.model.messages import ON_AIR, Cursor, FramesMode, parse_cursor
from slpstream.model.prepared import prepared
from slpstream.model.topics import TOPICS, Topic

MAX_NAMES = 256
MAX_FIELDS = 64
MAX_RATE = 240

Delivery = Literal["conflate", "lossless"]
Start = Literal["live", "start"]
_Name = Annotated[str, Meta(min_length=1, max_length=80)]
_Names = Annotated[list[_Name], Meta(max_length=MAX_NAMES)]


class Subscription(msgspec.Struct, frozen=True):
    """A subscription whose values were checked.

    `stations` is `None` if it is for all stations. `cursor` applies to all of them, except for those that are listed in
    `cursors`.
    """

    stations: tuple[str, ...] | None = None
    topics: frozenset[Topic] = frozenset(TOPICS)
    also: tuple[str, ...] = ()
    """The types of further messages, which parts send."""
    frames: FramesMode = "live"
    finality: bool = True
    """Whether `finalized` messages are included. A game has as many of them as frames, at any rate."""
    rate: int | None = None
    fields: tuple[str, ...] | None = None
    delivery: Delivery = "conflate"
    cursor: Start | Cursor = "live"
    cursors: Mapping[str, Start | Cursor] = msgspec.field(default_factory=dict)

    @property
    def follows_on_air(self) -> bool:
        """Whether the subscription gets another station whenever that goes on air."""
        return self.stations is not None and ON_AIR in self.stations

    def cursor_of(self, station: str) -> Start | Cursor:
        """Return the cursor that says where the subscription begins in the given station."""
        return self.cursors.get(station, self.cursor)


@prepared
class SubscribeRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A `subscribe` message before its values are checked."""

    op: Annotated[Literal["subscribe"], Meta(description="In messages only: the query of a URL has no `op`.")]
    stations: Annotated[
        Annotated[_Names, Meta(min_length=1)] | Literal["*"] | None,
        Meta(
            description="Names of stations, or `*` for all, which is the default. `on-air` follows the station on air. "
            "In the query also `station`."
        ),
    ] = None
    topics: Annotated[list[Topic] | None, Meta(description="Default: all.")] = None
    also: Annotated[_Names | None, Meta(description="Types of messages that parts send. Default: none.")] = None
    frames: Annotated[
        FramesMode,
        Meta(
            description="`live`: every revision of a frame as it arrives. `finalized`: each number once, when no "
            "rollback can change it any more."
        ),
    ] = "live"
    finality: Annotated[
        bool, Meta(description="`false` leaves out `finalized` messages, which are as frequent as frames at any rate.")
    ] = True
    rate: Annotated[
        int | None, Meta(description=f"Frames per second of game time, from 1 to {MAX_RATE}. Default: all.")
    ] = None
    fields: Annotated[
        Annotated[list[_Name], Meta(max_length=MAX_FIELDS)] | None,
        Meta(description="Reduces frames to these fields, such as `post.percent`. Default: whole frames."),
    ] = None
    delivery: Annotated[
        Delivery,
        Meta(
            description="`conflate`: a slow client misses frames and learns how many. `lossless`: it gets "
            "all messages, at its own pace."
        ),
    ] = "conflate"
    cursor: Annotated[
        str | Annotated[dict[str, str], Meta(max_length=MAX_NAMES)],
        Meta(
            description="Where to start: `live`, `start`, the cursor of a message, `gameId/frame:N`, or one for each "
            "station."
        ),
    ] = "live"


_STARTS: Mapping[str, Start] = {"live": "live", "start": "start"}
_LIST_KEYS = ("stations", "topics", "also", "fields")


def parse_subscription(request: Mapping[str, Any], *, strict: bool = True) -> Subscription:
    """Check a decoded `subscribe` message, and turn it into a `Subscription`.

    If something is wrong, this raises a `ProtocolViolation` that names the key and the values that we expected. If
    `strict` is false, numbers and booleans can be strings.
    """
    wanted = converted(
        request, SubscribeRequest, lambda reason: ProtocolViolation(f"subscribe: {reason}"), strict=strict
    )
    if wanted.rate is not None and not 1 <= wanted.rate <= MAX_RATE:
        raise ProtocolViolation(f"subscribe: rate is from 1 to {MAX_RATE}")
    stations = None if wanted.stations in (None, "*", ["*"]) else tuple(dict.fromkeys(wanted.stations or ()))
    cursors = wanted.cursor if isinstance(wanted.cursor, dict) else {}
    return Subscription(
        stations=stations,
        topics=frozenset(TOPICS if wanted.topics is None else wanted.topics),
        also=tuple(dict.fromkeys(wanted.also or ())),
        frames=wanted.frames,
        finality=wanted.finality,
        rate=wanted.rate,
        fields=None if wanted.fields is None else tuple(wanted.fields),
        delivery=wanted.delivery,
        cursor=_cursor(wanted.cursor, wanted.frames) if isinstance(wanted.cursor, str) else "live",
        cursors={station: _cursor(text, wanted.frames) for station, text in cursors.items()},
    )


def parse_query(pairs: Sequence[tuple[str, str]]) -> Subscription | None:
    """Parse the query of a URL. To pass a list, separate its items by commas.

    Returns `None` if the query doesn't ask for a subscription. Raises `ProtocolViolation` if a value is wrong.
    """
    known = set(SubscribeRequest.__struct_fields__) - {"op"}
    renamed = (("stations" if key == "station" else key, value) for key, value in pairs)
    asked: dict[str, Any] = {key: value for key, value in renamed if key in known}
    if not asked:
        return None
    for key in _LIST_KEYS:
        if key in asked:
            asked[key] = [part for part in asked[key].split(",") if part]
    return parse_subscription({"op": "subscribe", **asked}, strict=False)


def _cursor(text: str, mode: FramesMode) -> Start | Cursor:
    if text in _STARTS:
        return _STARTS[text]
    cursor = parse_cursor(text)
    if cursor.mode is not None and cursor.mode != mode:
        raise ProtocolViolation(f"this cursor is of the frames mode {cursor.mode!r}, the subscription is {mode!r}")
    return cursor
