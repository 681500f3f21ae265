"""The tables that we use to search for games: tags, facts, and the terms and lines that occur in any of the facts.

With a tag, you can select games by player, station or format, in the order of lists. All other facts are described in
`slpstream.model.game_facts`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from slpstream.model.game_facts import facts_of, flags_of, shape, split_terms, split_words, terms_of, words_of
from slpstream.model.summary import GameSummary
from slpstream.store.documents import decode_summary
from slpstream.store.game_record import search_terms
from slpstream.store.known_facts import FILE, PLAYER, tag_of_line

MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    1: (
        # In the order in which games are listed.
        """CREATE TABLE tags (
            kind TEXT NOT NULL,                -- player, station, format
            value TEXT NOT NULL,
            started_at_ms INTEGER NOT NULL,
            game_id TEXT NOT NULL,
            PRIMARY KEY (kind, value, started_at_ms, game_id)
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX tags_by_game ON tags (game_id)",
    ),
    6: ("ALTER TABLE tags RENAME COLUMN started_at_ms TO listed_at_ms",),
    11: (
        # In the order of lists. The rows are short, because a query that few games match reads all of them.
        """CREATE TABLE search (
            listed_at_ms INTEGER NOT NULL,
            game_id TEXT NOT NULL,
            frames INTEGER,
            began_ms INTEGER,
            flags INTEGER NOT NULL,
            terms TEXT NOT NULL,
            words TEXT NOT NULL,
            PRIMARY KEY (listed_at_ms, game_id)
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX search_by_game ON search (game_id)",
        """INSERT INTO search
            SELECT g.listed_at_ms, g.game_id, facts.value ->> 0, facts.value ->> 1, facts.value ->> 2,
                facts.value ->> 3, facts.value ->> 4
            FROM games g, json_each('[' || search_facts(g.format, g.summary, g.path, g.duration_seconds,
                ifnull(g.said_at_ms, g.arrived_at_ms),
                (SELECT json_group_array(f.station) FROM files f WHERE f.game_id = g.game_id)) || ']') facts""",
        # Each term that any game has or had. Queries for other terms, such as a stage that was never played, read no
        # game.
        "CREATE TABLE search_terms (term TEXT PRIMARY KEY NOT NULL) STRICT, WITHOUT ROWID",
        """INSERT OR IGNORE INTO search_terms
            SELECT term.value FROM search s, json_each(search_term_list(s.terms)) term""",
    ),
    12: (
        # The file names, with 0 for each digit, and the codes and names that any game has or had. A query for a text
        # that is in no line reads no game; a query for a text in a few names reads only the games with these tags.
        """CREATE TABLE search_lines (
            kind TEXT NOT NULL,                -- file, player
            line TEXT NOT NULL,
            PRIMARY KEY (kind, line)
        ) STRICT, WITHOUT ROWID""",
        """INSERT OR IGNORE INTO search_lines
            SELECT line.value ->> 0, line.value ->> 1 FROM search s, json_each(search_line_list(s.words)) line""",
        # Old versions wrote other tags.
        """INSERT OR IGNORE INTO tags (kind, value, listed_at_ms, game_id)
            SELECT 'player', line.value ->> 2, s.listed_at_ms, s.game_id
            FROM search s, json_each(search_line_list(s.words)) line WHERE line.value ->> 0 = 'player'""",
    ),
}


def add_facts(
    writer: sqlite3.Connection,
    game_id: str,
    listed_at_ms: int | None,
    format_: str,
    files: Sequence[tuple[bytes, str]],
    summary: GameSummary,
) -> None:
    """Write the tags and facts of a game that doesn't have any yet.

    For each file, you pass its path and station. The first file is the one that counts.
    """
    tags = {("format", format_), *(("station", station) for _, station in files)}
    tags |= {("player", term) for term in search_terms(summary.players)}
    words = words_of(summary, _file_name(files[0][0]))
    file_name, lines = split_words(words)
    tags |= {("player", tag_of_line(line)) for line in lines}  # adds names with control characters only
    writer.executemany(
        "INSERT INTO tags (kind, value, listed_at_ms, game_id) VALUES (?, ?, ?, ?)",
        [(kind, value, listed_at_ms, game_id) for kind, value in tags],
    )
    terms = terms_of(summary, format_, (station for _, station in files))
    writer.executemany("INSERT OR IGNORE INTO search_terms (term) VALUES (?)", [(each,) for each in split_terms(terms)])
    writer.executemany(
        "INSERT OR IGNORE INTO search_lines (kind, line) VALUES (?, ?)",
        [(FILE, shape(file_name)), *((PLAYER, line) for line in lines)],
    )
    writer.execute(
        "INSERT INTO search (listed_at_ms, game_id, frames, began_ms, flags, terms, words)"
        " SELECT listed_at_ms, game_id, CAST(round(60 * duration_seconds) AS INTEGER) - 1,"
        " ifnull(said_at_ms, arrived_at_ms), ?, ?, ? FROM games WHERE game_id = ?",
        (flags_of(summary), terms, words, game_id),
    )


def delete_facts(writer: sqlite3.Connection, game_id: str) -> None:
    """Delete the tags and facts of a game. Its terms and lines stay."""
    writer.execute("DELETE FROM tags WHERE game_id = ?", (game_id,))
    writer.execute("DELETE FROM search WHERE game_id = ?", (game_id,))


def stored_facts(
    format_: str, summary: str, path: bytes, duration_seconds: float | None, began_ms: int | None, stations: str
) -> str:
    """Return the `GameFacts` of a game that was indexed by an older version, as JSON.

    `stations` must be a JSON list.
    """
    try:
        described = decode_summary(summary)
    except msgspec.DecodeError:
        described = GameSummary()
    facts = facts_of(
        described,
        format=format_,
        stations=msgspec.json.decode(stations, type=list[str]),
        file_name=_file_name(path),
        duration_seconds=duration_seconds,
        began_ms=began_ms,
    )
    return msgspec.json.encode(facts).decode()


def stored_terms(terms: str) -> str:
    """Return the single terms of a game that was indexed by an older version, as a JSON list."""
    return msgspec.json.encode(split_terms(terms)).decode()


def stored_lines(words: str) -> str:
    """Return the rows of `search_lines` for these words, and the tags, as a JSON list of kind, line and tag."""
    file_name, lines = split_words(words)
    rows = [(FILE, shape(file_name), None), *((PLAYER, line, tag_of_line(line)) for line in lines)]
    return msgspec.json.encode(rows).decode()


def _file_name(path: bytes) -> str:
    """Return the name of a file without its folders. If it contains bytes that aren't UTF-8, they become U+FFFD."""
    return os.path.basename(path).decode("utf-8", "replace")  # noqa: PTH119 -- names that are not UTF-8
