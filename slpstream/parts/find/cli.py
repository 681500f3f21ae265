"""`slpstream find`: find games by a query, either in folders of replays or in the index of a daemon."""

from __future__ import annotations

import http.client
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Required, TypedDict
from urllib.parse import urlencode

import click

from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, describe_error, fail, report
from slpstream.cli.game_query import (
    GameQuery,
    checked_query,
    config_option,
    exit_with_problems,
    is_match,
    me_option,
    require_text,
)
from slpstream.cli.replay_files import (
    FoundReplay,
    at_hand,
    each_replay,
    fail_without_replays,
    find_files,
    has_archives,
)
from slpstream.model.errors import FormatError, SourceError
from slpstream.model.query_problem import QueryProblem
from slpstream.system.member_paths import shown_name
from slpstream.system.text import printable

_MIN_FILES_FOR_PROCESSES = 400
"""With fewer files than this, starting processes takes longer than it saves. We don't know how many games an archive
has."""
_FILES_PER_CHUNK = 25
_RESPONSE_SECONDS = 30
_GAMES_PER_PAGE = 200
_UNPROCESSABLE = 422


class Found(NamedTuple):
    """The outcome for one replay. This is the game if it matches, or the reason why the file can't be read."""

    path: Path
    game: dict[str, Any] | None = None
    error: str = ""
    code: int = 0


class _Thing(TypedDict, total=False):
    name: str | None


class _Player(TypedDict, total=False):
    index: Required[int]
    character: _Thing | int | str | None
    name: str | None
    tag: str | None
    code: str | None


class _Game(TypedDict, total=False):
    """The part of a daemon's answer that we show."""

    gameId: Required[str]
    startedAt: str | None
    place: _Thing | int | str | None
    players: list[_Player]
    winners: list[int]
    durationSeconds: float | None
    who: str | None


@click.command()
@click.argument("place", metavar="DIR|FILE|ARCHIVE|URL")
@click.argument("query", nargs=-1, metavar="QUERY")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per game.")
@click.option("--paths", is_flag=True, help="Print the paths of the files alone.")
@click.option("-0", "--null", is_flag=True, help="End each path with a null character, for xargs -0.")
@me_option
@config_option
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="Number of processes.  [default: one per core]")
@click.option(
    "--token-file", type=click.Path(path_type=Path), help="File with the access token of the daemon in its first line."
)
def command(
    place: str,
    query: tuple[str, ...],
    as_json: bool,
    paths: bool,
    null: bool,
    me: tuple[str, ...],
    config_file: Path | None,
    jobs: int | None,
    token_file: Path | None,
) -> None:
    """Find games by a query in the syntax of the Slippi Launcher, such as 'fox>marth stage:fd duration:>3m'.

    Reads the replays of the folder DIR, also in archives there, or asks the daemon or gateway at URL. Put a query that
    begins with a `-` after `--`. The exit code is 0 if games were found, and 1 if not, or if a file cannot be
    read (74 for input/output errors). To find what happens within games, use `slpstream situations`.
    """
    text = " ".join(query)
    if place.startswith(("http://", "https://")):
        if paths or null or me or config_file is not None:
            raise click.UsageError("--paths, -0, --me and --config are for folders")
        require_text(text)
        games = _of_daemon(place.rstrip("/"), text, token_file)
        code = _print(({"game": game} for game in games), as_json=as_json)
    else:
        wanted = checked_query(text, me, config_file)
        found = _in_folder(Path(place), wanted, jobs or os.cpu_count() or 1)
        code = _print_paths(found, null=null) if paths or null else _print_found(found, as_json=as_json)
    sys.stdout.flush()
    if code == EXIT_NO and not (as_json or paths or null):
        report(_nothing_found(text))
    sys.exit(code)


def _nothing_found(text: str) -> str:
    """Return what to tell a person whose query has no results.

    A word without a key is a name of a player, which is easy to forget when you look for a character.
    """
    from slpstream.parts.find.queries.vocabulary import vocabulary

    tables = vocabulary().characters.values()
    words = [word for word in text.split() if word.isalpha() and any(names.find(word, exact=True) for names in tables)]
    if not words:
        return "no games found"
    return f"no games found; {words[0]!r} is taken for the name of a player, the character is char:{words[0]}"


def _in_folder(folder: Path, query: GameQuery, jobs: int) -> Iterator[Found]:
    files = list(find_files((folder,)))
    if not files:
        fail_without_replays((folder,))
    if jobs == 1 or (len(files) < _MIN_FILES_FOR_PROCESSES and not has_archives(files)):
        yield from (examine(replay, query) for replay in each_replay(files))
        return
    from slpstream.cli.replay_work import examined

    replays = each_replay(files, by_name=True)
    yield from examined(partial(examine, query=query), replays, jobs=jobs, per_task=_FILES_PER_CHUNK)


def examine(replay: FoundReplay, query: GameQuery) -> Found:
    """Read a replay and compare its game with a query. You can call this in any process."""
    import msgspec

    from slpstream.api import read_game

    path = replay.path
    try:
        record = read_game(at_hand(replay)).record()
    except (FormatError, SourceError) as error:
        return Found(path, None, *describe_error(path, error))
    if not is_match(query, path, record):
        return Found(path)
    game = {
        "file": str(path).encode("utf-8", "replace").decode(),
        "gameId": record.game_id,
        "format": record.format,
        "durationSeconds": record.duration_seconds,
        "reason": record.reason,
        **msgspec.to_builtins(record.summary),
    }
    return Found(path, game)


def _print_paths(found: Iterator[Found], *, null: bool) -> int:
    games, code = 0, 0
    for each in found:
        code = max(code, _report(each))
        if each.game is not None:
            games += 1
            sys.stdout.buffer.write(os.fsencode(each.path) + (b"\0" if null else b"\n"))
    return code or (0 if games else EXIT_NO)


def _print_found(found: Iterator[Found], *, as_json: bool) -> int:
    code = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal code
        for each in found:
            code = max(code, _report(each))
            if each.game is not None:
                yield {"game": each.game, "file": shown_name(os.fsencode(each.path))}

    printed = _print(rows(), as_json=as_json)
    return code or printed


def _report(found: Found) -> int:
    if found.error:
        report(found.error)
    return found.code


def _print(rows: Iterator[dict[str, Any]], *, as_json: bool) -> int:
    """Print games, either as JSON lines or with one line for each. Returns the exit code."""
    import msgspec

    games = 0
    for row in rows:
        games += 1
        if as_json:
            sys.stdout.buffer.write(msgspec.json.encode(row["game"]) + b"\n")
        else:
            click.echo(_line(row["game"], row.get("file", row["game"]["gameId"])))
    return 0 if games else EXIT_NO


def _line(game: dict[str, Any], name: str) -> str:
    """Return one line about a game, with the file or game id, date, place, players and length."""
    from slpstream.cli.game_text import length_text

    place = game.get("place", {})
    winners = game.get("winners", ())
    players = []
    for player in game.get("players", ()):
        character = player.get("character")
        shown = character.get("name", "") if isinstance(character, dict) else ""
        parts = (shown, player.get("name") or player.get("tag"), f"({player['code']})" if player.get("code") else "")
        text = " ".join(part for part in parts if part) or f"P{player['index'] + 1}"
        players.append(text + (" *" if player["index"] in winners else ""))
    cells = (
        name,
        (game.get("startedAt") or "")[:16],
        place.get("name", "") if isinstance(place, dict) else "",
        game.get("who") or " vs ".join(players),
        length_text(game.get("durationSeconds")),
    )
    return printable("  ".join(cell for cell in cells if cell))


def _of_daemon(base: str, text: str, token_file: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the games of a daemon that match, newest first."""
    from slpstream.cli.access_token import read_token
    from slpstream.cli.answers import answer, not_an_answer
    from slpstream.model.foreign_data import converted

    headers = {} if token_file is None else {"Authorization": f"Bearer {read_token(token_file)}"}
    parameters = {"query": text, "limit": str(_GAMES_PER_PAGE)}
    while True:
        request = urllib.request.Request(f"{base}/v1/games?{urlencode(parameters)}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=_RESPONSE_SECONDS) as response:
                page = answer(response, dict[str, Any])
            converted(page.get("games"), list[_Game], not_an_answer)
        except urllib.error.HTTPError as error:
            with error:
                _fail_with(base, text, error)
        except (http.client.HTTPException, OSError, ValueError) as error:
            fail(f"{base}: {error}", EXIT_INPUT_OUTPUT)
        yield from page["games"]
        if page.get("next") is None:
            return
        parameters["cursor"] = page["next"]


def _fail_with(base: str, text: str, error: urllib.error.HTTPError) -> NoReturn:
    from slpstream.cli.answers import answer
    from slpstream.model.foreign_data import converted

    try:
        body = answer(error, dict[str, Any])
        problems = converted(body.get("problems", []), list[QueryProblem], ValueError)
        detail = str(body["detail"])
    except (http.client.HTTPException, ValueError, KeyError, OSError):
        fail(f"{base}: {error}", EXIT_INPUT_OUTPUT)
    if error.code == _UNPROCESSABLE:
        exit_with_problems(text, problems)
    fail(f"{base}: {detail}", EXIT_INPUT_OUTPUT)
