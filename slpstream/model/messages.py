"""Log messages: how an event becomes a line of JSON with an envelope and a cursor.

A log message looks like `{"type", "station", "gameId", "cursor", ...payload}`. We encode the payload only once, when
the event is known, and then put the envelope in front of it. This works because the messages of `dump` and the
websocket differ only in `station`, and those of the two `frames` modes only in the cursor. If someone wants
MessagePack or frames that are cut down to some `fields`, we make these on demand from the same JSON, so all forms
agree.

A cursor is `gameId/` followed by a position. The position consists of the letter of the mode, the offset in the file
just after the bytes that caused the message, and the number of earlier messages with the same offset. All of this
depends only on the bytes of the file, so each subscriber sees the same cursor, and it survives a restart. Since the
cursor contains an offset, a reader that resumes can skip all bytes before it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec

from slpstream.model import events
from slpstream.model.errors import ProtocolViolation
from slpstream.model.events import Event, Form, PackedEntry
from slpstream.model.topics import TOPIC_OF_TYPE, Topic

FramesMode = Literal["live", "finalized"]

PAYLOADS: Mapping[str, str] = {
    "game_start": "`format`, `rate` (frames per second as a fraction), `settings` (slippi-js `GameStartType`)",
    "game_end": "`reason`, `gameEnd` (slippi-js `GameEndType`), `winners`, `lastFrame`, `durationSeconds`; in "
    "games without stocks `scores`, and `tied` for a tie; `basis` `inferred` if the last frame shows the winners",
    "metadata": "`metadata`, when the game has closed the file",
    "frame": "`frame` (slippi-js `FrameEntryType`, `players` and `followers` by player index) with its `revision`",
    "finalized": "`through`: the last frame number that will not change any more; in `live` subscriptions only",
    "event": "`kind`, `frame` (where the format has frames) and members of the kind: `docs/reference/stats.md#events`",
    "stats": "`stats` (slippi-js `StatsType`) as of `frame`",
    "diagnostic": "`severity`, `code`, `offset`, `message`: something is odd about the bytes",
}
STATUS_PAYLOADS: Mapping[str, str] = {
    "hello": "`protocol`, `version`, `stations`: first on every connection",
    "snapshot": "`gameId`, `settings`, `summary`, `frame`, `stats`, `set`, `cursor`: when joining a game in progress",
    "station": "`state` (`idle`, `playing`, `stalled`, `offline`), `reason`, `gameId`, `summary` of that game, `at`",
    "set": "`setId`, `gameId`, `state` (`upcoming`, `running`, `over`), `bestOf`, `winsNeeded`, `players`, `score` "
    "(in their order), `sides`, `winner`, `games`, `olderGames`: the set of a station, whenever it changes; see "
    "`docs/howto/sets.md`",
    "on_air": "`station` (null while no station is on air), `by` (`operator`, `rule`), `since`: the station on air, to "
    "subscriptions of `on-air` and of all stations",
    "situation": "`gameId`, `at`, `name`, `query`, `number`, `player`, `opponent`, `frames`, `knownFrame`: one of the "
    "configured situations was found in the game that is played; see `docs/data/situations.md`",
    "lagged": "`missed`: how many messages this connection did not get",
    "error": "`code`, `message`: then the connection is closed with that code",
}
ON_AIR = "on-air"
"""Names the station on air in place of a station id. No station has this id."""
DROPPABLE_TYPES = frozenset({"frame", "finalized", "stats"})
"""The types that a conflating subscriber may miss: the newest message replaces the older ones."""

_encode = msgspec.json.Encoder().encode
_encode_messagepack = msgspec.msgpack.Encoder().encode
_CURSOR = re.compile(
    r"(?P<game>[0-9a-f]{32})/"
    r"(?:(?P<mode>[lf])(?P<offset>[0-9]{1,18})\.(?P<count>[0-9]{1,9})|frame:(?P<frame>-?[0-9]{1,9}))"
)
_MODE_LETTERS: Mapping[FramesMode, str] = {"live": "l", "finalized": "f"}
_LETTER_MODES: Mapping[str, FramesMode] = {letter: mode for mode, letter in _MODE_LETTERS.items()}


MAX_COUNT = (1 << 24) - 1
"""Limit for the number of messages with the same offset. A broker packs offset and count into one number."""


class Position(NamedTuple):
    """A position in a log.

    It consists of the offset in the file just after the bytes that caused the message, and a count that distinguishes
    the messages with the same offset.
    """

    offset: int
    count: int  # type: ignore[assignment]  # shadows tuple.count

    @property
    def before(self) -> Position:
        """The greatest position before this one, so there can't be a message in between. For `START`, it is `START`."""
        if self == START:
            return self
        return Position(self.offset, self.count - 1) if self.count else Position(self.offset - 1, MAX_COUNT)


START = Position(-1, 0)
"""Before the first message of a log."""


class Cursor(NamedTuple):
    """A cursor after parsing. It has either a `position` or, if you want to jump to a frame, a `frame`."""

    game_id: str
    mode: FramesMode | None
    position: Position | None
    frame: int | None = None

    def __str__(self) -> str:
        if self.position is None or self.mode is None:
            return f"{self.game_id}/frame:{self.frame}"
        return f"{self.game_id}/{_MODE_LETTERS[self.mode]}{self.position.offset}.{self.position.count}"


def parse_cursor(text: str) -> Cursor:
    """Parse a cursor. Raises `ProtocolViolation` if the text isn't one."""
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise ProtocolViolation(f"not a cursor: {text[:80]!r}")
    if match["frame"] is not None:
        return Cursor(match["game"], None, None, int(match["frame"]))
    return Cursor(match["game"], _LETTER_MODES[match["mode"]], Position(int(match["offset"]), int(match["count"])))


class LogMessage(msgspec.Struct, gc=False, eq=False):
    """One message of a game's log. Call `json` to get its line. All other forms are made when you need them, and then
    cached.
    """

    type: str
    """The type of the message, such as `game_start`."""
    game_id: str | None
    """The id of the game. It is `None` for a diagnostic from before Game Start, which has no position in any log."""
    mode: FramesMode
    offset: int
    count: int
    content: bytes | PackedEntry
    """The payload, encoded up to the closing brace, or the packed frame from which it can be encoded."""
    frame: int | None
    """The frame number if this is a `frame` message, and otherwise `None`."""
    forms: dict[Any, bytes] | None = None

    @property
    def body(self) -> bytes:
        """The payload as JSON, beginning after the opening brace and including the closing one."""
        return _encoded(self.content)

    @property
    def topic(self) -> Topic:
        """The topic that you have to subscribe to if you want to get this message."""
        return TOPIC_OF_TYPE[self.type]

    @property
    def position(self) -> Position:
        """The position in the log. If there's no `game_id`, it doesn't mean anything."""
        return Position(self.offset, self.count)

    @property
    def cursor(self) -> str | None:
        """The cursor as text, or `None` for a message without a position in a log."""
        if self.game_id is None:
            return None
        return str(Cursor(self.game_id, self.mode, self.position))

    def __eq__(self, other: object) -> bool:
        """Whether both are the same message. It doesn't matter whether they were already encoded."""
        if not isinstance(other, LogMessage):
            return NotImplemented
        mine, others = ((m.type, m.game_id, m.mode, m.position, m.frame, m.body) for m in (self, other))
        return mine == others

    __hash__ = None  # type: ignore[assignment]  # messages cache their forms

    def __repr__(self) -> str:
        return f"<{self.type} message: {self.json()[:_REPR_BYTES].decode(errors='ignore')}>"

    def json(self, station: str | None = None, fields: tuple[str, ...] | None = None) -> bytes:
        """Return the message as one JSON object, without a line end. `dump` calls this without a `station`.

        You can pass `fields` to cut a `frame` message down to the fields that you need. A field is a dotted path. If
        the frame itself has the first part of the path, then the path applies to the frame (`items`, `start.seed`);
        otherwise, it applies to each player and follower (`post.percent`). `frame` and `revision` are always included.
        """
        body = self._body(fields)
        head = _head(self.type, station, self.game_id, self.mode)
        if self.game_id is None:
            return head + body
        return b'%b%d.%d",%b' % (head, self.offset, self.count, body)

    def messagepack(self, station: str | None = None, fields: tuple[str, ...] | None = None) -> bytes:
        """Return the same message as `json`, but encoded as MessagePack."""
        content = self.content
        body = None if isinstance(content, bytes) else content.form("msgpack", fields)
        if body is None:
            return to_messagepack(self.json(station, fields))
        head, cursor = envelope("msgpack", self.type, station, self.game_id, self.mode)
        return b"%b%b%b" % (head, _encode_messagepack(f"{cursor.decode()}{self.offset}.{self.count}"), body)

    def form(self, key: Any, make: Callable[..., bytes], *given: Any) -> bytes:
        """Return an encoded form of this message. The first call makes it with `make(self, *given)` and caches it under
        `key`.

        This means that if several subscribers want the same form, it is encoded only once. To limit the memory that we
        use, only the first few keys are cached.
        """
        forms = self.forms
        if forms is None:
            forms = self.forms = {}
        form = forms.get(key)
        if form is None:
            form = make(self, *given)
            if len(forms) < _FORMS_KEPT:
                forms[key] = form
        return form

    def entry(self, fields: tuple[str, ...] | None = None) -> msgspec.Raw:
        """Return the encoded value of `frame` in a `frame` message. If you pass `fields`, it is cut down to them."""
        return msgspec.Raw(self._body(fields)[len(_FRAME_KEY) : -1])

    def _body(self, fields: tuple[str, ...] | None) -> bytes:
        content = self.content
        body = None if isinstance(content, bytes) else content.form("json", fields)
        if body is None:
            return self.body if fields is None else _cut_body(self.body, fields)
        return body

    def size_bytes(self) -> int:
        """Return approximately how much memory this message takes.

        The few bytes in a `finalized` message don't count.
        """
        content = self.content
        if self.type == "finalized":
            return OVERHEAD_BYTES
        # `isinstance` is slow here, because msgspec's metaclass is that of abstract classes.
        return OVERHEAD_BYTES + (len(content) if type(content) is bytes else content.size_bytes)  # type: ignore[union-attr]


def parse_line(line: bytes) -> LogMessage:
    """Parse a line that `LogMessage.json` has returned. It doesn't matter whether the line has a station.

    Raises `ProtocolViolation` if the line isn't a message of a log.
    """
    head = _LINE_HEAD.match(line)
    number = None if head is None or head[1] != b"frame" else _FRAME_NUMBER.match(line, head.end())
    if head is None or (head[1] == b"frame" and number is None):
        raise ProtocolViolation(f"not a message of a log: {line[:80]!r}")
    kind, game_id, letter, offset, count = head.groups()
    return LogMessage(
        kind.decode(),
        game_id.decode(),
        "live" if letter == b"l" else "finalized",
        int(offset),
        int(count),
        line[head.end() :],
        None if number is None else int(number[1]),
    )


_MIN_UNIX_SECONDS = datetime.min.replace(tzinfo=UTC).timestamp()
_MAX_UNIX_SECONDS = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


@functools.lru_cache(maxsize=512)
def timestamp(unix_seconds: float) -> str:
    """Format a wall-clock time for status messages and HTTP responses, as ISO 8601 in UTC with milliseconds.

    Neither ISO 8601 nor `datetime` can represent years outside of 1 to 9999, so if the time is out of range, you get
    the nearest time within it.
    """
    unix_seconds = min(max(unix_seconds, _MIN_UNIX_SECONDS), _MAX_UNIX_SECONDS)
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@functools.lru_cache(maxsize=1024)
def _head(kind: str, station: str | None, game_id: str | None, mode: FramesMode) -> bytes:
    """Return the beginning of a message as JSON, up to the point where the position in the cursor follows."""
    head, cursor = envelope("json", kind, station, game_id, mode)
    return head if game_id is None else b'%b"%b' % (head, cursor)


@functools.lru_cache(maxsize=1024)
def envelope(form: Form, kind: str, station: str | None, game_id: str | None, mode: FramesMode) -> tuple[bytes, bytes]:
    """Return the envelope of a message in two parts: everything before the cursor, and the cursor without its position.

    If the message has no cursor, then the second part is empty.
    """
    members = {"type": kind, "station": station, "gameId": game_id}
    present = {key: value for key, value in members.items() if value is not None}
    cursor = b"" if game_id is None else f"{game_id}/{_MODE_LETTERS[mode]}".encode()
    if form == "json":
        return _encode(present)[:-1] + (b"," if game_id is None else b',"cursor":'), cursor
    # A MessagePack object begins with the number of its keys. Cursor and frame are two more.
    head = _encode_messagepack(present)
    return b"%c%b%b" % (head[0] + 2, head[1:], _encode_messagepack("cursor")), cursor


_FRAME_KEY = b'"frame":'
_LINE_HEAD = re.compile(
    rb'\{"type":"([a-z_]+)",(?:"station":"(?:[^"\\]|\\.)*",)?"gameId":"([0-9a-f]{32})",'
    rb'"cursor":"\2/([lf])([0-9]{1,18})\.([0-9]{1,9})",'
)
_FRAME_NUMBER = re.compile(rb'"frame":\{"frame":(-?[0-9]{1,9})[,}]')
OVERHEAD_BYTES = 400
"""Approximately how much memory a message takes in addition to its payload."""
_FORMS_KEPT = 16
_REPR_BYTES = 300


Content = tuple[str, bytes | PackedEntry, int | None]
"""The content of a message, as `content_of` returns it."""


def content_of(event: Event) -> Content:
    """Return the three values from which the message of the given event is made.

    These are the type of the message, the payload (either encoded, or as a packed frame), and the frame number, which
    is `None` unless the event is a `Frame`.
    """
    kind = type(event)
    if kind is events.Frame:  # sixty times a second
        content = event.content  # type: ignore[attr-defined]
        # `isinstance` is slow here, because msgspec's metaclass is that of abstract classes.
        body = content if type(content).__base__ is PackedEntry else _body_of_frame(content)
        return "frame", body, event.number  # type: ignore[attr-defined]
    if kind is events.FrameFinalized:
        return "finalized", b'"through":%d}' % event.through, None  # type: ignore[attr-defined]
    name, payload = _PAYLOADS[kind](event)
    return name, _encode(payload)[1:], None


def body_of(event: Event) -> tuple[str, bytes, int | None]:
    """Like `content_of`, but the payload is always encoded."""
    kind, content, frame = content_of(event)
    return kind, _encoded(content), frame


def _body_of_frame(entry: Any) -> bytes:
    return b'"frame":%b}' % _encode(entry)


def _encoded(content: bytes | PackedEntry) -> bytes:
    """Return the payload as JSON, encoding it now if it is still a packed frame."""
    if isinstance(content, bytes):
        return content
    return content.form("json") or _body_of_frame(content.entry())


def to_messagepack(json: bytes) -> bytes:
    """Convert a message from JSON to MessagePack."""
    return msgspec.msgpack.encode(msgspec.json.decode(json))


def _cut_body(body: bytes, fields: tuple[str, ...]) -> bytes:
    """Cut the payload of a `frame` message down to some fields."""
    return _body_of_frame(cut_entry(msgspec.json.decode(body[len(_FRAME_KEY) : -1]), fields))


def cut_entry(frame: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """Cut the decoded value of `frame` down to some fields. `LogMessage.json` explains how you write them."""
    cut: dict[str, Any] = {key: frame[key] for key in ("frame", "revision") if key in frame}
    for path in [tuple(field.split(".")) for field in fields]:
        if path[0] in frame:
            _copy_path(frame, cut, path)
            continue
        for side in ("players", "followers"):
            for index, player in frame.get(side, {}).items():
                _copy_path(player, cut.setdefault(side, {}).setdefault(index, {}), path)
    return cut


def _copy_path(source: Any, target: dict[str, Any], path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        if not isinstance(source, dict) or name not in source:
            return
        source = source[name]
        if isinstance(source, dict):
            target = target.setdefault(name, {})
    if isinstance(source, dict) and path[-1] in source:
        target[path[-1]] = source[path[-1]]


def _game_start(event: events.GameStart) -> tuple[str, dict[str, Any]]:
    return "game_start", {"format": event.format, "rate": event.rate, "settings": event.settings}


def _game_event(event: events.GameEvent) -> tuple[str, dict[str, Any]]:
    payload: dict[str, Any] = {"kind": event.kind}
    if event.frame is not None:
        payload["frame"] = event.frame
    return "event", payload | dict(event.values)


def _stats(event: events.StatsUpdate) -> tuple[str, dict[str, Any]]:
    return "stats", {"frame": event.frame, "stats": event.stats}


def _game_end(event: events.GameEnd) -> tuple[str, dict[str, Any]]:
    payload: dict[str, Any] = {"reason": event.reason}
    if event.game_end is not None:
        payload["gameEnd"] = event.game_end
    payload |= {"winners": event.winners}
    if event.last_frame is not None:
        payload["lastFrame"] = event.last_frame
    if event.duration_seconds is not None:
        payload["durationSeconds"] = event.duration_seconds
    return "game_end", payload | dict(event.values)


def _metadata(event: events.Metadata) -> tuple[str, dict[str, Any]]:
    return "metadata", {"metadata": event.metadata}


def _diagnostic(event: events.Diagnostic) -> tuple[str, dict[str, Any]]:
    return "diagnostic", {
        "severity": event.severity,
        "code": event.code,
        "offset": event.offset,
        "message": event.message,
    }


_PAYLOADS: Mapping[type[Event], Callable[[Any], tuple[str, dict[str, Any]]]] = {
    events.GameStart: _game_start,
    events.GameEvent: _game_event,
    events.StatsUpdate: _stats,
    events.GameEnd: _game_end,
    events.Metadata: _metadata,
    events.Diagnostic: _diagnostic,
}
