"""The index of games: which game was played where and by whom, how it ended, and in which file it is. SQLite, in the
state folder.

The files are the truth; `slpstream reindex` makes the index from them again. Only the corrections of operators to sets
are in no file, so `reindex` leaves them alone.
"""

from slpstream.store.database import Database, FileRow, GameRow, Page, StoredGame
from slpstream.store.game_record import Entry, GameRecord
from slpstream.store.games_query import GameKey, GamesQuery, StartTime
from slpstream.store.index import GameIndex
from slpstream.store.schema import FILE_NAME, open_database

__all__ = [
    "FILE_NAME",
    "Database",
    "Entry",
    "FileRow",
    "GameIndex",
    "GameKey",
    "GameRecord",
    "GameRow",
    "GamesQuery",
    "Page",
    "StartTime",
    "StoredGame",
    "open_database",
]
