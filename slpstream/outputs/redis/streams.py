"""How an event lies in the broker: the names of its keys, what entry ids mean, what a turn is. Pure; for both ends.

A station has two streams, one for each `frames` mode: `slpstream:<event>:<station>` is its live log, the same with
`:finalized` its finalized log. Cursors of the two modes name different places, so each is sent as it was computed, and
nothing has to be derived at the other end. An entry is one message, `json` its only field: the line as it is on the
websocket.

**Entry ids** have two halves of 64 bits. The second is the message's place in its game's log: 40 bits of file offset,
24 bits of the count within it. The first is an ordinal that only grows: that of a *turn*, a run of messages of one
game. Usually a game is one turn. A second turn of the same game begins when another game was sent in between (two
files of a station that grow at the same time), and with every new connection of the ingest. So an id never depends on
how often or by whom a message was sent, but on the turn and the place alone: within a turn a message that is sent
again is refused by the broker.

**A turn is taken** with `TAKE_TURN`: the larger of the broker's clock in milliseconds and one more than the newest
ordinal of the stream, claimed with an entry that is deleted at once, all in one step. From then on the broker refuses
whatever of older turns is still on its way: a connection that was cut, a process that was killed, a second ingest of
the same name. Only then is it asked how far each game has come; that answer cannot become wrong any more. The clock is
there so that an ordinal is not given twice when a broker has lost its last second to a crash: a gateway that has seen
what was lost stands at an older id than everything that comes.

**Before** the first message of a turn, `<stream>:turns` (a hash) says which game it is and behind which place it goes
on. It tells the other end which ids belong to a game, and an ingest where a game is whose messages are all trimmed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import START, Cursor, FramesMode, Position, parse_cursor

MODES: tuple[FramesMode, ...] = ("live", "finalized")
FIELD = b"json"
MAX_TURNS = 4096
"""Turns that are remembered. It takes two growing files in one station to have more than one for each game."""

_GAME_ID = re.compile("[0-9a-f]{32}")
_COUNT_BITS = 24
_LAST = (1 << 64) - 1

TAKE_TURN = """
local time = redis.call('TIME')
local turn = time[1] * 1000 + math.floor(time[2] / 1000)
local last = 0
if redis.call('EXISTS', KEYS[1]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = tonumber(string.match(info[i + 1], '^%d+')) end
  end
end
if ARGV[1] ~= '0' and tonumber(ARGV[1]) ~= last then return redis.error_reply('ERR another has taken a turn') end
turn = string.format('%.0f', math.max(turn, last + 1))
redis.call('XADD', KEYS[1], turn .. '-0', 'json', '')
redis.call('XDEL', KEYS[1], turn .. '-0')
return turn
"""
"""KEYS: a stream; ARGV: the turn that must be its newest still (0: whatever). Answers the ordinal."""

APPEND = """
for i = 3, #ARGV, 2 do
  if not redis.call('XADD', KEYS[1], 'NOMKSTREAM', ARGV[i], 'json', ARGV[i + 1]) then
    return redis.error_reply('ERR the stream is gone')
  end
end
redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[1])
if ARGV[2] ~= '0' then redis.call('XTRIM', KEYS[1], 'MINID', '~', ARGV[2]) end
return #ARGV
"""
"""KEYS: a stream; ARGV: most entries, oldest turn (0: any), then id and line of each message. A refused id is an error,
and nothing of the call is done: ids grow, so the first one is refused or none."""


class StationKeys(NamedTuple):
    """The keys of one station. No command and no script names two of them, so they may lie on different nodes of a
    cluster."""

    event: str
    station: str

    def stream(self, mode: FramesMode) -> str:
        """The log of one mode."""
        base = f"slpstream:{self.event}:{self.station}"
        return base if mode == "live" else f"{base}:{mode}"

    def turns(self, mode: FramesMode) -> str:
        """Hash: ordinal of a turn to the cursor behind which it begins."""
        return f"{self.stream(mode)}:turns"

    @property
    def state(self) -> str:
        """Hash for late joiners: the status messages by their type, and the newest `game_start` and `stats`."""
        return f"{self.stream('live')}:state"


class EventKeys(NamedTuple):
    """The keys of an event. A station's name has no `:` in it and is never empty."""

    event: str

    @property
    def stations(self) -> str:
        """Hash: station to what it is, as JSON."""
        return f"slpstream:{self.event}"

    @property
    def status(self) -> str:
        """Stream of status messages as they come, a few hundred."""
        return f"slpstream:{self.event}::status"

    def ingest(self, name: str) -> str:
        """There as long as that ingest is alive."""
        return f"slpstream:{self.event}::ingest:{name}"


class Turn(NamedTuple):
    """A run of messages of one game: its ordinal, the game, and the place behind which it begins."""

    ordinal: int
    game_id: str
    behind: Position


def entry_id(ordinal: int, place: Position) -> bytes:
    """The id of the message at a place. Raises `ProtocolViolation` for a place that no file of ours has."""
    return b"%d-%d" % (ordinal, pack(place))


def pack(place: Position) -> int:
    """A place as one number that sorts as places do; `START` is 0."""
    offset, count = place
    if not (-1 <= offset < 1 << 39 and 0 <= count < 1 << _COUNT_BITS):
        raise ProtocolViolation(f"a place beyond what the broker can order: {offset}.{count}")
    return (offset + 1 << _COUNT_BITS) + count


def unpack(number: int) -> Position:
    """The other way round."""
    return Position((number >> _COUNT_BITS) - 1, number & (1 << _COUNT_BITS) - 1)


def parse_id(text: bytes) -> tuple[int, int]:
    """An id to the ordinal of its turn and its packed place."""
    ordinal, _, place = text.partition(b"-")
    return int(ordinal), int(place)


def ids_of_turn(ordinal: int, behind: int = -1) -> tuple[bytes, bytes]:
    """First and last id of a turn, or of what of it is behind a packed place."""
    return b"%d-%d" % (ordinal, behind + 1), b"%d-%d" % (ordinal, _LAST)


def just_before(place: Position) -> Position:
    """A place before this one, and behind all that come before it in their log."""
    return START if pack(place) == 0 else unpack(pack(place) - 1)


def turn_record(game_id: str, mode: FramesMode, behind: Position) -> str:
    """The value of a turn in its hash: a cursor, or the game alone when it begins with the first message."""
    return game_id if behind == START else str(Cursor(game_id, mode, behind))


def parse_turns(hash_: Mapping[bytes, bytes]) -> list[Turn]:
    """A hash of turns, oldest first. What is none of ours is left out."""
    turns: list[Turn] = []
    for field, value in hash_.items():
        try:
            ordinal, text = int(field), value.decode()
            cursor = Cursor(text, None, START) if _GAME_ID.fullmatch(text) else parse_cursor(text)
        except (ProtocolViolation, ValueError):
            continue
        if cursor.position is not None:
            turns.append(Turn(ordinal, cursor.game_id, cursor.position))
    turns.sort()
    return turns


def by_game(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    """The turns of each game, oldest first; games by their newest turn."""
    games: dict[str, list[Turn]] = {}
    for turn in turns:
        games[turn.game_id] = [*games.pop(turn.game_id, ()), turn]
    return games


def superfluous(turns: list[Turn], oldest_kept: int) -> list[int]:
    """Ordinals that need not be remembered: of what is trimmed only each game's newest turn is, and not too many."""
    newest = {turn.game_id: turn.ordinal for turn in turns}
    kept = [turn for turn in turns if turn.ordinal >= oldest_kept or newest[turn.game_id] == turn.ordinal]
    keep = {turn.ordinal for turn in kept[-MAX_TURNS:]}
    return [turn.ordinal for turn in turns if turn.ordinal not in keep]
