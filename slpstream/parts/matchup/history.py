"""Reads the earlier sets of two people from the index. All of this blocks.

Reading everything would take seconds in a large index. So we read the newest games of both, and the newest ones that
they played against each other, each along an index of the database. Sets that were played by people without a name in
the replays are found by the names that operators and phones have given to them. If it matters which games form a set,
we also read the game before each one, because it shows where a set begins.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from slpstream.model.foreign_data import json_or_none
from slpstream.model.prepared import prepared
from slpstream.model.summary import IndexedGame
from slpstream.parts.matchup.people import Person
from slpstream.sets import Corrections, Rules, Set, played_games, sets_of
from slpstream.sets.matching import folded
from slpstream.store import Database
from slpstream.store.documents import decode_standings, decode_summary
from slpstream.store.game_record import folded as tag_value
from slpstream.store.player_games import Place, newest_places

OWN_GAMES = 24
"""The newest games of each person that are read."""
SHARED_GAMES = 60
"""The newest games of both people that are read."""
RESULTS_SECONDS = 12 * 60 * 60
"""How long before a set the results of its players are listed."""
_SEARCHED_GAMES = 4000
"""Games of the person with fewer games, in which we look for the other one."""
_NAMED_GAMES = 8
_AROUND_NAMED = 6
"""Games of a station before and after the game in which a name was given: those of the same set are among them."""
_COLUMNS = ", ".join("f.mtime_ns" if name == "mtime_ns" else f"g.{name}" for name in IndexedGame._fields)


class History(NamedTuple):
    """The sets of two people before a certain time."""

    sets: Sequence[Set]
    """All sets that were read, the oldest first, also those of other people."""
    games: Mapping[str, IndexedGame]
    """Their games, by id."""
    own_since_ms: tuple[int, int]
    """Which games of each person are complete from then on."""
    shared_since_ms: int
    """The same for the games of both. It is 0 if all of them were read."""


class _Overall(msgspec.Struct, rename="camel"):
    player_index: int | None = None
    conversion_count: float = 0
    kill_count: float = 0


@prepared
class _Stats(msgspec.Struct):
    overall: list[_Overall] = []


def read_history(
    database: Database,
    people: tuple[Person, Person],
    before_ms: int,
    corrections: Mapping[str, Corrections],
    rules: Rules,
) -> History:
    """Return the sets of two people that began before a Unix time. `corrections` are those of each station."""
    with database.reader() as reader:
        names = [_tags(person, corrections.values()) for person in people]
        own = [newest_places(reader, tags, OWN_GAMES, before_ms=before_ms) for tags in names]
        shared, shared_since_ms = _shared(reader, names, before_ms)
        found: dict[str, Place] = {game_id: (at_ms, game_id) for keys in own for at_ms, game_id in keys}
        # Older games of one person are only counted, so it doesn't matter which of them form a set.
        recent = {key for keys in own for key in keys if key[0] >= before_ms - 1000 * RESULTS_SECONDS}
        wanted = recent.union(shared)
        stations = _stations(reader, [game_id for _, game_id in wanted])
        for key in wanted:
            found |= _around(reader, stations.get(key[1], ""), key, before_ms, earlier=1, later=0)
        for station, key in _named(reader, people, before_ms, corrections):
            found |= _around(reader, station, key, before_ms, earlier=_AROUND_NAMED, later=_AROUND_NAMED)
        games = _games(reader, found)
    sets: list[Set] = []
    for station in dict.fromkeys(station for station, _ in games.values()):
        at_station = [game for where, game in games.values() if where == station]
        sets += sets_of(played_games(at_station, ()), corrections.get(station, Corrections()), rules)
    known = {game.game_id: game for _, game in games.values()}
    sets = [each for each in sets if each.entries]
    sets.sort(key=lambda each: (known[each.games[0].game_id].listed_at_ms, each.games[0].game_id))
    own_since_ms = tuple(keys[-1][0] if len(keys) == OWN_GAMES else 0 for keys in own)
    return History(sets, known, (own_since_ms[0], own_since_ms[1]), shared_since_ms)


def openings_and_kills(database: Database, indices: Mapping[str, int]) -> tuple[float, float]:
    """Return how many openings and kills a person had in games, for which you pass the player's index by game id."""
    openings = kills = 0.0
    with database.reader() as reader:
        rows = reader.execute(
            "SELECT game_id, stats FROM games WHERE stats IS NOT NULL AND game_id IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode(list(indices)).decode(),),
        ).fetchall()
    for game_id, stats in rows:
        found = json_or_none(stats.encode(), _Stats)
        for each in () if found is None else found.overall:
            if each.player_index == indices[game_id]:
                openings += each.conversion_count
                kills += each.kill_count
    return openings, kills


def _tags(person: Person, corrections: Iterable[Corrections]) -> list[str]:
    """Return the names under which the index has the games of a person."""
    if person.code:
        return [tag_value(person.code)]
    name = folded(person.name)
    # The operator's name for a person who has another one in the replays.
    others = [key for each in corrections for key, given in each.people.items() if folded(given) == name]
    return sorted({tag_value(person.name), *(key.partition(":")[2] for key in others)})


def _shared(reader: sqlite3.Connection, names: Sequence[Sequence[str]], before_ms: int) -> tuple[list[Place], int]:
    """Return the newest games with tags of both people, and from when on these are all of them."""
    found: set[Place] = set()
    since_ms = 0
    for pair in ((one, other) for one in names[0] for other in names[1]):
        count = "SELECT count(*) FROM (SELECT 1 FROM tags WHERE kind = 'player' AND value = ? LIMIT ?)"
        counts = [reader.execute(count, (tag, _SEARCHED_GAMES + 1)).fetchone()[0] for tag in pair]
        fewer, more = pair if counts[0] <= counts[1] else pair[::-1]
        searched = (
            "SELECT listed_at_ms, game_id FROM tags WHERE kind = 'player' AND value = ? AND listed_at_ms < ?"
            " ORDER BY listed_at_ms DESC, game_id DESC LIMIT ?"
        )
        games = reader.execute(
            f"SELECT t.listed_at_ms, t.game_id FROM ({searched}) t WHERE EXISTS (SELECT 1 FROM tags o"  # noqa: S608 -- a constant
            " WHERE o.kind = 'player' AND o.value = ? AND o.listed_at_ms = t.listed_at_ms AND o.game_id = t.game_id)"
            " LIMIT ?",
            (fewer, before_ms, _SEARCHED_GAMES, more, SHARED_GAMES + 1),
        ).fetchall()
        found |= set(games)
        if min(counts) > _SEARCHED_GAMES:
            last = reader.execute(f"{searched} OFFSET ?", (fewer, before_ms, 1, _SEARCHED_GAMES - 1)).fetchone()
            since_ms = max(since_ms, last[0] if last else 0)
    newest = sorted(found, reverse=True)
    if len(newest) > SHARED_GAMES:
        newest = newest[:SHARED_GAMES]
        since_ms = max(since_ms, newest[-1][0])
    return newest, since_ms


def _named(
    reader: sqlite3.Connection, people: Sequence[Person], before_ms: int, corrections: Mapping[str, Corrections]
) -> list[tuple[str, Place]]:
    """Return the newest games in which operators or phones gave the name of one of the people, with their stations."""
    names = {folded(person.name) for person in people if not person.code}
    stations = {
        game_id: station
        for station, each in corrections.items()
        for corrected in (each.since, each.after)
        for game_id, correction in corrected.items()
        if not names.isdisjoint(
            folded(name) for name in (*correction.names.values(), *(seat.name for seat in correction.seats.values()))
        )
    }
    rows = reader.execute(
        "SELECT listed_at_ms, game_id FROM games WHERE listed_at_ms < ? AND game_id IN"
        " (SELECT value FROM json_each(?)) ORDER BY listed_at_ms DESC, game_id DESC LIMIT ?",
        (before_ms, msgspec.json.encode(list(stations)).decode(), _NAMED_GAMES),
    )
    return [(stations[game_id], (listed_at_ms, game_id)) for listed_at_ms, game_id in rows.fetchall()]


def _stations(reader: sqlite3.Connection, game_ids: Iterable[str]) -> dict[str, str]:
    rows: Iterable[tuple[str, str]] = reader.execute(
        "SELECT game_id, station FROM games WHERE game_id IN (SELECT value FROM json_each(?))",
        (msgspec.json.encode(list(game_ids)).decode(),),
    )
    return dict(rows)


def _around(
    reader: sqlite3.Connection, station: str, key: Place, before_ms: int, *, earlier: int, later: int
) -> dict[str, Place]:
    """Return a game, and games of its station before and after it, by id."""
    found: dict[str, Place] = {key[1]: key}
    at_station = "SELECT listed_at_ms, game_id FROM tags WHERE kind = 'station' AND value = ?"
    for limit, rest, values in (
        (earlier, "< (?, ?) ORDER BY listed_at_ms DESC, game_id DESC", key),
        (later, "> (?, ?) AND listed_at_ms < ? ORDER BY listed_at_ms, game_id", (*key, before_ms)),
    ):
        if limit:
            rows: Iterable[Place] = reader.execute(
                f"{at_station} AND (listed_at_ms, game_id) {rest} LIMIT ?", (station, *values, limit)
            )
            found |= {row[1]: row for row in rows}
    return found


def _games(reader: sqlite3.Connection, game_ids: Iterable[str]) -> dict[str, tuple[str, IndexedGame]]:
    """Return games with their stations, by id."""
    rows: Iterable[Sequence[Any]] = reader.execute(
        f"SELECT g.station, {_COLUMNS} FROM games g LEFT JOIN files f ON f.path = g.path"  # noqa: S608 -- the names of our columns
        " WHERE g.game_id IN (SELECT value FROM json_each(?))",
        (msgspec.json.encode(list(game_ids)).decode(),),
    )
    return {
        game_id: (
            station,
            IndexedGame(game_id, decode_summary(summary), decode_standings(standings or "{}"), *others),
        )
        for station, game_id, summary, standings, *others in rows
    }
