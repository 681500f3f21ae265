from collections.abc import Callable, Set
from typing import Any

from typing_extensions import Buffer

class Frames:
    """Recognizes whole frames of a game, and counts their events.

    `events` is a tuple of `widths`, `rules` and `places`, as `walk` explains them. Only the player indices in `players`
    occur in whole frames. The latest finalized frame is at `finalized_offset` in the last event, or nowhere if that is
    -1. `makes` has what `take` calls: the class of the contents of frames, their third argument, how many bytes the
    message of a frame has for each byte of the frame, and the classes of frames and of events that frames are final.
    `take` notes frames in which one of the values at `noted_places` of a player's second update is `noted_value`.

    A frame is whole if all of its events have a frame number, which is the same, and if they come in the usual order:
    the first event, if the replay declares it; the characters in ascending order, each with both of its updates; and
    the last event, if the replay declares it. Without a last event, a frame ends as soon as all of its characters are
    updated.
    """

    def __new__(
        cls,
        events: _Events,
        players: bytes,
        finalized_offset: int,
        makes: tuple[Callable[..., Any], Any, int, Callable[..., Any], Callable[..., Any]],
        noted_places: _Places = (),
        noted_value: int = 0,
    ) -> Frames: ...
    def take(
        self,
        data: bytes,
        start: int,
        limit: int,
        base: int,
        next: int,
        through: int | None,
        pending: dict[int, Any],
        max_pending: int,
        characters: int,
        out: list[Any],
        /,
    ) -> tuple[int, int, int | None, Any, int | None]:
        """Take the whole frames from `start` on, as long as each has the number after the one before, begins after
        `through` and has the same characters (the parts of players and followers), and fewer than `max_pending` frames
        are pending. They end at `limit`, or at the end of `data`, whose file offset is `base`.

        Adds each frame to `out`. It makes the frames up to its latest finalized frame final, or up to itself, which
        adds an event with them to `out`. Until then, a frame is in `pending`. Returns where the last frame ends, the
        number after it, the highest final number, the last frame or `None`, and the number of the last noted frame or
        `None`."""

    def match(self, data: bytes, start: int, limit: int, /) -> tuple[int, int, int | None, int] | int:
        """The whole frame at `start`: its end, number, latest finalized frame, and its parts.

        The parts are a bit for each of four players, then for each of their followers, then for each kind of events
        that a frame can have any number of. If the data end in a frame that is whole so far, you get the position up to
        which bytes are needed to tell more. Otherwise, and if such a frame is unusually long, you get 0."""

    def put_back(self) -> None:
        """Don't count the events of the frame that `match` has returned last."""

    def take_counts(self) -> dict[int, int]:
        """The number of events since the last call, by command byte."""

class Template:
    """Writes whole frames as messages: literals with values in between. `form` is "json" or "msgpack".

    A piece is a literal, and the kind, slot and offset of the value after it. The kind is a letter of `struct`, `n` for
    the `number` of the methods, `.` for no value, or `*` for an array. In this case, the slot is the digit of its
    events in the rules. Slot 0 is the first event and 17 the last; in between, each player and then each follower has
    two. `of_counted` has the pieces of those events that are in arrays, by command byte; their slots do not count.
    """

    def __new__(
        cls,
        events: _Events,
        form: str,
        pieces: tuple[tuple[bytes, bytes, int, int], ...],
        of_counted: tuple[tuple[int, tuple[tuple[bytes, bytes, int, int], ...]], ...],
    ) -> Template: ...
    def render(self, data: bytes, number: int, /) -> bytes:
        """The end of the message of a whole frame: what follows its envelope.

        Raises `ValueError` if `data` isn't a whole frame, or lacks one of the events."""

class Encoder:
    """Writes the messages of logs as websocket messages in one frame each, with this `opcode`.

    `form` is "json" or "msgpack". `envelope` is called with the form, type, station, game id and mode, and returns
    everything before the cursor of such messages, and the beginning of the cursor, which ends with the offset, a dot
    and the count of a message. These are then remembered. Whatever is unusual is left to `encode`, which is called with
    the message, the station and the fields: messages without a game, those that aren't frames if the form isn't JSON,
    encoded frames that have to be cut down, and frames for which there is no template yet.
    """

    def __new__(
        cls,
        form: str,
        opcode: int,
        envelope: Callable[..., tuple[bytes, bytes]],
        encode: Callable[[Any, str, tuple[str, ...] | None], bytes],
    ) -> Encoder: ...
    def write(
        self, messages: list[Any], station: str, types: Set[str] | None, fields: tuple[str, ...] | None, /
    ) -> bytes:
        """Those messages that have one of the types, or all if it is `None`, one after another.

        `frame` messages are cut down to the `fields`, if there are any."""

class Fields:
    """Reads values of whole frames: those of the first event (`rule` is `s`), or of an update of players (`k`, `l`).

    `fields` has the kind and offset of each value. They are passed to `make`.
    """

    def __new__(cls, events: _Events, rule: bytes, fields: _Places, make: Callable[..., Any]) -> Fields: ...
    def read(self, data: bytes, before: bytes | None = None, /) -> dict[int, Any]:
        """What `make` returns for each player that is in the frame, by player index; for the first event, by 0.

        If you pass the frame before, players whose values are the same in both frames are left out. Everything between
        the first and the last value counts."""

class Watch:
    """Watches whole frames that follow each other, and tells which of them are quiet.

    A frame is quiet if its number and its clock are those of the frame before plus one, if it has the same `players`,
    and if none of these has a change of `same`, a fall of `rising`, or a `position` on the other side of the bounds,
    which are the x of the edge, to the right and to the left, and the y below.

    `fields` has the kind and offset of each value: the clock in the first event; `same`, `rising` and the two
    coordinates of `position` in the second update of a player; and buttons, the coordinates of two sticks, and triggers
    in the first update. `numbers` has the edge, the y below, the margin for the nearest player, the mask for buttons,
    the dead zone of the sticks, and the threshold of triggers.
    """

    def __new__(
        cls,
        events: _Events,
        players: bytes,
        fields: tuple[_Places, _Places, _Places, _Places, _Places, _Places, _Places],
        numbers: tuple[float, float, float, int, float, float],
    ) -> Watch: ...
    def begin(self, data: bytes, frames: int, living: int, /) -> None:
        """Watch the frames that follow `data`, but at most this many. `living` has a bit for each player.

        Only living players can be the nearest one, and none of them may have an x that isn't finite."""

    def take(self, data: bytes, /) -> bool:
        """Whether this frame and all since `begin` are quiet. If it is quiet, it is counted."""

    def end(self) -> tuple[bytes | None, int, tuple[int, int, int, int], list[tuple[int, int, int, int, int, int]]]:
        """The last quiet frame, or the one before if there was none; the number of quiet frames; in how many of them
        each of four players was the living one that is nearest to x = 0, by more than the margin; and the inputs.

        An entry of the inputs is for a player in a frame: the player's index, the number of the frame, and how many
        buttons went down, how often each of the two sticks entered one of eight regions around its dead zone, and how
        many triggers rose to the threshold."""

def walk(
    data: bytes,
    start: int,
    limit: int,
    events: _Events,
    max_counted: int,
    max_offsets: int,
    players: bytes | None,
    /,
) -> tuple[int, bool, int, int, int, _Arrays | None]:
    """Find the events of all frames of a game, event by event up to the first that is not declared or not whole.

    `events` has the 256 widths of events by command byte, 0 for a command at which the walk ends; the rules; and the
    offsets of frame number, player index and follower flag in an event. The rules have a byte for each command, which
    is the effect of its events on their sending (`Rule` in `kernel.h`). Of those with the same digit, the first
    `max_counted` in a sending count.

    `players` is for games whose sendings have no last event, and `None` in others. A sending is then complete when
    each of its characters has its `l`, and none of the sending before is missing; events of it that come later do not
    count. The first sending should have the players with the indices `players`.

    Returns where the walk ended; whether the last sending has no end and is not complete; start of the first sending,
    number of sendings, number of slots; and the arrays: frame numbers (32 bits); command, player index, follower flag
    and offsets of each slot; command, offsets and firsts of each kind of event that a sending can have any number of
    (64 bits). With more than `max_offsets`, counted as slots times sendings, there are no arrays.
    """

class Table:
    """The columns of a table, each with its source, type (a letter of `struct`) and offset.

    Sources are the events by number; after them, a number for all columns that are given; -1 for one without values.
    """

    def __new__(cls, columns: tuple[tuple[int, bytes, int], ...], events: int, /) -> Table: ...
    def fill(self, data: bytes, groups: tuple[_Group, ...], /) -> tuple[int, object]:
        """The address of an `ArrowArray` of the Arrow C data interface, and the object that frees it.

        A group has the number of its rows; the index of each row's offsets (64 bits), or `None` if they have the same
        order; for each event the offsets in `data`, 64 bits each and negative for an absent event, or `None` if it is
        absent in all rows; and each of the given columns, or its only value. Raises `ValueError` for buffers
        of another size, and for rows and events outside of the offsets and the data."""

    def read(self, data: bytes, offsets: Buffer, columns: tuple[Buffer, ...], /) -> None:
        """Write the columns of a table with one event, and without flags, into arrays in the machine's byte order.

        Floats are NaN and all other values are 0 where the event is absent. Raises `ValueError` like `fill`."""

class LogWriter:
    """Writes the events of a game into its logs (`slpstream.game.log_writer`).

    `types` has the class of messages, the base class of those contents of frames that logs keep as they are, the
    classes of frames, of events that frames are final and of batches, and `content_of`, which is called for all other
    contents.
    """

    def __new__(cls, modes: tuple[str, ...], types: tuple[Any, ...]) -> LogWriter: ...
    last_frame: int | None
    def copy(self) -> LogWriter: ...
    def begin_game(self, game_id: str, /) -> None: ...
    def write_events(self, events: list[Any], pipeline: Any, write_other: Callable[[Any, Any], object], /) -> Any: ...
    def write(self, content: tuple[str, Any, int | None], offset: int, /) -> None: ...

def read_growth(
    descriptor: int, offset: int, head: bytes, checksum: int, limit: int, crc32: Callable[[bytes, int], int], /
) -> tuple[bytes, int, int, int] | None:
    """Read the bytes that were appended to a file at `offset`, without blocking, if nothing else has changed.

    You get these bytes, the size of the file, the checksum of all bytes so far, if `checksum` is that of those before
    `offset`, and the modification time in nanoseconds. `crc32` is the function of this name in `zlib`.

    You get `None`, and have to find out more, if there are no new bytes, or more than `limit` or than the kernel has
    room for, or if `head` is longer than that; if the file doesn't begin with `head`; if it has been truncated or has
    no path any more; if its time is not between 1970 and 2262; if the read would block or fails; and on systems other
    than Linux."""

def send_to_all(descriptors: list[int], data: bytes, /) -> list[tuple[int, int]]:
    """Write the same bytes to each of the sockets without blocking. This isn't available on Windows.

    Returns the index of each socket that did not take all of them, and how many bytes it took, which is 0 after an
    error. Negative descriptors take nothing."""

_Events = tuple[list[int], bytes, tuple[int, int, int]]
_Places = tuple[tuple[bytes, int], ...]
_Group = tuple[int, Buffer | None, tuple[Buffer | None, ...], tuple[Buffer, ...]]
_Arrays = tuple[bytearray, list[tuple[int, int, bool, bytearray]], list[tuple[int, bytearray, bytearray]]]
