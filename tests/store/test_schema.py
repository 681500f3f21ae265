"""Databases are created, migrated to the newest version, or renamed if they are damaged."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from slpstream.game.described import describe_stored
from slpstream.model.errors import ConfigError
from slpstream.model.summary import GameSummary, Standing
from slpstream.store import FILE_NAME, GamesQuery, open_database
from slpstream.store.schema import MIGRATIONS, VERSION
from tests.store import samples


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        found: int = connection.execute("PRAGMA user_version").fetchone()[0]
        return found


def test_new_database(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "state" / FILE_NAME
    with closing(open_database(path)) as database:
        assert database.games.page(GamesQuery(limit=10)).games == []
    assert version(path) == VERSION
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


RELEASED = 14
"""The newest version of released databases."""


def test_released_migrations_never_change() -> None:
    """Users' databases were created by these statements, in this order."""
    text = "\n".join(
        f"{version} {statement}" for version, each in enumerate(MIGRATIONS[:RELEASED]) for statement in each
    )
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "45bd8d7d7a7f0c18adc7bf4a3839792d3c518a27f330248f1e5950dcf8bdd052"
    )


def test_migration_keeps_the_games(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(open_database(path)) as database:
        database.games.add([samples.entry(1)])
    further = (*MIGRATIONS, ("ALTER TABLE games ADD COLUMN remark TEXT",))
    with closing(open_database(path, migrations=further)) as database:
        assert database.games.count() == 1
    assert version(path) == VERSION + 1


def test_games_of_older_versions_have_the_same_facts(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    entries = [samples.entry(1, "ann", "Bob"), samples.entry(2, "carl"), samples.entry(2, "carl", station="side")]
    tables = ("search", "search_terms", "search_lines", "tags")
    with closing(open_database(path)) as database:
        database.games.add(entries)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        before = [sorted(connection.execute(f"SELECT * FROM {table}")) for table in tables]
        assert len(before[0]) == 2
        for table in tables[:3]:
            connection.execute(f"DROP TABLE {table}")
        connection.execute("DELETE FROM tags WHERE kind = 'player'")
        for later in (
            "DROP TABLE situations",
            "DROP INDEX highlights_by_situation",
            "ALTER TABLE highlights DROP COLUMN situation",
        ):
            connection.execute(later)
        last = next(n for n, statements in enumerate(MIGRATIONS) if "CREATE TABLE search " in "".join(statements))
        connection.execute(f"PRAGMA user_version = {last}")
    with closing(open_database(path)), closing(sqlite3.connect(path)) as connection:
        assert [sorted(connection.execute(f"SELECT * FROM {table}")) for table in tables] == before


OLD_SETTINGS = json.dumps(
    {
        "stageId": 31,
        "isTeams": False,
        "players": [
            {"playerIndex": 0, "port": 1, "characterId": 2, "startStocks": 4, "displayName": "", "nametag": ""},
            {"playerIndex": 1, "port": 2, "characterId": 9, "startStocks": 4, "displayName": "Bob", "type": 1},
        ],
    }
)
OLD_END = '{"reason":"game_end","gameEnd":{"gameEndMethod":2,"lrasInitiatorIndex":-1},"winners":[{"playerIndex":1}]}'
OLD_METADATA = '{"players":{"0":{"names":{"netplay":"Ann","code":"ANN#1"}}}}'


SUMMARIES = 3
"""The version whose games have summaries."""


def old_database(path: Path, version: int, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Make a database of an older version, with one game per format. `rows` has further columns of each game."""
    open_database(path, migrations=MIGRATIONS[:version]).close()
    with closing(sqlite3.connect(path)) as connection:
        for number, (format_name, columns) in enumerate(rows.items()):
            row = {
                "game_id": samples.game_id(number), "started_at_ms": 5, "format": format_name, "station": "main",
                "path": b"%d" % number, "rate": "[60,1]", "settings": "{}",
                **({"setup": "{}", "players": "[]"} if version < SUMMARIES else {}), **columns,
            }  # fmt: skip
            connection.execute(
                f"INSERT INTO games ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
            )
            connection.execute("INSERT INTO tags VALUES ('station', 'main', 5, ?)", (row["game_id"],))
        connection.commit()


def test_games_of_the_first_version_belong_to_sets(tmp_path: Path) -> None:
    """The first version had no standings and no corrections."""
    path = tmp_path / FILE_NAME
    old_database(path, 1, {"slippi": {"settings": OLD_SETTINGS, "game_end": OLD_END}})
    with closing(open_database(path, describe=describe_stored)) as database:
        [game] = database.games.played("main", 10)
        assert (game.game_id, game.mtime_ns) == (samples.game_id(0), None)
        assert game.summary.versus
        assert game.standings == {}
        assert database.corrections.all() == {}


def test_migration_describes_games_of_older_versions(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    standings = '{"0":{"stocks":0,"percent":0.0},"1":{"stocks":2,"percent":36.5}}'
    slippi = {
        "settings": OLD_SETTINGS, "game_end": OLD_END, "metadata": OLD_METADATA, "standings": standings, "reason": "x",
    }  # fmt: skip
    damaged = {"settings": "{", "standings": "{}"}
    old_database(path, 2, {"slippi": slippi, "mk8": damaged, "of a package that is gone": {"settings": OLD_SETTINGS}})
    with closing(open_database(path, describe=describe_stored)) as database:
        played = database.games.played("main", 10)
        others, damaged_game, game = (each.summary for each in played)
    assert (game.place.name, game.winners, game.ending, game.versus) == ("Battlefield", [1], "finished", True)
    ann, bob = game.players
    assert (ann.shown_name, ann.code, ann.character.name, ann.human) == ("Ann", "ANN#1", "Fox", True)
    assert (bob.shown_name, bob.code, bob.character.name, bob.human) == ("Bob", "", "Marth", False)
    assert played[-1].standings == {0: Standing(0, 0.0), 1: Standing(2, 36.5)}
    assert damaged_game == others == GameSummary()


def test_migration_finds_sudden_deaths(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    settings = json.dumps({**json.loads(OLD_SETTINGS), "scene": 3, "gameMode": 2})
    versus = {"summary": '{"versus":true}'}
    old_database(path, 3, {"slippi": versus | {"settings": settings}, "of a package that is gone": versus})
    with closing(open_database(path, describe=describe_stored)) as database:
        summaries = {game.game_id: game.summary for game in database.games.played("main", 10)}
    assert summaries[samples.game_id(0)].sudden_death
    assert summaries[samples.game_id(1)] == GameSummary(versus=True)


def test_older_versions_keep_their_order_and_the_decisions_of_operators(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    old_database(path, 2, {"slippi": {"started_at_ms": 7_000}, "gci": {"started_at_ms": 9_000}, "mk8": {}})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO corrections VALUES ('main', '{\"games\":{}}')")
        connection.commit()
    with closing(open_database(path)) as database:
        assert [game.format for game in database.games.page(GamesQuery()).games] == ["gci", "slippi", "mk8"]
        assert len(database.games.played("main", 10)) == 3
        assert {game.arrived_at_ms for game in database.games.page(GamesQuery()).games} == {None}
        assert database.corrections.all() == {"main": b'{"games":{}}'}
        arrived = samples.entry(9)
        arrived.arrived_at_ms = 8_000
        database.games.add([arrived])
        assert [game.listed_at_ms for game in database.games.page(GamesQuery()).games] == [9_000, 8_000, 7_000, 5]


def test_files_of_older_versions_are_read_again_where_their_completeness_matters(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    ended = {"reason": "game_end"}
    old_database(path, 2, {"slippi": ended | {"metadata": "{}"}, "gci": {"reason": "incomplete"}, "mk8": ended})
    with closing(sqlite3.connect(path)) as connection:
        for number, name in ((0, "whole"), (1, "cut"), (2, "one"), (2, "other")):
            connection.execute(
                "INSERT INTO files VALUES (?, 'main', ?, 7, 100, NULL)", (name.encode(), samples.game_id(number))
            )
        connection.commit()
    with closing(open_database(path)) as database:
        sizes = {name: size_bytes for name, (_, size_bytes) in database.games.known_files("main").items()}
        assert sizes == {b"whole": 100, b"cut": 100, b"one": -1, b"other": -1}
        for number, completeness in ((0, 2), (1, 0), (2, None)):
            game = database.games.get(samples.game_id(number))
            assert game is not None
            assert {file.completeness for file in game.files} == {completeness}


def test_failed_migration_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with closing(open_database(path)) as database:
        database.games.add([samples.entry(1)])
    broken = (*MIGRATIONS, ("ALTER TABLE games ADD COLUMN remark TEXT", "DROP TABLE nothing"))
    with pytest.raises(sqlite3.OperationalError):
        open_database(path, migrations=broken)
    assert version(path) == VERSION
    with closing(open_database(path)) as database:
        assert database.games.count() == 1


def test_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    open_database(path, migrations=(*MIGRATIONS, ("CREATE TABLE more (x)",))).close()
    before = path.read_bytes()
    with pytest.raises(
        ConfigError, match=f"has version {VERSION + 1}, but this slpstream knows versions up to {VERSION}"
    ):
        open_database(path)
    assert path.read_bytes() == before


@pytest.fixture
def renames_like_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is open in this process cannot be renamed."""
    descriptors = Path("/proc/self/fd")
    if sys.platform != "linux":
        return
    rename = Path.rename

    def rename_closed(path: Path, target: Path) -> Path:
        opened = [link.readlink() for link in descriptors.iterdir() if link.is_symlink()]
        if path in opened:
            raise PermissionError(13, "The process cannot access the file because it is being used", str(path))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", rename_closed)


@pytest.mark.usefixtures("renames_like_windows")
@pytest.mark.parametrize("damage", ["text", "cut", "overwritten"])
def test_damaged_database_is_renamed(tmp_path: Path, damage: str) -> None:
    path = tmp_path / FILE_NAME
    with closing(open_database(path)) as database:
        database.games.add([samples.entry(number) for number in range(200)])
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
        assert database.games.count() == 0
        database.games.add([samples.entry(1)])
    [(aside, what)] = reports
    assert what
    assert aside.read_bytes() == damaged
    with closing(open_database(path)) as database:
        assert database.games.count() == 1


def test_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        open_database(tmp_path / "file" / FILE_NAME)


def test_migration_knows_when_games_ended(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    reasons = ("game_end", None, "no_contest")
    games = [{"summary": "{}", "listed_at_ms": number, "reason": reason} for number, reason in enumerate(reasons)]
    old_database(path, 6, dict(zip(("slippi", "gci", "mk8"), games, strict=True)))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO files VALUES (?, 'main', ?, 7000000, 1, NULL, 2)", (b"0", samples.game_id(0)))
        connection.commit()
    with closing(open_database(path)) as database:
        ended = database.games.page(GamesQuery(order="ended")).games
        assert [(game.game_id, game.ended_at_ms) for game in ended] == [
            (samples.game_id(0), 7),
            (samples.game_id(2), 2),
        ]


TIMES = next(n for n, statements in enumerate(MIGRATIONS) if "doubtful" in "".join(statements))
"""The version before files with doubtful times were read again."""


@pytest.mark.parametrize(
    ("last_frame", "characters", "summary", "read_again", "keeps_time"),
    [
        (1876, '{"2":2000}', "{}", False, True),
        (1876, '{"2":1500,"3":500}', "{}", False, True),
        (1876, '{"2":2900}', "{}", False, True),  # with rollbacks
        (1876, None, "{}", False, True),
        (263696, '{"2":1264}', "{}", True, False),
        (263696, None, "{}", True, False),
        (-100, '{"2":1343}', "{}", True, False),  # all frames have one number
        (1876, '{"2":2000}', '{"basis":"inferred"}', True, True),
    ],
)
def test_files_with_doubtful_times_and_winners_are_read_again(
    tmp_path: Path, last_frame: int, characters: str | None, summary: str, *, read_again: bool, keeps_time: bool
) -> None:
    path = tmp_path / FILE_NAME
    players = "{}" if characters is None else f'{{"0":{{"characters":{characters}}},"1":{{}},"2":null}}'
    columns = {
        "last_frame": last_frame, "duration_seconds": 30.0, "summary": summary, "reason": "game_end", "path": b"/a.slp",
        "listed_at_ms": 5, "metadata": f'{{"players":{players}}}',
    }  # fmt: skip
    old_database(path, TIMES, {"slippi": columns})
    files = [
        (b"/a.slp", samples.game_id(0)),
        (b"/b.zip", None),
        (b"/b.zip/m.slp", samples.game_id(0)),
        (b"/c.slp", "0"),
    ]
    with closing(sqlite3.connect(path)) as connection:
        for file, game_id in files:
            connection.execute(
                "INSERT INTO files (path, station, game_id, mtime_ns, size_bytes, completeness)"
                " VALUES (?, 'main', ?, 7, 9, 2)",
                (file, game_id),
            )
        connection.commit()
    with closing(open_database(path)) as database:
        known = database.games.known_files("main")
        assert {file for file, (_, size_bytes) in known.items() if size_bytes == -1} == (
            {b"/a.slp", b"/b.zip", b"/b.zip/m.slp"} if read_again else set()
        )
        [game] = database.games.page(GamesQuery(limit=10)).games
        assert game.duration_seconds == (30.0 if keeps_time else None)
