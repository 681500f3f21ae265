"""What is put in comes out: lists in order and by pages, one game with its files, while others write."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.store import FILE_NAME, Database, Entry, Wanted, open_database
from slpstream.store.database import Place
from tests.store import made

NAMES = ("ann", "bob", "cleo", "Ünal")
STATIONS = ("main", "side")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(tmp_path / FILE_NAME)) as database:
        yield database


ALL = Wanted()


def ids(database: Database, wanted: Wanted = ALL, limit: int = 100) -> list[int]:
    """The numbers of the games of a list, page after page."""
    found: list[int] = []
    place: Place | None = None
    while True:
        page = database.page(wanted, place, limit)
        assert len(page.games) <= limit
        assert page.next is None or len(page.games) == limit
        found += [int(game.game_id, 16) for game in page.games]
        place = page.next
        if place is None:
            return found


def test_what_sets_are_made_of(database: Database) -> None:
    database.put([made.entry(number, station=station) for number, station in ((2, "main"), (0, "main"), (1, "side"))])
    assert [int(row.game_id, 16) for row in database.played("main", 10)] == [2, 0]
    assert [int(row.game_id, 16) for row in database.played("main", 1)] == [2]
    [row] = database.played("side", 10)
    assert (row.mtime_ns, row.reason, row.winners) == ((made.DAY_ONE + 60) * made.SECOND, "game_end", "[1]")
    assert row.standings == "{}", "the end said nothing of them"


def test_corrections_are_kept_by_station_and_no_file_takes_them_along(database: Database) -> None:
    database.keep_corrections("main", b'{"x":1}')
    database.keep_corrections("side", b"{}")
    database.keep_corrections("main", b'{"x":2}')
    database.put([made.entry(1)])
    database.remove([made.entry(1).path])
    assert database.corrections() == {"main": b'{"x":2}', "side": b"{}"}


# -- lists ------------------------------------------------------------------------------------------------------------


def test_newest_first(database: Database) -> None:
    database.put([made.entry(number) for number in (2, 0, 1)])
    assert ids(database) == [2, 1, 0]
    [newest, *_] = database.page(Wanted(), None, 1).games
    assert newest.started_at_ms == 1000 * (made.DAY_ONE + 120 - 30), "the file was written last when the game ended"
    assert (newest.station, newest.format, newest.reason, newest.winners) == ("main", "slippi", "game_end", "[1]")
    assert [player["name"] for player in msgspec.json.decode(newest.players)] == ["ann", "bob"]


def test_what_the_file_says_of_its_time_counts(database: Database) -> None:
    database.put(
        [made.entry(1), made.entry(2, events=(made.start(2), made.end(), made.metadata("2020-01-01T00:00:00Z")))]
    )
    assert ids(database) == [1, 2]


Game = tuple[int, frozenset[str], str, int]


@st.composite
def games_and_question(draw: st.DrawFn) -> tuple[list[Game], Wanted, int]:
    """Some games, many of them at the same time, and what somebody wants of them."""
    count = draw(st.integers(0, 25))
    games = [
        (
            number,
            frozenset(draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))),
            draw(st.sampled_from(STATIONS)),
            made.DAY_ONE + draw(st.integers(0, 8)),
        )
        for number in range(count)
    ]
    moments = st.none() | st.integers(-1, 9).map(lambda second: (made.DAY_ONE + second - 30) * 1000)
    wanted = Wanted(
        station=draw(st.none() | st.sampled_from((*STATIONS, "nowhere"))),
        player=draw(st.none() | st.sampled_from((*NAMES, "ANN", " Bob ", "ÜNAL", "bob#0", "nobody", ""))),
        format=draw(st.none() | st.sampled_from(("slippi", "gci"))),
        since_ms=draw(moments),
        until_ms=draw(moments),
    )
    return games, wanted, draw(st.integers(1, 6))


@pytest.mark.fuzz
@settings(max_examples=60, deadline=None)
@given(games_and_question())
def test_pages_have_every_game_that_is_wanted_once_and_in_order(case: tuple[list[Game], Wanted, int]) -> None:
    games, wanted, limit = case
    with TemporaryDirectory() as folder, closing(open_database(Path(folder) / FILE_NAME)) as database:
        database.put([made.entry(n, *sorted(names), station=station, at=at) for n, names, station, at in games])
        expected = [
            number
            for number, names, station, at in games
            if wanted.station in (None, station)
            and wanted.format in (None, "slippi")
            and (wanted.player is None or wanted.player.strip().casefold() in terms(names))
            and (wanted.since_ms is None or (at - 30) * 1000 >= wanted.since_ms)
            and (wanted.until_ms is None or (at - 30) * 1000 < wanted.until_ms)
        ]
        expected.sort(key=lambda number: (games[number][3], number), reverse=True)
        assert ids(database, wanted, limit) == expected


def terms(names: frozenset[str]) -> set[str]:
    return {
        term for i, name in enumerate(sorted(names)) for term in (name.casefold(), f"{name.upper()}#{i}".casefold())
    }


def test_games_that_come_between_two_pages_shift_nothing(database: Database) -> None:
    database.put([made.entry(number) for number in range(0, 20, 2)])
    first = database.page(Wanted(), None, 5)
    database.put([made.entry(number) for number in range(1, 20, 2)])
    second = database.page(Wanted(), first.next, 100)
    assert [int(game.game_id, 16) for game in second.games] == list(range(9, -1, -1))


# -- one game ---------------------------------------------------------------------------------------------------------


def test_a_game_comes_in_pieces(database: Database) -> None:
    database.put([made.entry(1, events=(made.start(1),))])
    running = database.game(made.game_id(1))
    assert running is not None
    assert running.row.reason is None
    database.put([made.entry(1, at=made.DAY_ONE + 100, events=(made.stats(), made.end()))])
    database.put([made.entry(1, at=made.DAY_ONE + 101, events=(made.metadata(),))])
    game = database.game(made.game_id(1))
    assert game is not None
    assert (game.row.reason, game.row.last_frame, game.row.started_at_ms) == ("game_end", 1676, made.DAY_ONE * 1000)
    assert msgspec.json.decode(game.details.settings)["stageId"] == 3
    assert msgspec.json.decode(game.details.stats or "")["overall"] == [{"killCount": 4}]
    assert [file.mtime_ns for file in game.files] == [(made.DAY_ONE + 101) * made.SECOND]


def test_pieces_of_a_game_that_never_began_are_not_kept(database: Database) -> None:
    database.put([made.entry(1, events=(made.end(),))])
    assert database.count() == 0
    assert database.known_files("main") == {}


def test_the_same_game_twice_is_the_newest_file(database: Database) -> None:
    database.put([made.entry(1, station="main", path="/a/new.slp", at=made.DAY_ONE + 100)])
    old = made.entry(1, station="side", path="/b/old.slp", at=made.DAY_ONE, events=(made.start(1), made.end(7.0)))
    database.put([old])
    game = database.game(made.game_id(1))
    assert game is not None
    assert [file.path for file in game.files] == [b"/a/new.slp", b"/b/old.slp"]
    assert (game.row.station, game.row.duration_seconds) == ("main", 30.0)
    assert ids(database, Wanted(station="side")) == ids(database, Wanted(station="main")) == [1]
    database.remove([b"/a/new.slp"])
    game = database.game(made.game_id(1))
    assert game is not None
    assert (game.row.station, [file.path for file in game.files]) == ("side", [b"/b/old.slp"])
    assert ids(database, Wanted(station="main")) == []
    database.remove([b"/b/old.slp", b"/never/was.slp"])
    assert database.game(made.game_id(1)) is None
    assert ids(database, Wanted(player="ann")) == []


def test_another_game_under_the_same_name(database: Database) -> None:
    database.put([made.entry(1, path="/a.slp")])
    database.put([made.entry(2, path="/a.slp")])
    assert database.game(made.game_id(1)) is None
    assert ids(database) == ids(database, Wanted(player="bob")) == [2]
    database.put([Entry(station="main", path=b"/a.slp", mtime_ns=1, size_bytes=2, problem="not a replay")])
    assert ids(database) == []
    assert database.known_files("main") == {b"/a.slp": (1, 2)}


def test_stats_that_somebody_computed(database: Database) -> None:
    database.put([made.entry(1, events=(made.start(1), made.end()))])
    database.keep_stats(made.game_id(1), b'{"overall":[]}')
    database.put([made.entry(1, events=(made.start(1), made.end()))])
    game = database.game(made.game_id(1))
    assert game is not None
    assert game.details.stats == '{"overall":[]}', "to make the index anew does not lose them"


def test_all_or_nothing(database: Database) -> None:
    wrong = msgspec.structs.replace(made.entry(2), mtime_ns="yesterday")
    with pytest.raises(sqlite3.IntegrityError):
        database.put([made.entry(1), wrong])
    assert database.count() == 0
    database.put([made.entry(1)])
    assert database.count() == 1


def test_readers_see_whole_batches_while_others_write(database: Database) -> None:
    stop, failures = threading.Event(), list[BaseException]()

    def read() -> None:
        try:
            while not stop.is_set():
                found = ids(database, Wanted(station="main"), limit=7)
                assert found == sorted(found, reverse=True)
                assert database.count() % 10 == 0
                game = database.game(made.game_id(3))
                assert game is None or len(game.files) == 1
        except BaseException as error:  # noqa: BLE001 -- told by the main thread
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for first in range(0, 300, 10):
        database.put([made.entry(number) for number in range(first, first + 10)])
    stop.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert database.count() == 300


def test_two_processes_can_have_it_open(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(open_database(path)) as one, closing(open_database(path)) as other:
        one.put([made.entry(1)])
        other.put([made.entry(2)])
        assert ids(one) == ids(other) == [2, 1]
