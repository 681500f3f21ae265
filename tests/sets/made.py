"""Games for the making of sets: whole replays by the project's own writer, and games that nobody played.

A replay has every frame of its length; what differs from frame to frame is its number, and stocks as they are lost.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from slpstream.api import read_game
from slpstream.formats.slippi import container
from slpstream.formats.slippi.commands import FIRST_FRAME, FIRST_PLAYABLE_FRAME, FRAME_BOOKEND, FRAMES_PER_SECOND
from slpstream.sets import (
    Corrections,
    PlayedGame,
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
from slpstream.store.backfill import OldFile, look
from tests.formats.slippi.built import bookend, post, pre, start
from tests.formats.slippi.writer import PlayerSetup, ReplayWriter, game_start

VERSION = (3, 18, 0)
DAY = datetime(2026, 3, 14, 10, tzinfo=UTC).timestamp()
STOCKS = 4
TIME, GAME, NO_CONTEST = 1, 2, 7
FOX, MARTH, SHEIK = 2, 9, 19
DREAM_LAND, BATTLEFIELD = 28, 31


class Seat(NamedTuple):
    """Who sits at a port."""

    name: str = ""
    code: str = ""
    tag: str = ""
    character: int = FOX
    colour: int = 0
    team: int = 0
    cpu: bool = False


def replay(
    seats: Mapping[int, Seat],
    left: Mapping[int, int],
    *,
    seconds: float,
    minute: float,
    method: int = GAME,
    quitter: int = -1,
    percent: Mapping[int, float] | None = None,
    stage: int = BATTLEFIELD,
    ended: bool = True,
    session: str = "",
) -> bytes:
    """A game of these players, by player index, who have so many stocks left at its end. It began that `minute` of the
    day; without `ended` it has no Game End, as when the console was switched off."""
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
            start_stocks=STOCKS,
        )
        for index, seat in sorted(seats.items())
    ]
    writer = ReplayWriter(VERSION)
    opening = game_start(
        VERSION, players=setups, stage_id=stage, is_teams=teams, random_seed=round(minute * 60), session_id=session
    )
    parts = [writer.open(), writer.event(opening)]
    last = FIRST_PLAYABLE_FRAME + round(seconds * FRAMES_PER_SECOND)
    phases = 2 * STOCKS
    length = last + 1 - FIRST_FRAME
    at = FIRST_FRAME
    for phase in range(1, phases + 1):
        past = FIRST_FRAME + length * phase // phases if phase < phases else last
        stocks = {i: max(left[i], STOCKS - phase * STOCKS // phases) for i in seats}
        parts.append(_same(writer, at, past, seats, stocks, {}))
        at = past
    parts.append(_same(writer, last, last + 1, seats, left, percent or {}))
    if ended:
        ranking = sorted(seats, key=lambda i: (-left[i], (percent or {}).get(i, 0.0)))
        if teams:
            best = seats[ranking[0]].team
            ranking.sort(key=lambda i: seats[i].team != best)
        places = [ranking.index(i) if i in seats else -1 for i in range(4)]
        parts.append(writer.end(method, lras_initiator=quitter, placements=tuple(places)))  # type: ignore[arg-type]
        began = datetime.fromtimestamp(DAY + 60 * minute, UTC).isoformat().replace("+00:00", "Z")
        parts.append(writer.close({"startAt": began, "lastFrame": last, "players": {}, "playedOn": "dolphin"}))
        return writer.header() + b"".join(parts)[container.HEADER_BYTES :]
    return b"".join(parts)


def _same(
    writer: ReplayWriter,
    first: int,
    past: int,
    indices: Mapping[int, Seat],
    stocks: Mapping[int, int],
    percent: Mapping[int, float],
) -> bytes:
    """Frames that differ in their numbers alone. Those who are out are not in them, but for the last frame of a game of
    two."""
    there = [i for i in sorted(indices) if stocks[i] or len(indices) == 2]
    events = [start(first), *(pre(first, i) for i in there)]
    events += [post(first, i, stocks_remaining=stocks[i], percent=percent.get(i, 20.0 + i)) for i in there]
    like = ReplayWriter(VERSION)  # the other one counts what is written
    parts = [like.event(each) for each in (*events, bookend(first))]
    frames = []
    for number in range(first, past):
        packed = struct.pack(">i", number)
        frames += [part[:1] + packed + part[5:] for part in parts[:-1]]
        frames.append(bytes([FRAME_BOOKEND.command]) + packed + packed)
    return writer.raw(b"".join(frames))


class Folder:
    """A station's folder: replays are put into it, and the index reads them as it reads old files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = path.parent / f"{path.name}-state"
        path.mkdir()

    def add(self, minute: float, data: bytes, *, lasts: float = 2.0) -> None:
        """A file that was written last so many minutes after the game began."""
        path = self.path / f"Game_{minute:07.2f}.slp"
        path.write_bytes(data)
        at = DAY + 60 * (minute + lasts)
        os.utime(path, (at, at))

    def games(self) -> list[PlayedGame]:
        """What the index says of them."""
        with closing(open_database(self._state / FILE_NAME)) as database:
            files = [OldFile(path, path.stat().st_mtime_ns, path.stat().st_size) for path in self.path.iterdir()]
            database.put(look(lambda path: read_game(path).record(), "main", file) for file in files)
            return played_games(database.played("main", 1000), ())


class Table:
    """The games of a station with an operator beside it."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.games: Sequence[PlayedGame] = ()
        self.corrections = Corrections()

    def say(self, **patch: object) -> None:
        """What the operator says now; as JSON has it."""
        said = msgspec.convert(patch, SetPatch)
        newest = lambda corrections: newest_set(self.games, corrections, self.rules)  # noqa: E731
        self.corrections = corrected(self.corrections, said, newest)

    @property
    def set(self) -> Set:
        """The newest one."""
        return newest_set(self.games, self.corrections, self.rules)

    def sets(self) -> list[Set]:
        """All of them."""
        return sets_of(self.games, self.corrections, self.rules)

    def said(self) -> list[object]:
        """All of them, as the outside sees them."""
        return [msgspec.to_builtins(score_of(each, self.corrections)) for each in self.sets()]
