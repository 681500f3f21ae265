"""Games for the tests of the stats: replays decoded to final frames, cut, damaged, and run through `SlippiStats`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.framing import read_event_payloads, walk_events
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.stats import SlippiStats
from slpstream.formats.slippi.stats.schema import Stats
from slpstream.model.events import Event, Frame, FrameFinalized, GameEnd, GameEvent
from tests.replays import replay

Json = dict[str, Any]
PRE, POST = 0x37, 0x38
SHORT = (
    "quit_3.18", "rollbacks_3.0", "ice_climbers_rollbacks_3.18", "doubles_3.18", "free_for_all_1.0", "singles_0.1",
    "time_mode_3.18", "zelda_sheik_3.18",
)  # fmt: skip
"""Short own replays of every kind."""


class Game(NamedTuple):
    """The input of the stats from one replay."""

    settings: Settings
    frames: list[tuple[Frame, int]]
    """Final frames, each with the file offset at which it became final."""
    end: GameEnd


@cache
def game(name: str) -> Game:
    return game_of(replay(name))


def game_of(data: bytes) -> Game:
    reader = SlippiReader()
    events = [*reader.feed(data), *reader.finish()]
    assert reader.settings is not None
    waiting: dict[int, Frame] = {}
    frames: list[tuple[Frame, int]] = []
    through: int | None = None
    for event in events:
        if isinstance(event, Frame):
            if through is None or event.number > through:
                waiting[event.number] = event
        elif isinstance(event, FrameFinalized):
            through = event.through
            frames += [(waiting.pop(n), event.end_offset) for n in sorted(n for n in waiting if n <= event.through)]
    return Game(reader.settings, frames, next(event for event in events if isinstance(event, GameEnd)))


def run(
    game: Game, *, compat: bool = False, crew: bool = False, all_damage: bool = True
) -> tuple[SlippiStats, list[Event]]:
    """Run a whole game through new stats. Returns the stats and their events.

    Without `all_damage`, only damage with hitstun is counted, as in slippi-js.
    """
    stats = SlippiStats(game.settings, compat=compat, crew=crew)
    stats.game.counts_all_damage &= all_damage
    emitted = [event for frame, end_offset in game.frames for event in stats.feed(frame, end_offset)]
    return stats, [*emitted, *stats.finish(game.end)]


def shown(stats: SlippiStats) -> Json:
    """The stats in the form of messages, without `extra`."""
    value: Json = msgspec.json.decode(msgspec.json.encode(stats.stats()))
    value.pop("extra", None)
    return value


class Shown(NamedTuple):
    """The stats of one replay, compatible, default, and default without damage that slippi-js does not count."""

    compat: Json
    default: Json
    stunned: Json
    stadium: Json | None


@cache
def shown_in(name: str) -> Shown:
    """The stats of a replay, computed once for all tests."""
    compatible, default = run(game(name), compat=True)[0], run(game(name))[0]
    stadium = compatible.stadium()
    stunned = run(game(name), all_damage=False)[0]
    return Shown(
        shown(compatible), shown(default), shown(stunned), None if stadium is None else msgspec.to_builtins(stadium)
    )


@cache
def result_of(name: str) -> tuple[Stats, list[Event]]:
    """The stats of a game and all its events."""
    stats, emitted = run(game(name))
    return stats.stats(), emitted


def events_of(emitted: list[Event], *kinds: str) -> list[GameEvent]:
    return [event for event in emitted if isinstance(event, GameEvent) and (not kinds or event.kind in kinds)]


class Difference(NamedTuple):
    """A value that differs; `None` means absent."""

    where: str
    theirs: Any
    ours: Any


def differences(theirs: Any, ours: Any, where: str = "") -> Iterator[Difference]:
    """All values that differ, floats by more than 1e-6. Null and absent are equal."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            yield from differences(theirs.get(key), ours.get(key), f"{where}.{key}" if where else key)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(a, b, f"{where}[{index}]")
    elif theirs is not ours and not _close(theirs, ours):
        yield Difference(where, theirs, ours)


def _close(theirs: Any, ours: Any) -> bool:
    if isinstance(theirs, bool) or isinstance(ours, bool):
        return False
    if isinstance(theirs, int | float) and isinstance(ours, int | float):
        return abs(theirs - ours) <= (0 if isinstance(theirs, int) and isinstance(ours, int) else 1e-6)
    return bool(theirs == ours)


def events_in(data: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of each event of a replay after Event Payloads."""
    first = HEADER_BYTES + 1 + data[HEADER_BYTES + 1]
    widths = read_event_payloads(data[HEADER_BYTES:first]).widths
    for _, start, end in walk_events(data, first, len(data), widths):
        yield start, end


def frame_number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at + 1 : at + 5], "big", signed=True)


def with_raw_length(data: bytes, raw_length: int) -> bytes:
    return data[:11] + raw_length.to_bytes(4, "big") + data[15:]


def cut_after(data: bytes, frame: int, command: int, more: int = 0) -> bytes:
    """A replay that ends `more` bytes after the last event of a command in a frame, with raw length 0."""
    end = max(end for at, end in events_in(data) if data[at] == command and frame_number(data, at) == frame)
    return with_raw_length(data[: end + more], 0)


def without_event(data: bytes, command: int, frame: int, player: int) -> bytes:
    """A replay without one event of a player."""
    raw_length = int.from_bytes(data[11:15], "big")
    for at, end in events_in(data):
        if data[at] == command and frame_number(data, at) == frame and data[at + 5] == player:
            return with_raw_length(data[:at] + data[end:], raw_length - (end - at))
    raise LookupError(f"no event {command:#04x} of player {player} in frame {frame}")


def frame_of(event: GameEvent) -> int:
    """The frame of an event, which must have one."""
    assert event.frame is not None
    return event.frame
