"""The index of games: what was played where, by whom, how it went, and in which file. SQLite, in the state folder.

It is never the truth: that is the files, and what is here of games can be made from them again (`slpstream reindex`).
Only what operators have said about sets is in no file; `reindex` leaves it alone.
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
