"""The index of games, which is a SQLite database in the state folder. It knows the players, place, result and files of
each game.

If the index and the replay files disagree, the files are right, and you can always rebuild the index from them with
`slpstream reindex`. A few things only exist in the database, though: corrections that operators have made to sets, the
situations that were found, and values that we remember, such as the station on air. `reindex` keeps these.
"""

from slpstream.store.backfill import path_key
from slpstream.store.database import FILE_NAME, Database, open_database
from slpstream.store.game_record import WHOLE, Entry, GameRecord
from slpstream.store.game_rows import FileRow, GameRow, Page, StoredGame
from slpstream.store.games_query import MAX_QUERY_CHARS, GameKey, GamesQuery, StartTime
from slpstream.store.highlights_query import HighlightKey, HighlightPage, HighlightRow, HighlightsQuery
from slpstream.store.index import GameIndex
from slpstream.store.known_facts import Filter, KnownFacts
from slpstream.store.opening import NewerVersion, rename_damaged

__all__ = [
    "FILE_NAME",
    "MAX_QUERY_CHARS",
    "WHOLE",
    "Database",
    "Entry",
    "FileRow",
    "Filter",
    "GameIndex",
    "GameKey",
    "GameRecord",
    "GameRow",
    "GamesQuery",
    "HighlightKey",
    "HighlightPage",
    "HighlightRow",
    "HighlightsQuery",
    "KnownFacts",
    "NewerVersion",
    "Page",
    "StartTime",
    "StoredGame",
    "open_database",
    "path_key",
    "rename_damaged",
]
