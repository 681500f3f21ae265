"""Databases are created, migrated to the newest version, or set aside if they are damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from slpstream.model.errors import ConfigError
from slpstream.store import FILE_NAME, GamesQuery, open_database
from slpstream.store.schema import MIGRATIONS, VERSION
from tests.store import made


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        found: int = connection.execute("PRAGMA user_version").fetchone()[0]
        return found


def test_new_database(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "state" / FILE_NAME
    with closing(open_database(path)) as database:
        assert database.page(GamesQuery(limit=10)).games == []
    assert version(path) == VERSION
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_reopened_database_has_its_games(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(open_database(path)) as database:
        database.put([made.entry(1)])
    with closing(open_database(path)) as database:
        assert [game.game_id for game in database.page(GamesQuery(limit=10)).games] == [made.game_id(1)]


def test_migration_keeps_the_games(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(open_database(path)) as database:
        database.put([made.entry(1)])
    further = (*MIGRATIONS, ("ALTER TABLE games ADD COLUMN remark TEXT",))
    with closing(open_database(path, migrations=further)) as database:
        assert database.count() == 1
    assert version(path) == VERSION + 1


def test_games_of_the_first_version_are_kept(tmp_path: Path) -> None:
    """The first version had no standings and no corrections."""
    path = tmp_path / FILE_NAME
    with closing(open_database(path, migrations=MIGRATIONS[:1])):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO games (game_id, started_at_ms, format, station, path, setup, players, rate, settings)"
            " VALUES (?, 5, 'slippi', 'main', x'01', '{}', '[]', '[60,1]', '{}')",
            (made.game_id(1),),
        )
        connection.execute("INSERT INTO tags VALUES ('station', 'main', 5, ?)", (made.game_id(1),))
        connection.commit()
    with closing(open_database(path)) as database:
        [row] = database.played("main", 10)
        assert (row.game_id, row.standings, row.mtime_ns) == (made.game_id(1), None, None)
        assert database.corrections() == {}


def test_failed_migration_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(open_database(path)) as database:
        database.put([made.entry(1)])
    broken = (*MIGRATIONS, ("ALTER TABLE games ADD COLUMN remark TEXT", "DROP TABLE nothing"))
    with pytest.raises(sqlite3.OperationalError):
        open_database(path, migrations=broken)
    assert version(path) == VERSION
    with closing(open_database(path)) as database:
        assert database.count() == 1


def test_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    open_database(path, migrations=(*MIGRATIONS, ("CREATE TABLE more (x)",))).close()
    before = path.read_bytes()
    with pytest.raises(
        ConfigError, match=f"has version {VERSION + 1}, but this slpstream knows versions up to {VERSION}"
    ):
        open_database(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["text", "cut", "overwritten"])
def test_damaged_database_is_set_aside(tmp_path: Path, damage: str) -> None:
    path = tmp_path / FILE_NAME
    with closing(open_database(path)) as database:
        database.put([made.entry(number) for number in range(200)])
    data = path.read_bytes()
    assert len(data) > 20_000
    path.write_bytes(
        {
            "text": b"this is not a database, but long enough to be read as one" * 20,
            "cut": data[: len(data) // 2],
            "overwritten": data[:4096] + bytes(len(data) - 4096),
        }[damage]
    )
    damaged = path.read_bytes()
    reports: list[tuple[Path, str]] = []
    with closing(open_database(path, on_damage=lambda aside, what: reports.append((aside, what)))) as database:
        assert database.count() == 0
        database.put([made.entry(1)])
    [(aside, what)] = reports
    assert what
    assert aside.read_bytes() == damaged
    with closing(open_database(path)) as database:
        assert database.count() == 1


def test_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        open_database(tmp_path / "file" / FILE_NAME)
