"""`slpstream export`: replays as columns for analysis, in Parquet, Arrow or CSV.

The files are cut into parts by a fixed rule, in the order of their paths: what a part holds does not depend on how many
processes work. A part is read and written by one process; it is written under a temporary name that no reader of
`*.parquet` or of the folder looks at, and renamed when all its tables are complete.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click

from slpstream.api import Replay, open_replay
from slpstream.cli import EXIT_INPUT_OUTPUT, complain, fail, printable, said_of
from slpstream.cli.files import find_files, nothing_in, progress_bar
from slpstream.cli.processes import CONTEXT, pool_of, starting
from slpstream.model.errors import FormatError, SourceError

FileKind = Literal["parquet", "arrow", "csv"]

TABLES = ("frames", "items", "game_starts", "game_ends")

_PART_BYTES = 32 << 20
"""Replays of at most so many bytes together make a part; a larger one is a part alone."""
_PART_FILES = 1024
_POLL_SECONDS = 0.1


class Request(NamedTuple):
    """What to export, and where to."""

    out: Path
    kind: FileKind
    revisions: Literal["last", "all"]
    tables: tuple[str, ...]


class Part(NamedTuple):
    """Files that go into the same part of each table."""

    number: int
    files: tuple[Path, ...]


class Complaint(NamedTuple):
    """What is said of a file on stderr; exit code 0 is a warning."""

    code: int
    what: str


class Written(NamedTuple):
    """What came of a part."""

    complaints: list[Complaint]
    games: int
    rows: dict[str, int]


def _parse_tables(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    wanted = {part.strip() for part in value.split(",") if part.strip()}
    if not wanted or wanted - set(TABLES):
        unknown = ", ".join(sorted(wanted - set(TABLES))) or "none"
        raise click.BadParameter(f"expected some of {', '.join(TABLES)}; found {unknown}")
    return tuple(name for name in TABLES if name in wanted)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option("--to", "kind", type=click.Choice(["parquet", "arrow", "csv"]), required=True, help="Kind of the files.")
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write into."
)
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="Processes.  [default: one a core]")
@click.option(
    "--revisions",
    type=click.Choice(["last", "all"]),
    default="last",
    show_default=True,
    help="Each frame as it was in the end, or every sending of it.",
)
@click.option(
    "--tables",
    default=",".join(TABLES),
    show_default=True,
    callback=_parse_tables,
    help="Which tables.",
)
@click.option("--overwrite", is_flag=True, help="Remove the parts that an earlier export left.")
def command(
    paths: tuple[Path, ...],
    kind: FileKind,
    out: Path,
    jobs: int | None,
    revisions: Literal["last", "all"],
    tables: tuple[str, ...],
    overwrite: bool,
) -> None:
    """Replays as columns: OUT/TABLE/part-0000.KIND, ... for each table. A broken file is reported, the others go on."""
    if find_spec("numpy") is None or find_spec("pyarrow") is None:
        fail("export needs numpy and pyarrow: pip install 'slpstream[analysis]'", 2)
    files = sorted({found.path for found in find_files(paths)})
    if not files:
        nothing_in(paths)
    _make_room(out, tables, overwrite=overwrite)
    parts = _parts(files)
    jobs = min(jobs or _cores(), len(parts))
    request = Request(out, kind, revisions, tables)
    code, games, rows = 0, 0, dict.fromkeys(tables, 0)
    with progress_bar("exporting", len(files), shown=True) as show:
        for written in _export_in_processes(request, parts, jobs, show) if jobs > 1 else _export(request, parts, show):
            for complaint in written.complaints:
                complain(complaint.what)
                code = max(code, complaint.code)
            games += written.games
            for name, count in written.rows.items():
                rows[name] += count
    for name, count in rows.items():
        print(printable(f"{out / name}: {count:,} rows"))
    print(f"{games} of {len(files)} replays")
    sys.exit(code)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _make_room(out: Path, tables: Sequence[str], *, overwrite: bool) -> None:
    """Folders for the tables, without parts from before. Whole parts only: what an interrupted export left goes."""
    for name in tables:
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        old = sorted(folder.glob("part-*"))
        if old and not overwrite:
            fail(f"{folder}: has parts of an earlier export; --overwrite removes them", 2)
        for file in (*old, *folder.glob(".part-*.tmp")):
            file.unlink()


def _parts(files: Sequence[Path]) -> list[Part]:
    """Files in their order, cut by their sizes alone."""
    batches: list[list[Path]] = []
    room = 0
    for file in files:
        size = _size_bytes(file)
        if not batches or size > room or len(batches[-1]) == _PART_FILES:
            batches.append([])
            room = _PART_BYTES
        batches[-1].append(file)
        room -= size
    return [Part(number, tuple(batch)) for number, batch in enumerate(batches)]


def _size_bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # reading it will say what is wrong


def _export(request: Request, parts: Sequence[Part], show: Callable[[int], None]) -> Iterator[Written]:
    """One part after the other."""
    done = 0

    def file_done() -> None:
        nonlocal done
        done += 1
        show(done)

    for part in parts:
        yield export_part(request, part, file_done)


# -- several processes
# --------------------------------------------------------------------------------------------------------------------

_files_done: Any = None
"""In a worker: the count of files that all workers share. A pool hands it over when the process starts, and only
then."""


def _begin_work(files_done: Any) -> None:
    global _files_done  # noqa: PLW0603
    _files_done = files_done


def _file_done() -> None:
    with _files_done.get_lock():
        _files_done.value += 1


def _work(request: Request, part: Part) -> Written:
    return export_part(request, part, _file_done)


def _export_in_processes(
    request: Request, parts: Sequence[Part], jobs: int, show: Callable[[int], None]
) -> Iterator[Written]:
    """As `_export`, in the same order."""
    files_done = CONTEXT.Value("q", 0)
    with pool_of(jobs, _begin_work, files_done) as pool:
        try:
            with starting():
                futures = [pool.submit(_work, request, part) for part in parts]
            for future in futures:
                while not wait([future], timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED).done:
                    show(files_done.value)
                show(files_done.value)
                yield future.result()
        except BrokenProcessPool:
            fail("a process that exported has been killed; was there too little memory?", EXIT_INPUT_OUTPUT)


# -- one part
# --------------------------------------------------------------------------------------------------------------------


def export_part(request: Request, part: Part, file_done: Callable[[], None]) -> Written:
    """Reads the files of a part and writes it, unless there is no game in any of them. Raises `OSError`."""
    tables: dict[str, list[Any]] = {name: [] for name in request.tables}
    complaints: list[Complaint] = []
    for file in part.files:
        try:
            replay = open_exportable(file)
            of_game = tables_of(replay, request)
            warnings = _breaks_off(replay)
        except (FormatError, SourceError) as error:
            what, code = said_of(file, error)
            complaints.append(Complaint(code, what))
        else:
            complaints += warnings
            for name, table in of_game.items():
                tables[name].append(table)
        file_done()
    games = len(part.files) - sum(1 for complaint in complaints if complaint.code)
    if games:
        _write_part(request, part.number, tables)
    return Written(complaints, games, {name: sum(map(len, of_games)) for name, of_games in tables.items()})


def open_exportable(file: Path) -> Replay:
    """A replay that has columns. Raises `SourceError` and `FormatError`."""
    replay = open_replay(file)
    if not replay.has_columns:
        raise FormatError(f"{replay.format} replays have no columns and cannot be exported", offset=0)
    return replay


def tables_of(replay: Replay, request: Request) -> dict[str, Any]:
    """The tables of one game, each beginning with `file` and `game_id`."""
    from slpstream.formats.slippi import arrow

    file = str(replay.path).encode("utf-8", "replace").decode()

    def frames() -> Any:
        return replay.frames if request.revisions == "last" else replay.frames.sendings

    make: dict[str, Callable[[], Any]] = {
        "frames": lambda: arrow.frames_table(frames()),
        "items": lambda: arrow.items_table(frames()),
        "game_starts": lambda: arrow.game_start_table(replay.settings),
        "game_ends": lambda: arrow.game_end_table(replay.game_end, replay.metadata),
    }
    return {name: arrow.of_game(make[name](), file=file, game_id=replay.game_id) for name in request.tables}


def _breaks_off(replay: Replay) -> list[Complaint]:
    end = replay.game_end
    if end.reason not in ("incomplete", "error"):
        return []
    frames = f"exported as far as it goes, {len(replay.frames):,} frames"
    return [Complaint(0, f"{replay.path}: breaks off at offset {end.end_offset} ({end.reason}); {frames}")]


def _write_part(request: Request, number: int, tables: dict[str, list[Any]]) -> None:
    import pyarrow as pa

    names = {
        name: (folder / f".part-{number:04}.{request.kind}.tmp", folder / f"part-{number:04}.{request.kind}")
        for name in tables
        for folder in [request.out / name]
    }
    try:
        for name, of_games in tables.items():
            with names[name][0].open("wb") as file:
                _WRITE[request.kind](pa.concat_tables(of_games).unify_dictionaries(), file)
        for temporary, final in names.values():
            temporary.replace(final)
    finally:
        for temporary, _ in names.values():
            temporary.unlink(missing_ok=True)


def _write_parquet(table: Any, file: Any) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file, compression="zstd")


def _write_arrow(table: Any, file: Any) -> None:
    import pyarrow as pa

    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _write_csv(table: Any, file: Any) -> None:
    """Flat text with a header: a list becomes its values with spaces between them."""
    import pyarrow as pa
    from pyarrow import compute, csv

    for place, column in enumerate(table.schema):
        values = table.column(place)
        if pa.types.is_list(column.type):
            values = compute.binary_join(values.cast(pa.list_(pa.string())), " ")
        elif pa.types.is_dictionary(column.type):
            values = values.cast(column.type.value_type)
        else:
            continue
        table = table.set_column(place, column.name, values)
    csv.write_csv(table, file)


_WRITE: dict[str, Callable[[Any, Any], None]] = {
    "parquet": _write_parquet,
    "arrow": _write_arrow,
    "csv": _write_csv,
}
