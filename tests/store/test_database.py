"""The database returns the stored games: in ordered pages, and single games with their files."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from slpstream.model.summary import GameSummary
from slpstream.store import FILE_NAME, Database, Entry, GamesQuery, StartTime, StoredGame, open_database
from tests.store import samples
from tests.store.pages import every

NAMES = ("ann", "bob", "cleo", "Ünal")
STATIONS = ("main", "side")


ALL = GamesQuery()


def ids(database: Database, query: GamesQuery = ALL, limit: int = 100) -> list[int]:
    """The numbers of the games that match a query, page by page."""
    found = every("games", database.games.page, msgspec.structs.replace(query, limit=limit))
    return [int(game.game_id, 16) for game in found]


def stored(database: Database, number: int = 1) -> StoredGame:
    """A game that the database must have."""
    game = database.games.get(samples.game_id(number))
    assert game is not None
    return game


def test_corrections_belong_to_stations_and_survive_the_removal_of_files(database: Database) -> None:
    database.corrections.keep("main", b'{"x":1}')
    database.corrections.keep("side", b"{}")
    database.corrections.keep("main", b'{"x":2}')
    database.games.add([samples.entry(1)])
    database.games.remove_files([samples.entry(1).path])
    assert database.corrections.all() == {"main": b'{"x":2}', "side": b"{}"}


def test_games_are_listed_newest_first(database: Database) -> None:
    database.games.add([samples.entry(number) for number in (2, 0, 1)])
    assert ids(database) == [2, 1, 0]
    [newest, *_] = database.games.page(GamesQuery(limit=1)).games
    assert newest.started_at_ms == 1000 * (samples.DAY_ONE + 120 - 30), "a game ends with the last write to its file"
    assert (newest.station, newest.format, newest.reason) == ("main", "slippi", "game_end")
    summary = msgspec.json.decode(newest.summary, type=GameSummary)
    assert summary.winners == [1]
    assert [player.name for player in summary.players] == ["ann", "bob"]


def test_start_time_in_the_metadata_takes_precedence(database: Database) -> None:
    database.games.add(
        [
            samples.entry(1),
            samples.entry(2, events=(samples.start(2), samples.end(), samples.metadata("2020-01-01T00:00:00Z"))),
        ]
    )
    assert ids(database) == [1, 2]


def arrived(number: int, second: int, **values: Any) -> Entry:
    """The entry of a game that arrived `second` seconds after game 0 was played. The console's clock is wrong."""
    events = (samples.start(number), samples.end(), samples.metadata(f"20{40 - number}-01-01T00:00:00Z"))
    entry = samples.entry(number, events=events, **values)
    entry.arrived_at_ms = 1000 * (samples.DAY_ONE + second)
    return entry


def test_games_are_listed_in_the_order_in_which_they_arrived(database: Database) -> None:
    database.games.add([arrived(number, 100 * number) for number in range(4)])
    database.games.add([samples.entry(9, at=samples.DAY_ONE + 250 + 30)])
    assert ids(database) == ids(database, GamesQuery(station="main"), limit=2) == [3, 9, 2, 1, 0]
    since = GamesQuery(since=StartTime(1000 * (samples.DAY_ONE + 200)))
    assert ids(database, since) == [3, 9, 2]
    [newest, *_] = database.games.page(ALL).games
    assert (newest.arrived_at_ms, newest.started_at_ms) == (1000 * (samples.DAY_ONE + 300), 2_114_380_800_000)
    [newest_played, *_] = database.games.played("main", 1)
    assert newest_played.arrived_at_ms == 1000 * (samples.DAY_ONE + 300)


def test_clock_that_is_set_back_does_not_change_the_order_of_arrival(database: Database) -> None:
    for number, second in enumerate((500, 600, 100, 100, 650)):
        database.games.add([arrived(number, second)])
    assert ids(database) == [4, 3, 2, 1, 0]
    times = [game.arrived_at_ms for game in database.games.page(ALL).games]
    assert times == [1000 * (samples.DAY_ONE + second) for second in (650, 100, 100, 600, 500)]


def test_arrival_is_kept_when_a_file_is_read_again_or_copied(database: Database) -> None:
    first = arrived(1, 100)
    database.games.add([first, arrived(2, 200)])
    later = arrived(1, 900)
    again = msgspec.structs.replace(first, arrived_at_ms=None, mtime_ns=first.mtime_ns + 1)
    copy = msgspec.structs.replace(again, path=b"/replays/copy.slp", size_bytes=first.size_bytes + 1)
    for entry in (later, again, copy):
        database.games.add([entry])
    database.games.remove_files([first.path])
    assert ids(database) == [2, 1]
    game = stored(database)
    assert game.row.arrived_at_ms == first.arrived_at_ms


def test_games_expire_by_their_arrival(database: Database) -> None:
    database.games.add([arrived(number, 100 * number) for number in range(4)])
    assert database.games.expire(before_ms=1000 * (samples.DAY_ONE + 200), max_bytes=None) == 2
    assert ids(database) == [3, 2]


ENDED = GamesQuery(order="ended")


def test_games_are_listed_by_their_end_as_the_daemon_saw_it(database: Database) -> None:
    """The order does not depend on the consoles' clocks or the beginnings of games. Games in progress are left out."""
    played = samples.entry(7, at=samples.DAY_ONE + 10_000, events=(samples.start(7),))
    entries = [arrived(number, 100 * number) for number in range(4)]
    for entry, second in zip(entries, (900, 400, 500, 450), strict=True):
        entry.ended_at_ms = 1000 * (samples.DAY_ONE + second)
    ahead = samples.entry(
        5, at=samples.DAY_ONE + 480, events=(samples.start(5), samples.end(), samples.metadata("2040-01-01T00:00:00Z"))
    )
    database.games.add([played, *entries, ahead])
    assert ids(database, ENDED) == ids(database, ENDED, limit=2) == [0, 2, 5, 3, 1]
    assert ids(database, GamesQuery(order="ended", station="main", player="bob", format="slippi")) == [0, 2, 5, 3, 1]
    assert ids(database, GamesQuery(order="ended", since=StartTime(1000 * (samples.DAY_ONE + 480)))) == [0, 2, 5]
    shown = {int(game.game_id, 16): game.ended_at_ms for game in database.games.page(ALL).games}
    assert shown[7] is None
    assert shown[5] == 1000 * (samples.DAY_ONE + 480), "the last write to its file"


def test_end_of_a_game_is_kept_until_the_game_is_removed(database: Database) -> None:
    first = arrived(1, 100)
    first.ended_at_ms = 1000 * (samples.DAY_ONE + 400)
    again = msgspec.structs.replace(first, ended_at_ms=None, mtime_ns=first.mtime_ns + samples.SECOND)
    for entry in (first, again):
        database.games.add([entry])
    [game] = database.games.page(ENDED).games
    assert game.ended_at_ms == first.ended_at_ms
    database.games.remove_files([first.path])
    assert ids(database, ENDED) == []
    database.games.add([again])
    database.games.expire(before_ms=1 << 60, max_bytes=None)
    assert ids(database, ENDED) == []


def test_end_is_never_in_the_future(database: Database) -> None:
    database.games.add([samples.entry(1, at=samples.DAY_ONE + 10**9)])
    [game] = database.games.page(ENDED).games
    assert game.ended_at_ms is not None
    assert game.ended_at_ms < 1000 * (samples.DAY_ONE + 10**9)


def test_corrected_arrival_moves_the_end_along(database: Database) -> None:
    before, after = arrived(1, 100), arrived(2, 200)
    hour_ms = 3_600_000
    assert before.arrived_at_ms is not None
    assert after.arrived_at_ms is not None
    before.ended_at_ms = before.arrived_at_ms + 60_000
    after.ended_at_ms = after.arrived_at_ms + hour_ms + 60_000  # the clock was set while it was played
    database.games.add([before, after])
    ends = [before.ended_at_ms + hour_ms, after.ended_at_ms]
    arrivals = {samples.game_id(1): before.arrived_at_ms + hour_ms, samples.game_id(2): after.arrived_at_ms + hour_ms}
    database.games.correct_arrivals(arrivals)
    assert [game.ended_at_ms for game in reversed(database.games.page(ENDED).games)] == ends


def test_games_of_folders_that_are_not_watched_are_left_out(database: Database) -> None:
    def native(path: str) -> str:
        return path.replace("/", os.sep)

    entries = [
        samples.entry(number, path=native(path))
        for number, path in enumerate(("/a/main/0.slp", "/b/main/1.slp", "/a/main2/2.slp", "/a/main/sub/3.slp"))
    ]
    copy = msgspec.structs.replace(entries[1], path=native("/a/main/copy.slp").encode(), size_bytes=1)
    main, main2, other = (native(folder).encode() for folder in ("/a/main", "/a/main2", "/b/main/"))
    database.games.add([*entries, copy])
    watched = GamesQuery(watched=True)
    for query in (watched, GamesQuery(watched=True, order="ended", station="main")):
        page = database.games.page(query, [main])
        assert [int(game.game_id, 16) for game in page.games] == [3, 1, 0]
        assert [int(game.game_id, 16) for game in database.games.page(query, [other, main2]).games] == [2, 1]
        assert database.games.page(query, []).games == []
    assert len(database.games.page(ALL, [main]).games) == len(entries)


Game = tuple[int, frozenset[str], str, int]


@st.composite
def games_and_query(draw: st.DrawFn) -> tuple[list[Game], GamesQuery, int]:
    """Some games, many of them at the same time, a query, and a page size."""
    count = draw(st.integers(0, 25))
    games = [
        (
            number,
            frozenset(draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))),
            draw(st.sampled_from(STATIONS)),
            samples.DAY_ONE + draw(st.integers(0, 8)),
        )
        for number in range(count)
    ]
    unset = st.just(UNSET)
    times = unset | st.integers(-1, 9).map(lambda second: StartTime((samples.DAY_ONE + second - 30) * 1000))
    query = GamesQuery(
        station=draw(unset | st.sampled_from((*STATIONS, "nowhere"))),
        player=draw(unset | st.sampled_from((*NAMES, "ANN", " Bob ", "ÜNAL", "bob#0", "nobody", ""))),
        format=draw(unset | st.sampled_from(("slippi", "gci"))),
        since=draw(times),
        until=draw(times),
    )
    return games, query, draw(st.integers(1, 6))


@pytest.mark.slow
@pytest.mark.fuzz
@settings(max_examples=60)
@given(games_and_query())
def test_pages_have_each_matching_game_once_and_in_order(case: tuple[list[Game], GamesQuery, int]) -> None:
    games, query, limit = case
    with TemporaryDirectory() as folder, closing(open_database(Path(folder) / FILE_NAME)) as database:
        database.games.add(
            [samples.entry(n, *sorted(names), station=station, at=at) for n, names, station, at in games]
        )
        expected = [
            number
            for number, names, station, at in games
            if query.station in (UNSET, station)
            and query.format in (UNSET, "slippi")
            and (query.player is UNSET or query.player.strip().casefold() in terms(names))
            and (query.since is UNSET or (at - 30) * 1000 >= query.since)
            and (query.until is UNSET or (at - 30) * 1000 < query.until)
        ]
        expected.sort(key=lambda number: (games[number][3], number), reverse=True)
        assert ids(database, query, limit) == expected


def terms(names: frozenset[str]) -> set[str]:
    return {
        term for i, name in enumerate(sorted(names)) for term in (name.casefold(), f"{name.upper()}#{i}".casefold())
    }


def test_games_added_between_two_pages_do_not_shift_them(database: Database) -> None:
    database.games.add([samples.entry(number) for number in range(0, 20, 2)])
    first = database.games.page(GamesQuery(limit=5))
    assert first.next is not None
    database.games.add([samples.entry(number) for number in range(1, 20, 2)])
    second = database.games.page(GamesQuery(cursor=first.next, limit=100))
    assert [int(game.game_id, 16) for game in second.games] == list(range(9, -1, -1))


def test_reading_a_file_again_from_its_beginning_removes_nothing(database: Database) -> None:
    whole = samples.entry(1, events=(samples.start(1), samples.stats(), samples.end(), samples.metadata()))
    database.games.add([whole])
    before = database.games.get(samples.game_id(1))
    for events in ((samples.start(1),), (samples.start(1), samples.end())):
        database.games.add([samples.entry(1, events=events)])
        assert database.games.get(samples.game_id(1)) == before


def test_game_in_two_files_is_described_by_the_newest_file(database: Database) -> None:
    database.games.add([samples.entry(1, station="main", path="/a/new.slp", at=samples.DAY_ONE + 100)])
    old = samples.entry(
        1, station="side", path="/b/old.slp", at=samples.DAY_ONE, events=(samples.start(1), samples.end(7.0))
    )
    database.games.add([old])
    game = stored(database)
    assert [file.path for file in game.files] == [b"/a/new.slp", b"/b/old.slp"]
    assert (game.row.station, game.row.duration_seconds) == ("main", 30.0)
    assert ids(database, GamesQuery(station="side")) == ids(database, GamesQuery(station="main")) == [1]
    database.games.remove_files([b"/a/new.slp"])
    game = stored(database)
    assert (game.row.station, [file.path for file in game.files]) == ("side", [b"/b/old.slp"])
    assert ids(database, GamesQuery(station="main")) == []
    database.games.remove_files([b"/b/old.slp", b"/never/was.slp"])
    assert database.games.get(samples.game_id(1)) is None
    assert ids(database, GamesQuery(player="ann")) == []


WHOLE_GAME = (samples.start(1), samples.end(), samples.metadata())
CUT_OFF = (samples.start(1), msgspec.structs.replace(samples.end(7.0), reason="incomplete", last_frame=300))


@pytest.mark.parametrize("cut_first", [True, False])
def test_newer_copy_that_was_cut_off_does_not_hide_the_whole_file(database: Database, cut_first: bool) -> None:
    whole = samples.entry(1, path="/a/whole.slp", at=samples.DAY_ONE, events=WHOLE_GAME)
    cut = samples.entry(1, path="/b/cut.slp", at=samples.DAY_ONE + 100, station="side", events=CUT_OFF)
    cut.size_bytes = 600
    for entry in (cut, whole) if cut_first else (whole, cut):
        database.games.add([entry])
    game = stored(database)
    assert [file.path for file in game.files] == [b"/a/whole.slp", b"/b/cut.slp"]
    assert (game.row.station, game.row.reason, game.row.duration_seconds) == ("main", "game_end", 30.0)
    [listed] = database.games.played("side", 10)
    assert (listed.reason, listed.mtime_ns) == ("game_end", whole.mtime_ns)


def test_larger_of_two_unfinished_files_counts(database: Database) -> None:
    more = samples.entry(1, path="/a/more.slp", events=CUT_OFF)
    less = samples.entry(1, path="/a/less.slp", at=samples.DAY_ONE + 500, events=CUT_OFF)
    less.size_bytes = more.size_bytes - 1
    database.games.add([more, less])
    game = stored(database)
    assert [file.path for file in game.files] == [b"/a/more.slp", b"/a/less.slp"]


def test_whole_file_that_is_read_from_its_beginning_still_counts(database: Database) -> None:
    database.games.add([samples.entry(1, path="/a/whole.slp", events=WHOLE_GAME)])
    cut = samples.entry(1, path="/b/cut.slp", at=samples.DAY_ONE + 100, events=CUT_OFF)
    database.games.add([cut, samples.entry(1, path="/a/whole.slp", events=WHOLE_GAME[:1])])
    game = stored(database)
    assert (game.files[0].path, game.row.reason) == (b"/a/whole.slp", "game_end")


def test_file_with_another_game_replaces_the_first_game(database: Database) -> None:
    database.games.add([samples.entry(1, path="/a.slp")])
    database.games.add([samples.entry(2, path="/a.slp")])
    assert database.games.get(samples.game_id(1)) is None
    assert ids(database) == ids(database, GamesQuery(player="bob")) == [2]
    database.games.add([Entry(station="main", path=b"/a.slp", mtime_ns=1, size_bytes=2, problem="not a replay")])
    assert ids(database) == []
    assert database.games.known_files("main") == {b"/a.slp": (1, 2)}


def test_stored_stats_survive_another_read_of_the_file(database: Database) -> None:
    database.games.add([samples.entry(1, events=(samples.start(1), samples.end()))])
    database.games.keep_stats(samples.game_id(1), b'{"overall":[]}')
    database.games.add([samples.entry(1, events=(samples.start(1), samples.end()))])
    game = stored(database)
    assert game.details.stats == '{"overall":[]}', "stats are kept when the index is built again"


def test_entries_are_stored_all_or_nothing(database: Database) -> None:
    wrong = msgspec.structs.replace(samples.entry(2), mtime_ns="yesterday")
    with pytest.raises(sqlite3.IntegrityError):
        database.games.add([samples.entry(1), wrong])
    assert database.games.count() == 0
    database.games.add([samples.entry(1)])
    assert database.games.count() == 1


def test_readers_see_whole_batches_while_others_write(database: Database) -> None:
    stop, failures = threading.Event(), list[BaseException]()

    def read() -> None:
        try:
            while not stop.is_set():
                found = ids(database, GamesQuery(station="main"), limit=7)
                assert found == sorted(found, reverse=True)
                assert database.games.count() % 10 == 0
                game = database.games.get(samples.game_id(3))
                assert game is None or len(game.files) == 1
        except BaseException as error:  # noqa: BLE001 -- reported by the main thread
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for first in range(0, 300, 10):
        database.games.add([samples.entry(number) for number in range(first, first + 10)])
    stop.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert database.games.count() == 300


def test_two_processes_can_open_the_database(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(open_database(path)) as one, closing(open_database(path)) as other:
        one.games.add([samples.entry(1)])
        other.games.add([samples.entry(2)])
        assert ids(one) == ids(other) == [2, 1]
