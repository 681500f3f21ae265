"""Damaged databases are replaced by working ones, and the replacement is reported once.

The damage is random, from seeds. Damage that SQLite does not detect is written with SQL.
"""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest
import trio

from slpstream.model.errors import SinkError
from slpstream.model.setup import CodeList
from slpstream.parts.audit.indexed_setups import newest_setups
from slpstream.parts.deliveries.store import DeliveryStore
from slpstream.parts.highlights import pages as highlights
from slpstream.parts.services import Delivery
from slpstream.parts.situations import stored as situations
from slpstream.parts.situations.query import FoundSituation, SituationsQuery
from slpstream.store import FILE_NAME, GameIndex, GamesQuery, open_database
from slpstream.store.highlights_query import HighlightsQuery
from slpstream.store.tables.games import Games
from tests.project import has_part
from tests.store import samples

OnDamage = Callable[[Path, str], None]
GAMES = 30
SITUATION = {"gameId": samples.game_id(1), "name": "s", "query": "q", "number": 1}


def fill_index(path: Path) -> None:
    with closing(open_database(path)) as database:
        database.games.add([samples.with_highlights(number, [30, 20]) for number in range(GAMES)])
        database.setups.keep_codes(samples.game_id(1), CodeList(fingerprint="f", count=0))
        situations.add(database, [FoundSituation("main", SITUATION, 5)])
        database.corrections.keep("main", b'{"bestOf":5}')
        database.remembered.keep({"on_air": b'"main"', "other": b"1"})


def use_index(path: Path, on_damage: OnDamage = lambda aside, what: None) -> None:
    open_database(path, on_damage=on_damage).close()


def deliveries(path: Path, on_damage: OnDamage = lambda aside, what: None) -> None:
    with closing(DeliveryStore(path, on_damage=on_damage)) as store:
        made = [Delivery(f"key {number}", "set", b"{}") for number in range(GAMES)]
        store.store("hook", "main", made, 5, offsets="{}", running_games="{}")
        store.retain({"hook"})


def reports(path: Path, on_damage: OnDamage = lambda aside, what: None) -> None:
    from slpstream.parts.bracket.reports import ReportEntry, ReportStore

    with closing(ReportStore(path, on_damage=on_damage)) as store:
        store.keep("b", [ReportEntry("main", f"{number}", True, b"{}") for number in range(GAMES)], 5)
        assert len(store.entries("b")) >= GAMES


STORES = {"index": (fill_index, use_index), "deliveries": (deliveries, deliveries)}
if has_part("bracket"):
    STORES["reports"] = (reports, reports)


def overwritten(seed: int, count: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        chance, data = random.Random(seed), bytearray(path.read_bytes())
        for _ in range(count):
            data[chance.randrange(100, len(data))] = chance.randrange(256)
        path.write_bytes(data)

    return damage


def flipped(offset: int, bit: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[offset] ^= 1 << bit
        path.write_bytes(data)

    return damage


def written(make: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda path: void(path.write_bytes(make(path.read_bytes())))


def void(_: object) -> None:
    """Ignore a result."""


def folder_at(suffix: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        place = path.with_name(path.name + suffix)
        place.unlink(missing_ok=True)
        place.mkdir()
        (place / "file").write_bytes(b"x")

    return damage


def statement(sql: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(sql)
            connection.commit()

    return damage


DAMAGES: dict[str, Callable[[Path], None]] = {
    **{f"random {seed}": overwritten(seed, 3000) for seed in range(4)},
    **{f"few {seed}": overwritten(seed, 3) for seed in range(4)},
    **{f"bit {offset}.{offset % 8}": flipped(offset, offset % 8) for offset in range(0, 112, 9)},
    "version": flipped(62, 0),
    "negative version": flipped(60, 7),
    "version 0": statement("PRAGMA user_version = 0"),
    "zeros": written(lambda data: data[:4096] + bytes(len(data) - 4096)),
    "cut": written(lambda data: data[: len(data) // 3]),
    "header": written(lambda data: data[:100]),
    "empty": written(lambda data: b""),
    "text": written(lambda data: b"hello" * 2000),
    "bytes": written(lambda data: random.Random(1).randbytes(len(data))),
    "folder": folder_at(""),
    "folder for the log": folder_at("-wal"),
    "folder for shared memory": folder_at("-shm"),
    "schema that is not UTF-8": statement("UPDATE sqlite_master SET sql = CAST(X'43524541FE' AS TEXT)"),
    "schema that is no SQL": statement("UPDATE sqlite_master SET sql = 'CREATE TABLE' WHERE type = 'table'"),
    "missing table": statement("DELETE FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"),
}


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


if hasattr(os, "mkfifo"):
    DAMAGES["FIFO"] = fifo


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The content of each database."""
    folder = tmp_path_factory.mktemp("filled")
    for store, (fill, _) in STORES.items():
        fill(folder / store)
    return {store: (folder / store).read_bytes() for store in STORES}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_database_is_replaced(store: str, damage: str, filled: dict[str, bytes], tmp_path: Path) -> None:
    use = STORES[store][1]
    path = tmp_path / "state.sqlite3"
    path.write_bytes(filled[store])
    DAMAGES[damage](path)
    told: list[Path] = []
    with suppress(SinkError):  # an operation may find the damage
        use(path, lambda aside, what: told.append(aside))
    use(path, lambda aside, what: told.append(aside))
    assert len(told) <= 1
    assert told or damage.startswith(("few", "bit", "empty")), "the damage was found"
    assert all(os.path.lexists(aside) for aside in told if "for" not in damage)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may open every file")
@pytest.mark.parametrize("store", STORES)
def test_file_without_permissions_is_opened_by_its_owner(store: str, tmp_path: Path) -> None:
    fill, use = STORES[store]
    path = tmp_path / "state.sqlite3"
    fill(path)
    path.chmod(0)
    use(path, lambda aside, what: pytest.fail(what))


@pytest.mark.skipif(sys.platform == "win32", reason="modes mean nothing there")
@pytest.mark.parametrize("store", STORES)
def test_only_the_owner_may_read(store: str, tmp_path: Path) -> None:
    fill, use = STORES[store]
    path = tmp_path / "state" / "state.sqlite3"
    old = os.umask(0)
    try:
        fill(path)
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("SELECT * FROM sqlite_master").fetchone()  # keeps the other files
            use(path, lambda aside, what: None)
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
            assert set(modes.values()) == {0o600}, modes
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        path.chmod(0o644)
        use(path, lambda aside, what: None)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, "also that of an earlier version"
    finally:
        os.umask(old)


@pytest.mark.parametrize(
    "damaged",
    [
        "UPDATE remembered SET value = CAST(X'FF' AS TEXT) WHERE key = 'other'",
        "UPDATE remembered SET value = CAST(X'22FF22' AS TEXT) WHERE key = 'other'",
        "UPDATE remembered SET value = NULL WHERE key = 'other'",
        f"UPDATE remembered SET value = '{'[' * 5000}{']' * 5000}' WHERE key = 'other'",
        "INSERT INTO corrections (station, document) VALUES ('other', CAST(X'22FF22' AS TEXT))",
        "INSERT INTO corrections (station, document) VALUES ('other', NULL)",
    ],
    ids=["no text", "string that is no text", "no value", "deep", "correction that is no text", "no correction"],
)
def test_corrections_and_remembered_values_survive_damage(damaged: str, tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    fill_index(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name IN ('corrections', 'remembered')"
        )
        connection.commit()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99999")
        connection.execute(damaged)
        connection.commit()
    with closing(open_database(path)) as database:
        assert database.games.count() == 0
        assert database.corrections.all() == {"main": b'{"bestOf":5}'}
        assert database.remembered.get("on_air") == b'"main"'
        assert database.remembered.get("other") == (b"1" if "corrections" in damaged else None)


@asynccontextmanager
async def running_index(path: Path) -> AsyncIterator[tuple[GameIndex, list[str]]]:
    """A running index, and an item for each new database."""
    replaced: list[str] = []
    index = GameIndex(open_database(path), None, on_replaced=lambda: replaced.append("replaced"))
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.run)
            yield index, replaced
            nursery.cancel_scope.cancel()


async def read_all(index: GameIndex) -> None:
    """Make every kind of query. None raises."""
    for query in (
        GamesQuery(limit=100),
        GamesQuery(limit=100, order="ended"),
        GamesQuery(player="ann", station="main"),
    ):
        await index.page(query)
    for number in range(GAMES):
        await index.game(samples.game_id(number))
    await index.read(lambda database: highlights.page(database, HighlightsQuery(limit=100)))
    await index.read(lambda database: situations.page(database, SituationsQuery(limit=100)))
    await index.read(lambda database: newest_setups(database, "main", 100))
    await index.played_on("main", 100)
    await index.game_ids("main")
    await index.codes("f")
    await index.corrections()
    await index.remembered("on_air")
    await index.remembered("other")


def text_columns() -> list[tuple[str, str]]:
    """The tables and columns with text that the index reads."""
    return [
        *(("games", name) for name in ("format", "station", "summary", "settings", "game_end", "standings")),
        *(("games", name) for name in ("metadata", "rate", "stats", "highlights", "reason", "game_id")),
        *(("files", name) for name in ("station", "game_id")),
        ("setups", "codes"), ("code_lists", "document"), ("corrections", "document"), ("remembered", "value"),
        ("situations", "document"), ("situations", "station"),
    ]  # fmt: skip


@pytest.mark.trio
@pytest.mark.parametrize("value", ["CAST(X'7B22FF' AS TEXT)", "'{\"a\":'"], ids=["not UTF-8", "not JSON"])
@pytest.mark.parametrize(("table", "column"), text_columns(), ids=".".join)
async def test_wrong_content_is_damage(
    table: str, column: str, value: str, filled: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(filled["index"])
    with closing(sqlite3.connect(path)) as connection:
        key = {"files": "path", "code_lists": "fingerprint", "corrections": "station"}.get(table, "game_id")
        key = "key" if table == "remembered" else key
        connection.execute(f"UPDATE {table} SET {column} = {value} WHERE {key} = (SELECT {key} FROM {table} LIMIT 1)")
        connection.commit()
    async with running_index(path) as (index, replaced):
        await read_all(index)
        await read_all(index)
        assert len(replaced) <= 1
        assert replaced or "UTF" not in value or column in ("game_id", "reason"), "the damage was found"
        index.played("main", Path("/replays/77.slp"), 5, 10, samples.record(samples.start(77)))
        await index.written()
        assert samples.game_id(77) in {game.game_id for game in (await index.page(GamesQuery(limit=100))).games}
        assert index.trouble is None
        assert await index.corrections() == ({"main": b'{"bestOf":5}'} if table != "corrections" else {})


@pytest.mark.trio
@pytest.mark.parametrize("seed", range(6))
async def test_index_that_is_damaged_anywhere_works_again(seed: int, filled: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(filled["index"])
    overwritten(100 + seed, 40)(path)
    async with running_index(path) as (index, replaced):
        await read_all(index)
        index.played("main", Path("/replays/77.slp"), 5, 10, samples.record(samples.start(77)))
        await index.written()
        await read_all(index)
        assert samples.game_id(77) in {game.game_id for game in (await index.page(GamesQuery(limit=100))).games}
        assert len(replaced) <= 2


@pytest.mark.trio
async def test_repeated_wrong_content_does_not_replace_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug that writes wrong values does not cause endless replacements."""
    path = tmp_path / FILE_NAME
    fill_index(path)

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("Could not decode to UTF-8 column 'x' with text 'y'")

    async with running_index(path) as (index, replaced):
        monkeypatch.setattr(Games, "get", fail)
        for _ in range(3):
            assert await index.game(samples.game_id(1)) is None
        assert replaced == ["replaced"]
        assert index.trouble is not None


@pytest.mark.parts("bracket")
def test_queue_of_a_newer_version_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "reports.sqlite3"
    reports(path)
    statement("PRAGMA user_version = 9")(path)
    told: list[str] = []
    reports(path, lambda aside, what: told.append(what))
    assert len(told) == 1
    assert "use a newer slpstream" in told[0]


def test_deliveries_that_are_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "deliveries.sqlite3"
    deliveries(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE deliveries SET key = CAST(X'FF' AS TEXT) WHERE id = 1")
        connection.commit()
    told: list[str] = []
    with closing(DeliveryStore(path, on_damage=lambda aside, what: told.append(what))) as store:
        with pytest.raises(SinkError, match="UTF-8"):
            store.oldest_per_station("hook")
        assert store.oldest_per_station("hook") == []
        store.store("hook", "main", [Delivery("k", "set", b"{}")], 5, offsets="{}", running_games="{}")
        assert store.count("hook") == 1
    assert len(told) == 1
