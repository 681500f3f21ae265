"""Open, migrate and restore the database of the index. It is one file, with one object for each family of tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slpstream.store.database_file import DatabaseFile
from slpstream.store.opening import SqlFunction, prepare, readable_rows
from slpstream.store.schema import MIGRATIONS
from slpstream.store.tables import corrections, remembered
from slpstream.store.tables.corrections import Corrections
from slpstream.store.tables.games import Games
from slpstream.store.tables.highlights import Highlights
from slpstream.store.tables.remembered import RememberedValues
from slpstream.store.tables.search import stored_facts, stored_lines, stored_terms
from slpstream.store.tables.setups import Setups

FILE_NAME = "games.sqlite3"

DescribeStored = Callable[[str, str, str | None, str | None], str]
"""Summarises a game from an older index.

The parameters are the format name, settings, payload of `game_end` and metadata. All but the format name are JSON;
`None` if not known.
"""


def _describe_nothing(*_: str | None) -> str:
    return "{}"


class Database(DatabaseFile):
    """An open database. To get one, call `open_database`, which creates or migrates the file first."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.highlights = Highlights(self)
        self.setups = Setups(self)
        self.games = Games(self, (self.highlights, self.setups))
        self.corrections = Corrections(self)
        self.remembered = RememberedValues(self)


def open_database(
    path: Path,
    *,
    on_damage: Callable[[Path, str], None] = lambda renamed, problem: None,
    migrations: tuple[tuple[str, ...], ...] = MIGRATIONS,
    describe: DescribeStored = _describe_nothing,
) -> Database:
    """Open the database at the given path. If necessary, it is created or migrated to the newest version first.

    This blocks, and a migration can take a while. If the database was damaged, it is renamed, and `on_damage` is called
    with its new path and a description of the problem. `describe` is used to summarise the games in databases that are
    so old that they don't have any summaries.

    Raises `NewerVersion` if the database belongs to a newer version, and `OSError` or `sqlite3.OperationalError` if it
    isn't possible to write to the folder.
    """
    damaged: list[Path] = []

    def note(renamed: Path, problem: str) -> None:
        damaged.append(renamed)
        on_damage(renamed, problem)

    functions: tuple[SqlFunction, ...] = (
        ("describe", 4, describe),
        ("search_facts", 6, stored_facts),
        ("search_term_list", 1, stored_terms),
        ("search_line_list", 1, stored_lines),
    )
    prepare(path, migrations, on_damage=note, functions=functions)
    database = Database(path)
    try:
        for renamed in damaged:
            restore(database, renamed)
    except BaseException:
        database.close()
        raise
    return database


def restore(database: Database, damaged: Path) -> None:
    """Copy the corrections and remembered values from a damaged database into a new one, as far as we can still
    read them.

    We need this because they can't be restored from any replay file.
    """
    for station, document in readable_rows(damaged, corrections.RAW_ROWS).items():
        database.corrections.keep(station, document)
    database.remembered.keep(readable_rows(damaged, remembered.RAW_ROWS))
