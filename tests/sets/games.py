"""Games for the tests of sets: synthetic replays, the folder of a station, and its games with an operator's
corrections.

A replay has all of its frames. They differ only in their numbers and in the remaining stocks.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from slpstream.api import read_game
from slpstream.formats.slippi import container
from slpstream.formats.slippi.commands import FIRST_FRAME, FIRST_PLAYABLE_FRAME, FRAME_BOOKEND, FRAMES_PER_SECOND
from slpstream.sets import (
    Corrections,
    PlayedGame,
    Player,
    Rules,
    SetPatch,
    corrected,
    newest_set,
    played_games,
    score_of,
    sets_of,
)
from slpstream.sets.grouping import Set
from slpstream.store import FILE_NAME, open_database
from slpstream.store.backfill import OldFile, read_entry
from tests.formats.slippi.built import bookend, post, pre, start
from tests.formats.slippi.writer import PlayerSetup, ReplayWriter, game_start

VERSION = (3, 18, 0)
DAY = datetime(2026, 3, 14, 10, tzinfo=UTC).timestamp()
MINUTE_MS = 60_000
STOCKS = 4
TIME, GAME, NO_CONTEST = 1, 2, 7
FOX, MARTH, SHEIK = 2, 9, 19
DREAM_LAND, BATTLEFIELD = 28, 31


@dataclass(frozen=True)
class Seat:
    """The player at a port."""

    name: str = ""
    code: str = ""
    tag: str = ""
    character: int = FOX
    colour: int = 0
    team: int = 0
    cpu: bool = False


ANN_AND_BOB = {0: Seat("Ann", "ANN#1"), 1: Seat("Bob", "BOB#2")}


def replay(
    seats: Mapping[int, Seat],
    left: Mapping[int, int],
    *,
    seconds: float,
    minute: float,
    method: int | None = GAME,
    quitter: int = -1,
    percent: Mapping[int, float] | None = None,
    stage: int = BATTLEFIELD,
    ended: bool = True,
    session: str = "",
    sudden_death: bool = False,
) -> bytes:
    """A replay of these players, by player index.

    `left` has the stocks at the end, `minute` is the minute of the day at which the game began. Without `ended` the end
    is missing, as if the console was switched off. Without a `method` only Game End is missing. A `sudden_death` begins
    with one stock and 300 %, without a timer, in a separate scene.
    """
    stocks_at_start = 1 if sudden_death else STOCKS
    rows = {"minor_scene": 3, "game_bitfield_1": 0x30} if sudden_death else {}
    teams = len({seat.team for seat in seats.values()}) > 1
    setups = [
        PlayerSetup(
            index=index,
            character_id=seat.character,
            character_color=seat.colour,
            team_id=seat.team,
            type=int(seat.cpu),
            nametag=seat.tag,
            display_name=seat.name,
            connect_code=seat.code,
            start_stocks=stocks_at_start,
            damage_spawn=300 if sudden_death else 0,
        )
        for index, seat in sorted(seats.items())
    ]
    writer = ReplayWriter(VERSION)
    opening = game_start(
        VERSION,
        players=setups,
        stage_id=stage,
        is_teams=teams,
        random_seed=round(minute * 60) % (1 << 32),
        session_id=session,
        **rows,
    )
    parts = [writer.open(), writer.event(opening)]
    last = FIRST_PLAYABLE_FRAME + round(seconds * FRAMES_PER_SECOND)
    phases = 2 * stocks_at_start
    length = last + 1 - FIRST_FRAME
    first = FIRST_FRAME
    for phase in range(1, phases + 1):
        end = FIRST_FRAME + length * phase // phases if phase < phases else last
        stocks = {i: max(left[i], stocks_at_start - phase * stocks_at_start // phases) for i in seats}
        parts.append(_equal_frames(writer, first, end, seats, stocks, {}))
        first = end
    parts.append(_equal_frames(writer, last, last + 1, seats, left, percent or {}))
    if ended:
        ranking = sorted(seats, key=lambda i: (-left[i], (percent or {}).get(i, 0.0)))
        if teams:
            best = seats[ranking[0]].team
            ranking.sort(key=lambda i: seats[i].team != best)
        placements = [ranking.index(i) if i in seats else -1 for i in range(4)]
        if method is not None:
            parts.append(writer.end(method, lras_initiator=quitter, placements=tuple(placements)))  # type: ignore[arg-type]
        began = datetime.fromtimestamp(DAY + 60 * minute, UTC).isoformat().replace("+00:00", "Z")
        parts.append(writer.close({"startAt": began, "lastFrame": last, "players": {}, "playedOn": "dolphin"}))
        return writer.header() + b"".join(parts)[container.HEADER_BYTES :]
    return b"".join(parts)


def _equal_frames(
    writer: ReplayWriter,
    first: int,
    end: int,
    seats: Mapping[int, Seat],
    stocks: Mapping[int, int],
    percent: Mapping[int, float],
) -> bytes:
    """Frames that differ only in their numbers. Players without stocks are left out, except in games of two."""
    present = [i for i in sorted(seats) if stocks[i] or len(seats) == 2]
    events = [start(first), *(pre(first, i) for i in present)]
    events += [post(first, i, stocks_remaining=stocks[i], percent=percent.get(i, 20.0 + i)) for i in present]
    template = ReplayWriter(VERSION)  # `writer` counts the bytes of each event
    parts = [template.event(each) for each in (*events, bookend(first))]
    frames = []
    for number in range(first, end):
        packed = struct.pack(">i", number)
        frames += [part[:1] + packed + part[5:] for part in parts[:-1]]
        frames.append(bytes([FRAME_BOOKEND.command]) + packed + packed)
    return writer.raw(b"".join(frames))


def people(*names: str, first: int = 0, **values: Any) -> list[Player]:
    """Players with these tags, at the ports from `first` on."""
    fields: dict[str, Any] = {"start_stocks": 4, "stocks": 1} | values
    return [Player(index=i, port=i + 1, tag=name, **fields) for i, name in enumerate(names, first)]


def played(
    number: int = 0, *names: str, winner: int | None = 0, minute: float | None = None, **values: Any
) -> PlayedGame:
    """A game that was played to its end. Games begin every five minutes unless `minute` is given."""
    started_minute = 5 * number if minute is None else minute
    fields: dict[str, Any] = {
        "game_id": f"{number:032x}",
        "players": people(*(names or ("", ""))),
        "written_at_ms": round((started_minute + 2) * MINUTE_MS),
        "duration_seconds": 120.0,
        "reason": "game_end",
        "ending": "finished",
        "winners": [] if winner is None else [winner],
    }
    return PlayedGame(**fields | values)


class Folder:
    """The folder of a station. Its replays are read through an index, like files from before the daemon started."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = path.parent / f"{path.name}-state"
        path.mkdir()

    def add(self, minute: float, data: bytes, *, lasts: float = 2.0) -> None:
        """Add a file that was last written `lasts` minutes after the game began."""
        path = self.path / f"Game_{minute:07.2f}.slp"
        path.write_bytes(data)
        written_at = DAY + 60 * (minute + lasts)
        os.utime(path, (written_at, written_at))

    def play(self, minute: float, seats: Mapping[int, Seat], left: Mapping[int, int], **options: Any) -> None:
        """Add a game that began at this minute, with the parameters of `replay`."""
        self.add(minute, replay(seats, left, minute=minute, **{"seconds": 70} | options))

    def games(self) -> list[PlayedGame]:
        """The games in the folder, read back from an index of it."""
        with closing(open_database(self._state / FILE_NAME)) as database:
            files = [OldFile(path, path.stat().st_mtime_ns, path.stat().st_size) for path in self.path.iterdir()]
            database.games.add(read_entry(lambda path: read_game(path).record(), "main", file) for file in files)
            return played_games(database.games.played("main", 1000), ())


class CorrectedGames:
    """The games of a station and an operator's corrections."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.games: Sequence[PlayedGame] = ()
        self.corrections = Corrections()

    def correct(self, **patch: object) -> None:
        """Apply a correction, given as in JSON."""
        newest = lambda corrections: newest_set(self.games, corrections, self.rules)  # noqa: E731
        self.corrections = corrected(self.corrections, msgspec.convert(patch, SetPatch), newest)

    @property
    def set(self) -> Set:
        """The newest set."""
        return newest_set(self.games, self.corrections, self.rules)

    def sets(self) -> list[Set]:
        """All sets, oldest first."""
        return sets_of(self.games, self.corrections, self.rules)

    def payloads(self) -> list[dict[str, Any]]:
        """The payloads of all sets."""
        return [msgspec.to_builtins(score_of(each, self.corrections)) for each in self.sets()]

    @property
    def shown(self) -> dict[str, Any]:
        """The payload of the only set."""
        [payload] = self.payloads()
        return payload
