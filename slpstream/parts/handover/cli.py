"""`slpstream replays`: make a zip of the replays of each set in a folder, for other programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from slpstream.api import read_game
from slpstream.cli import EXIT_NO, report, report_error
from slpstream.cli.progress import progress_bar
from slpstream.cli.replay_files import fail_without_replays, find_files
from slpstream.model.clock_skew import ClockSkew
from slpstream.model.errors import FormatError, SourceError
from slpstream.model.summary import IndexedGame, Standing
from slpstream.parts.handover.archive import free_name, write_zip_file
from slpstream.parts.handover.handed_set import ReplayFile, Templates, handed_set
from slpstream.parts.handover.part import Handover
from slpstream.sets import Corrections, Rules, played_games, score_of, sets_of
from slpstream.sources.packed import open_replay_file, replay_name
from slpstream.store import GameRecord
from slpstream.system.file_times import modified_ns
from slpstream.system.text import printable

_DEFAULTS = Handover()


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write the zips to."
)
@click.option(
    "--best-of", type=click.IntRange(1, 99), default=Rules().best_of, show_default=True, help="Length of a set."
)
@click.option(
    "--skew",
    "skew_seconds",
    type=float,
    default=None,
    metavar="SECONDS",
    help="How far the clock of the console is ahead; negative when it is behind.",
)
@click.option(
    "--ended",
    type=click.DateTime(["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S"]),
    default=None,
    help="When the last of the sets ended, by a clock that is right, in place of --skew.",
)
@click.option("--replay-name", default=_DEFAULTS.replay_name, show_default=True, help="Names of the replays.")
@click.option("--zip-name", default=_DEFAULTS.zip_name, show_default=True, help="Names of the zips.")
def command(
    paths: tuple[Path, ...],
    out: Path,
    best_of: int,
    skew_seconds: float | None,
    ended: datetime | None,
    replay_name: str,
    zip_name: str,
) -> None:
    """Group the replays of one console into sets, and write a zip for each set to OUT.

    Only games that count are in the zips, with the names of the players. Where all players have names, a zip has a
    context.json for programs that upload or replay sets. The replays stay as they are, and existing zips too: a name
    that is taken gets a number. Names of players who have none in their replays can be given in the daemon alone.
    """
    if skew_seconds is not None and ended is not None:
        raise click.UsageError("--skew and --ended exclude each other")
    found = sorted({found.path for found in find_files(paths, archives=False)})
    if not found:
        fail_without_replays(paths)
    code = 0
    games: dict[str, IndexedGame] = {}
    files: dict[str, ReplayFile] = {}
    with progress_bar("reading", len(found), shown=True) as update:
        for number, path in enumerate(found, 1):
            try:
                record = read_game(path).record()
                mtime_ns = modified_ns(path.stat())
            except (FormatError, SourceError) as error:
                code = max(code, report_error(path, error))
            else:
                games[record.game_id] = _indexed(record, mtime_ns)
                files[record.game_id] = _replay_file(path, record, mtime_ns)
            update(number)
    rules = Rules(best_of=best_of)
    sets = sets_of(played_games(games.values(), ()), Corrections(), rules) if games else []
    scores = [score_of(each, Corrections(), max_games=len(each.entries)) for each in sets if each.entries]
    payloads = [msgspec.to_builtins(score) for score in scores]
    skew = None if skew_seconds is None else ClockSkew(seconds=skew_seconds, games=0)
    if ended is not None and games:
        skew = _skew_at(ended, max(games.values(), key=lambda game: game.listed_at_ms))
    templates = Templates(replay_name, zip_name, zone=None)
    out.mkdir(parents=True, exist_ok=True)
    handed = [handed_set(payload, files, skew=skew, templates=templates) for payload in payloads]
    for each in handed:
        if each.members:
            target = out / free_name(out, each.name)
            count = write_zip_file(
                target, each, lambda path, what: report(f"{path}: {what}"), open_file=open_replay_file
            )
            without = f"; without context.json, because {each.reason}" if each.reason else ""
            print(printable(f"{target}: {count} {'replay' if count == 1 else 'replays'}{without}"))
    if not any(each.members for each in handed):
        report("no set has a game that counts")
        code = max(code, EXIT_NO)
    sys.exit(code)


def _skew_at(ended: datetime, last: IndexedGame) -> ClockSkew | None:
    """Return the skew of the clock, given that the last game has ended at a certain time."""
    if last.said_at_ms is None:
        return None
    said_end_seconds = last.said_at_ms / 1000 + (last.duration_seconds or 0.0)
    return ClockSkew(seconds=said_end_seconds - ended.astimezone().timestamp(), games=1)


def _indexed(record: GameRecord, mtime_ns: int) -> IndexedGame:
    standings: Mapping[str, Mapping[str, Any]] = msgspec.json.decode(record.standings or b"{}")
    return IndexedGame(
        record.game_id,
        record.summary,
        {int(index): Standing(**standing) for index, standing in standings.items()},
        listed_at_ms=mtime_ns // 1_000_000 if record.said_at_ms is None else record.said_at_ms,
        said_at_ms=record.said_at_ms,
        mtime_ns=mtime_ns,
        duration_seconds=record.duration_seconds,
        reason=record.reason,
    )


def _replay_file(path: Path, record: GameRecord, mtime_ns: int) -> ReplayFile:
    return ReplayFile(
        game_id=record.game_id,
        paths=[path],
        name=replay_name(path),
        format=record.format,
        summary=record.summary,
        last_frame=record.last_frame,
        duration_seconds=record.duration_seconds or 0.0,
        said_at_ms=record.said_at_ms,
        arrived_at_ms=None,
        written_at_ms=mtime_ns // 1_000_000,
    )
