"""The database of the index: one file, and an object for each family of tables in it."""

from __future__ import annotations

from pathlib import Path

from slpstream.store.database_file import DatabaseFile
from slpstream.store.tables.corrections import Corrections
from slpstream.store.tables.games import Games
from slpstream.store.tables.highlights import Highlights
from slpstream.store.tables.remembered import RememberedValues
from slpstream.store.tables.setups import Setups
from slpstream.store.tables.situations import Situations


class Database(DatabaseFile):
    """An open database. `open_database` creates or migrates the file first."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.highlights = Highlights(self)
        self.situations = Situations(self)
        self.setups = Setups(self)
        self.games = Games(self, (self.highlights, self.situations, self.setups))
        self.corrections = Corrections(self)
        self.remembered = RememberedValues(self)
