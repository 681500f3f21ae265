"""The layout of an event in the broker: names of keys, entry ids and turns. Pure; ingests and gateways share it.

A station has two streams, one for each `frames` mode: `slpstream:<event>:<station>` is its live log, the same key with
`:finalized` its finalized log. Cursors of the two modes name different positions, so each log is sent as it was
computed, and a gateway derives nothing. An entry is one message with a single field, `json`: the line as it is sent on
the websocket.

**Entry ids** have two halves of 64 bits. The second half is the message's position in its game's log: 40 bits of file
offset, 24 bits of the count within that offset. The first half is the ordinal of a *turn*, a run of messages of one
game; ordinals only grow. A game usually has one turn. It gets another one after messages of another game (two files of
a station may grow at the same time), and with every new connection of the ingest. An id thus depends on nothing but the
turn and the position. Within a turn, the broker refuses a message that is sent again.

**Taking a turn** (`TAKE_TURN`) claims an ordinal: the broker's clock in milliseconds, or one more than the newest
ordinal of the stream if that is larger. The script adds an entry and deletes it, in one step. From then on the broker
refuses all messages of older turns that are still in transit: from a connection that was cut, a process that was
killed, or a second ingest of the same name. Only then does the ingest ask for the last message of each game; the answer
can no longer become wrong. The clock ensures that no ordinal is used twice after a broker has lost its last second in a
crash: a gateway that has read the lost messages is at an older id than all that follow.

**Records of turns** are in `<stream>:turns`, a hash. Before the first message of a turn, the ingest records its game
and the position after which it continues. With the records a gateway knows which ids belong to which game, and an
ingest knows the position of a game whose messages were all trimmed.

A turn of a *secondary* game, which was copied in while another one is played, has a second field, `<ordinal>:aside`.
Gateways then stay with the game that is played. A later turn without this field means that the station has turned to
the game. Programs that do not know the field ignore it, since it is no ordinal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from slpstream.model.errors import ProtocolViolation
from slpstream.model.foreign_data import read_text
from slpstream.model.messages import MAX_COUNT, START, Cursor, FramesMode, Position, parse_cursor

MODES: tuple[FramesMode, ...] = ("live", "finalized")
FIELD = b"json"
MAX_TURNS = 4096
"""Maximum number of recorded turns; most games have only one."""

_GAME_ID = re.compile("[0-9a-f]{32}")
_COUNT_BITS = MAX_COUNT.bit_length()
_LAST = (1 << 64) - 1

TAKE_TURN = """
local time = redis.call('TIME')
local turn = time[1] * 1000 + math.floor(time[2] / 1000)
local last = 0
local existed = redis.call('EXISTS', KEYS[1])
if existed == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = tonumber(string.match(info[i + 1], '^%d+')) end
  end
end
if ARGV[1] ~= '0' and tonumber(ARGV[1]) ~= last then return redis.error_reply('ERR another ingest has taken a turn') end
turn = string.format('%.0f', math.max(turn, last + 1))
redis.call('XADD', KEYS[1], turn .. '-0', 'json', '')
redis.call('XDEL', KEYS[1], turn .. '-0')
return {turn, existed}
"""
"""KEYS: a stream. ARGV: the turn that must still be its newest (0: any).

Returns the new ordinal, and 1 if the stream existed. One that did not was never sent, or the broker has lost it:
trimming leaves an empty stream.
"""

GONE = "the stream is gone"
"""The error of `APPEND` if there is no stream."""

APPEND = f"""
if ARGV[3] then
  if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('ERR {GONE}') end
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' and info[i + 1] ~= ARGV[3] then
      return redis.error_reply('ERR messages are missing before these')
    end
  end
end
for i = 4, #ARGV, 2 do
  redis.call('XADD', KEYS[1], 'NOMKSTREAM', ARGV[i], 'json', ARGV[i + 1])
end
redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[1])
if ARGV[2] ~= '0' then redis.call('XTRIM', KEYS[1], 'MINID', '~', ARGV[2]) end
return #ARGV
"""
"""KEYS: a stream. ARGV: maximum number of entries, oldest turn to keep (0: any), then, unless it is only trimmed, the
newest id that the stream must have, and id and line of each message.

After an error, no message of the call was added: ids grow, so either the first one is refused or none. A broker that is
full refuses the first one too. It must not be trimmed before, because a script that has written is not refused any
more, and would exceed the broker's limit. The calls that follow in the same pipeline then miss the newest id.
"""


class StationKeys(NamedTuple):
    """The keys that belong to one station.

    None of the commands and scripts uses two of them, so in a cluster they can be on different nodes.
    """

    event: str
    station: str

    def stream(self, mode: FramesMode) -> str:
        """Return the key of the stream that contains the log of one mode."""
        base = f"slpstream:{self.event}:{self.station}"
        return base if mode == "live" else f"{base}:{mode}"

    def turns(self, mode: FramesMode) -> str:
        """Return the key of a hash. It maps the ordinal of each turn to the cursor after which it begins."""
        return f"{self.stream(mode)}:turns"

    @property
    def state(self) -> str:
        """The key of a hash that late joiners need.

        By type, it contains the status messages, and the newest `game_start` and `stats`.
        """
        return f"{self.stream('live')}:state"


class EventKeys(NamedTuple):
    """The keys that belong to an event.

    They can't be the same as those of a station, because the name of a station is never empty and can't contain `:`.
    """

    event: str

    @property
    def stations(self) -> str:
        """The key of a hash that maps each station to the name of its ingest, as JSON."""
        return f"slpstream:{self.event}"

    @property
    def status(self) -> str:
        """The key of the stream that contains the newest status messages."""
        return f"slpstream:{self.event}::status"

    def ingest(self, name: str) -> str:
        """Return the key of a string that only exists while an ingest is alive."""
        return f"slpstream:{self.event}::ingest:{name}"


class Turn(NamedTuple):
    """Several messages of one game in a row. The first of them comes after the position `after`."""

    ordinal: int
    game_id: str
    after: Position
    aside: bool = False
    """Another game of the station is the one that is played."""


def entry_id(ordinal: int, position: Position) -> bytes:
    """Return the id of the message at the given position.

    If there can't be an id for the position, this raises `ProtocolViolation`.
    """
    return b"%d-%d" % (ordinal, pack(position))


def pack(position: Position) -> int:
    """Pack a position into one number. The order stays the same, and `START` becomes 0.

    If the position doesn't fit, this raises `ProtocolViolation`.
    """
    offset, count = position
    if not (-1 <= offset < 1 << 39 and 0 <= count <= MAX_COUNT):
        raise ProtocolViolation(f"a position that has no entry id: {offset}.{count}")
    return (offset + 1 << _COUNT_BITS) + count


def unpack(number: int) -> Position:
    """The inverse of `pack`."""
    return Position((number >> _COUNT_BITS) - 1, number & MAX_COUNT)


def parse_id(text: bytes) -> tuple[int, int]:
    """Split the id of an entry into its ordinal and its packed position."""
    ordinal, _, position = text.partition(b"-")
    return int(ordinal), int(position)


def ids_of_turn(ordinal: int, after: int = -1) -> tuple[bytes, bytes]:
    """Return the first and last id that can occur in a turn.

    Pass a packed position if you only want the part after it.
    """
    return b"%d-%d" % (ordinal, after + 1), b"%d-%d" % (ordinal, _LAST)


def turn_record(game_id: str, mode: FramesMode, after: Position) -> str:
    """Return the record of a turn, which is a cursor, or just the game if the turn begins with its first message."""
    return game_id if after == START else str(Cursor(game_id, mode, after))


def aside_field(ordinal: int) -> str:
    """Return the name of the field that marks a turn of a secondary game."""
    return f"{ordinal}:aside"


def parse_turns(records: Mapping[bytes, bytes]) -> list[Turn]:
    """Return the turns in a hash of records, beginning with the oldest. If a record is invalid, it is left out."""
    turns: list[Turn] = []
    for field, value in records.items():
        try:
            ordinal, text = int(field), read_text(value, ValueError)
            cursor = Cursor(text, None, START) if _GAME_ID.fullmatch(text) else parse_cursor(text)
        except (ProtocolViolation, ValueError):
            continue
        if cursor.position is not None:
            aside = aside_field(ordinal).encode() in records
            turns.append(Turn(ordinal, cursor.game_id, cursor.position, aside))
    turns.sort()
    return turns


def by_game(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    """Return the turns of each game, beginning with the oldest. The games are sorted by their newest turn."""
    games: dict[str, list[Turn]] = {}
    for turn in turns:
        games[turn.game_id] = [*games.pop(turn.game_id, ()), turn]
    return games


def turns_to_forget(turns: list[Turn], oldest_ordinal: int) -> list[int]:
    """Return the ordinals whose records we don't need any more. `oldest_ordinal` belongs to the oldest message in the
    stream.

    Each game keeps its newest turn, even if all of its messages were trimmed. We never keep more than `MAX_TURNS`
    turns.
    """
    newest = {turn.game_id: turn.ordinal for turn in turns}
    kept = [turn for turn in turns if turn.ordinal >= oldest_ordinal or newest[turn.game_id] == turn.ordinal]
    keep = {turn.ordinal for turn in kept[-MAX_TURNS:]}
    return [turn.ordinal for turn in turns if turn.ordinal not in keep]
