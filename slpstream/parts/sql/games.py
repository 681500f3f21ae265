"""The table `games` has a row for each game, which comes from the first and last bytes of its file."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from slpstream.formats.slippi.game_start import Settings
from slpstream.model.events import Metadata
from slpstream.parts.sql.column import COUNT, FILE, FLAG, GAME_ID, REAL, SMALL, STAGE, TEXT, column
from slpstream.parts.sql.queried import Holds, Queried, Row
from slpstream.parts.sql.ties import is_tied

SCHEMA = pa.schema(
    [
        FILE,
        GAME_ID,
        column("format", TEXT, "slippi, gci, stunts, mk8, or that of another package."),
        column("version", TEXT, "Version of the format, as Slippi has it: 3.18.0."),
        column("started_at", TEXT, "When the game began, as the file says: ISO 8601, without a zone on consoles."),
        column("began_at", pa.timestamp("ms"), "The same as a time in UTC; a console's clock is taken to be UTC."),
        column("stage_id", COUNT, "Number of the stage; null in formats that name stages by words."),
        STAGE,
        column("mode", TEXT, "time, coin, bonus, stamina or another mode; empty for stock mode."),
        column("rules", TEXT, "The rules in a few words, for formats that have some."),
        column("is_teams", FLAG, "True for a game of teams."),
        column("match_id", TEXT, "Id of the session online, which the games of a set share; null before 3.14.0."),
        column("player_count", COUNT, "Number of players."),
        column("reason", TEXT, "game_end, raw_length, incomplete (the file breaks off) or error."),
        column("ending", TEXT, "finished, time or quit; null when the replay does not say."),
        column("quitter", SMALL, "Player index of the player who quit."),
        column("winner", SMALL, "Player index of the winner; null without one, or with several."),
        column("winners", pa.list_(SMALL), "Player indices of all winners."),
        column("is_tied", FLAG, "True if several sides came first, so that sudden death decides."),
        column("last_frame", COUNT, "The highest frame number."),
        column("duration_frames", COUNT, "Length of the playable part.", "frames"),
        column("duration_seconds", REAL, "Length of the playable part.", "seconds"),
        column("played_on", TEXT, "dolphin, nintendont, network and others."),
        column("console_nick", TEXT, "Name of the console."),
    ]
)


def rows(queried: Queried, columns: frozenset[str], holds: Holds) -> list[Row]:
    """Return the row of a game. This reads both ends of the file, and if they aren't enough, all of it."""
    game = queried.game
    summary, end = game.summary(), game.end
    numerator, denominator = game.start.rate
    seconds = None if end is None else end.duration_seconds
    place = summary.place
    return [
        {
            "file": queried.file,
            "game_id": game.start.game_id,
            "format": game.start.format,
            "version": summary.version or None,
            "started_at": summary.started_at or None,
            "began_at": _time(summary.started_at),
            "stage_id": place.id if isinstance(place.id, int) else None,
            "stage": place.name or None,
            "mode": summary.mode,
            "rules": summary.rules or None,
            "is_teams": summary.is_teams,
            "match_id": _match_id(game.start.settings),
            "player_count": len(summary.players),
            "reason": None if end is None else end.reason,
            "ending": summary.ending,
            "quitter": summary.quitter,
            "winner": summary.winners[0] if len(summary.winners) == 1 else None,
            "winners": summary.winners,
            "is_tied": is_tied(summary, end),
            "last_frame": None if end is None else end.last_frame,
            "duration_frames": None if seconds is None else round(seconds * numerator / denominator),
            "duration_seconds": seconds,
            "played_on": _text(game.metadata, "playedOn"),
            "console_nick": _text(game.metadata, "consoleNick"),
        }
    ]


def _match_id(settings: Any) -> str | None:
    """Return the id of the session. `GameSummary.match_id` isn't enough, because only ranked games have it."""
    return settings.match_info.session_id or None if isinstance(settings, Settings) else None


def _text(metadata: Metadata | None, key: str) -> str | None:
    value: Any = None if metadata is None else metadata.metadata.get(key)
    return value if isinstance(value, str) else None


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo is None else time.astimezone(UTC)).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
