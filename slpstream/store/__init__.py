"""The index of games: which game was played where and by whom, how it ended, and in which file it is. SQLite, in the
state folder.

The files are the truth; `slpstream reindex` makes the index from them again. Only the corrections of operators to sets
are in no file, so `reindex` leaves them alone.
"""

from slpstream.store.database import Database, FileRow, GameRow, IndexedGame, Page, PlayedRow
from slpstream.store.game_facts import Entry, Facts, facts_of
from slpstream.store.games_query import GameKey, GamesQuery, StartTime
from slpstream.store.index import GameIndex
from slpstream.store.schema import FILE_NAME, open_database

__all__ = [
    "FILE_NAME",
    "Database",
    "Entry",
    "Facts",
    "FileRow",
    "GameIndex",
    "GameKey",
    "GameRow",
    "GamesQuery",
    "IndexedGame",
    "Page",
    "PlayedRow",
    "StartTime",
    "facts_of",
    "open_database",
]
