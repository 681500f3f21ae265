"""`slpstream audit`: compare the setups of a tournament by their replays, or by what a running daemon has seen."""

from __future__ import annotations

import http.client
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, describe_error, fail, report, report_error
from slpstream.cli.access_token import read_token
from slpstream.cli.progress import progress_bar
from slpstream.cli.replay_files import fail_without_replays, find_files
from slpstream.model.errors import FormatError, SourceError
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.parts.audit.findings import Audit, AuditedSetup
    from slpstream.parts.audit.played_games import PlayedGame

_SCHEMES = ("http://", "https://")
_RESPONSE_SECONDS = 30.0
_MAX_RESPONSE_BYTES = 16 << 20
_COLUMNS = {
    "version": "version", "codes": "codes", "region": "region", "stadium": "Stadium", "ucf": "UCF", "mode": "mode",
    "timer": "timer", "stocks": "stocks", "items": "items", "team_attack": "team attack", "clock": "clock",
}  # fmt: skip
"""The values in the table, with their titles. Findings name the others."""


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="DIR...|URL")
@click.option("--games", type=click.IntRange(1, 20), default=5, show_default=True, help="Newest games to compare.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, as `/v1/audit` has it.")
@click.option(
    "--token-file", type=click.Path(path_type=Path), help="With URL: file whose first line is the access token."
)
def command(targets: tuple[str, ...], games: int, as_json: bool, token_file: Path | None) -> None:
    """Compare the setups of a tournament, and print which of them differ from the others, and in what.

    One DIR has a subfolder with replays for each setup; several DIR are a setup each. The newest games of a setup tell
    how it is set up: version, Gecko codes, UCF per port, region, rules. A URL is that of a running daemon, which also
    knows the clocks of the consoles and how evenly their frames arrive. The exit code is 0 if all setups are equal, 1
    if some differ or a replay is damaged, and 74 if a file cannot be read.
    """
    import msgspec

    url = targets[0] if targets[0].startswith(_SCHEMES) else None
    if url is not None:
        if len(targets) > 1:
            raise click.UsageError("expected one URL, or folders")
        found, code = _of_daemon(url, token_file), 0
    else:
        found, code = _of_folders(tuple(map(Path, targets)), games)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
        sys.stdout.buffer.flush()
    else:
        _print_table(found.setups)
        for line in _lines(found):
            click.echo(printable(line))
    sys.exit(max(code, EXIT_NO if found.differences else 0))


def _of_daemon(url: str, token_file: Path | None) -> Audit:
    """Ask a running daemon for its audit."""
    from slpstream.cli.answers import decoded
    from slpstream.parts.audit.findings import Audit

    headers = {} if token_file is None else {"Authorization": f"Bearer {read_token(token_file)}"}
    try:
        request = urllib.request.Request(f"{url.rstrip('/')}/v1/audit", headers=headers)
        with urllib.request.urlopen(request, timeout=_RESPONSE_SECONDS) as response:
            return decoded(response.read(_MAX_RESPONSE_BYTES), Audit)
    except urllib.error.HTTPError as error:
        with error:
            fail(f"{url}: {error}", EXIT_INPUT_OUTPUT)
    except (http.client.HTTPException, OSError, ValueError) as error:
        fail(f"{url}: {error}", EXIT_INPUT_OUTPUT)


def _of_folders(folders: tuple[Path, ...], games: int) -> tuple[Audit, int]:
    """Return the audit of setups whose replays are in folders.

    If some replays can't be read, you also get an exit code for this.
    """
    from slpstream.parts.audit.compare import Limits, audit

    for folder in folders:
        if not folder.is_dir():
            fail(f"{folder}: no such folder", EXIT_INPUT_OUTPUT)
    setups = {name: list(files) for name, files in _setups(folders)}
    if not any(setups.values()):
        fail_without_replays(folders)
    code = 0
    found: dict[str, list[PlayedGame]] = {}
    with progress_bar("reading", sum(map(len, setups.values())), shown=True) as update:
        done = 0
        for name, files in setups.items():
            played: list[tuple[Path, Any, int]] = []
            for file in files:
                done += 1
                update(done)
                read = _read(file)
                if isinstance(read, int):
                    code = max(code, read)
                else:
                    played.append(read)
            found[name] = _newest(played, games)
    return _with_unreadable_setups(audit(found, Limits(games=games)), found), code


def _with_unreadable_setups(audit: Audit, games: Mapping[str, Sequence[PlayedGame]]) -> Audit:
    """Return the audit, but if a setup doesn't have any replay that we can read, mention this."""
    import msgspec

    replace = msgspec.structs.replace
    setups = [each if games[each.setup] else replace(each, unknown="no readable replays") for each in audit.setups]
    return replace(audit, setups=setups)


def _setups(folders: tuple[Path, ...]) -> Iterator[tuple[str, Iterable[Path]]]:
    """Yield each setup with its replays.

    If there is only one folder, each subfolder that contains replays is a setup. Otherwise, each of the folders is one.
    """
    if len(folders) == 1:
        subfolders = sorted(path for path in folders[0].iterdir() if path.is_dir())
        with_replays = {path.name: files for path in subfolders if (files := _replays(path))}
        if with_replays:
            yield from with_replays.items()
            loose = [file for file in _replays(folders[0]) if file.parent == folders[0]]
            if loose:
                yield f"{folders[0].resolve().name} (no subfolder)", loose
            return
    taken: set[str] = set()
    for folder in folders:
        name = folder.resolve().name
        number = 2
        while name in taken:
            name, number = f"{folder.resolve().name}-{number}", number + 1
        taken.add(name)
        yield name, _replays(folder)


def _replays(folder: Path) -> list[Path]:
    return [found.path for found in find_files((folder,), archives=False)]


def _read(path: Path) -> tuple[Path, Any, int] | int:
    """Return the game in a file and when it was played.

    If the file can't be read, report this, and return an exit code.
    """
    from slpstream.api import read_game

    try:
        game = read_game(path)
        said_at_ms = game.record().said_at_ms
        return path, game, round(1000 * path.stat().st_mtime) if said_at_ms is None else said_at_ms
    except (FormatError, SourceError) as error:
        return report_error(path, error)
    except OSError as error:
        report(f"{path}: {error.strerror}")
        return EXIT_INPUT_OUTPUT


def _newest(played: Sequence[tuple[Path, Any, int]], games: int) -> list[PlayedGame]:
    """Return the newest games of a setup, beginning with the newest.

    There are only as many as we need to compare them.
    """
    found: list[PlayedGame] = []
    comparable = 0
    for path, game, at_ms in sorted(played, key=lambda each: (each[2], str(each[0])), reverse=True):
        found.append(_played_game(path, game, at_ms))
        comparable += not found[-1].revealed.incomparable
        if comparable == games:
            break
    return found


def _played_game(path: Path, game: Any, at_ms: int) -> PlayedGame:
    import msgspec

    from slpstream.api import read_codes
    from slpstream.formats.registry import describe_setup
    from slpstream.parts.audit.played_games import PlayedGame

    try:
        codes = read_codes(path)
    except (FormatError, SourceError) as error:
        report(f"{describe_error(path, error)[0]}; its codes are not compared")
        codes = None
    start, end, metadata = game.start, game.end, game.metadata
    settings = msgspec.to_builtins(start.settings)
    return PlayedGame(
        game_id=start.game_id,
        at_ms=at_ms,
        revealed=describe_setup(start.format, settings, codes, None if metadata is None else metadata.metadata),
        duration_seconds=None if end is None else end.duration_seconds,
    )


def _print_table(setups: Sequence[AuditedSetup]) -> None:
    from rich.table import Table
    from rich.text import Text

    from slpstream.cli.terminal import table_console

    rows = [_cells(setup) for setup in setups]
    shown = [name for name in _COLUMNS if any(name in row for row in rows)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("setup", "games", *(_COLUMNS[name] for name in shown), "differences"):
        table.add_column(title, overflow="fold", justify="right" if title in ("games", "differences") else "left")
    for setup, row in zip(setups, rows, strict=True):
        cells = [row.get(name, "") for name in shown]
        if setup.unknown and shown:
            cells[0] = setup.unknown
        differences = str(setup.differences or "")
        table.add_row(
            *(Text(printable(cell)) for cell in (setup.name or setup.setup, str(setup.games), *cells, differences))
        )
    table_console().print(table)


def _cells(setup: AuditedSetup) -> Mapping[str, str]:
    """Return the values of a setup by name.

    If the ports differ, they are named. An asterisk means that the value is marked.
    """
    cells: dict[str, str] = {}
    by_name: dict[str, list[Any]] = {}
    for value in setup.values:
        by_name.setdefault(value.name, []).append(value)
    for name, values in by_name.items():
        texts = {value.text for value in values}
        if len(texts) == 1 or values[0].port is None:
            cells[name] = values[0].text.partition(" (")[0] + ("*" if any(value.mark for value in values) else "")
        else:
            cells[name] = ", ".join(f"P{value.port} {value.text}{'*' if value.mark else ''}" for value in values)
    return cells


def _lines(found: Audit) -> Iterator[str]:
    """Express the findings as sentences."""
    for finding in found.findings:
        yield finding.words
    compared = sum(not setup.unknown for setup in found.setups)
    if compared < 2:
        yield "There are no two setups to compare."
    elif not found.differences:
        yield f"{compared} setups are equal."
