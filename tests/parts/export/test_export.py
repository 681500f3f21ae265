"""`slpstream export`: the tables equal the columns, for every file format and number of processes."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from slpstream.api import open_replay
from slpstream.formats.slippi import arrow
from slpstream.parts.export import cli as export
from slpstream.parts.pack import cli_pack as pack
from tests.cli.command_line import INPUT_OUTPUT, NO, USAGE, called, slpstream
from tests.formats.games import games as finished_games
from tests.formats.slippi.built import METADATA, ONLINE, Built, varied_replay
from tests.formats.slippi.writer import PlayerSetup, ReplayWriter, game_start
from tests.marks import slow

TEXT = ds.CsvFileFormat(convert_options=pa.csv.ConvertOptions(null_values=[""]))
"""CSV in which only empty cells are null, so that the text `nan` is a number."""


def games() -> dict[str, bytes]:
    """A small game of each kind, without NaN."""
    rollbacks = Built(major_scene=ONLINE).frames(-123, -100, items=2)
    for number in (-102, -101, -100, -99):
        rollbacks.frame(number, items=1)
    return {
        "Game_a.slp": rollbacks.end(placements=(0, 1, -1, -1)).closed(),
        "Game_b.slp": Built((2, 0, 1)).frames(-123, -100, followers=(1,)).end().closed(),
        "deeper/Game_c.slp": Built((0, 1, 0)).frames(-123, -110).end().closed(),
        "deeper/Game_d.slp": Built((3, 18, 0)).frames(-123, -120).end().closed(),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    (folder / "deeper").mkdir(parents=True)
    for name, data in games().items():
        (folder / name).write_bytes(data)
    return folder


def test_formats_without_columns_are_refused_under_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    (folder / "race.slp").write_bytes(finished_games()["race.gci"])
    (folder / "melee.gci").write_bytes(varied_replay())
    (folder / "melee.slp").write_bytes(varied_replay())
    assert called(pack.command, folder / "race.slp", "-o", folder / "race.gci.slplog").exit_code == 0
    result = run(*sorted(folder.iterdir()), "--to", "csv", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert result.output.count("gci replays have no columns") == 2
    starts = pd.read_csv(tmp_path / "out" / "game_starts" / "part-0000.csv")
    assert {Path(file).name for file in starts["file"]} == {"melee.gci", "melee.slp"}


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write two replays per part."""
    monkeypatch.setattr(export, "PART_FILES", 2)


def run(*arguments: str | Path) -> Result:
    return called(export.command, *arguments)


def expected(files: list[Path], *, revisions: str = "last") -> dict[str, pa.Table]:
    """The tables of some files, built directly from their columns."""
    tables: dict[str, list[pa.Table]] = {name: [] for name in export.TABLES}
    for path in files:
        replay = open_replay(path)
        frames = replay.frames if revisions == "last" else replay.frames.sendings
        made = {
            "frames": arrow.frames_table(frames),
            "items": arrow.items_table(frames),
            "game_starts": arrow.game_start_table(replay.settings),
            "game_ends": arrow.game_end_table(replay.game_end, replay.metadata),
        }
        for name, table in made.items():
            tables[name].append(arrow.of_game(table, file=str(path), game_id=replay.game_id))
    return {name: pa.concat_tables(game_tables) for name, game_tables in tables.items()}


def plain(table: pa.Table) -> list[dict[str, Any]]:
    return table.to_pylist()  # type: ignore[no-any-return]


def contents(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("revisions", ["last", "all"])
def test_tables_equal_the_columns(folder: Path, tmp_path: Path, kind: str, revisions: str, small_parts: None) -> None:
    out = tmp_path / "out"
    assert run(folder, "--to", kind, "-o", out, "--revisions", revisions, "--jobs", "1").exit_code == 0
    for name, table in expected(sorted(folder.rglob("*.slp")), revisions=revisions).items():
        parts = sorted((out / name).iterdir())
        assert [part.name for part in parts] == [f"part-0000.{kind}", f"part-0001.{kind}"]
        read = ds.dataset(parts, format=kind).to_table()
        assert read.schema.names == ["file", "game_id", *table.schema.names[2:]]
        assert plain(read) == plain(table)
        if kind == "parquet":
            assert pq.read_table(out / name).schema.field(2).type == table.schema.field(2).type
            frames = pd.read_parquet(out / name)
            assert len(frames) == len(table)


def test_csv_equals_the_columns(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(folder, "--to", "csv", "-o", out).exit_code == 0
    for name, table in expected(sorted(folder.rglob("*.slp"))).items():
        path = out / name / "part-0000.csv"
        assert path.read_text(encoding="utf-8").splitlines()[0] == ",".join(
            f'"{column}"' for column in table.schema.names
        )
        read = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype={"winners": str, "game_id": str})
        assert read.columns.tolist() == table.schema.names
        for column in table.schema:
            if pa.types.is_list(column.type):
                values = [" ".join(map(str, one)) or None for one in table[column.name].to_pylist()]
            else:
                values = table[column.name].to_pylist()
            got = [None if pd.isna(value) else value for value in read[column.name].tolist()]
            if pa.types.is_float32(column.type):
                got = [None if value is None else float(np.float32(value)) for value in got]
            assert got == [None if value == "" else value for value in values], column.name


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_rows_of_several_games_are_concatenated(kind: str, tmp_path: Path) -> None:
    without_items = Built().frames(-123, -120).end().closed()
    with_items = Built().frames(-123, -120, items=2).end().closed()
    for name, data in {"a": without_items, "b": without_items, "c": with_items, "d": without_items}.items():
        (tmp_path / f"{name}.slp").write_bytes(data)
    files = sorted(tmp_path.glob("*.slp"))
    assert run(*files, "--to", kind, "-o", tmp_path / "all").exit_code == 0
    assert run(files[0], "--to", kind, "-o", tmp_path / "empty").exit_code == 0

    def read(table: str, folder: str = "all") -> pa.Table:
        kind_of_file = TEXT if kind == "csv" else kind
        return ds.dataset(tmp_path / folder / table, format=kind_of_file, schema=tables[table].schema).to_table()

    tables = expected(files)
    del tables["game_ends"]  # has a list, which CSV readers do not support
    for name, table in tables.items():
        plain = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table]
        tables[name] = pa.table(plain, names=table.schema.names)
    for name, table in tables.items():
        columns = ["file", *table.schema.names[2:4]]
        assert read(name).select(columns).to_pylist() == table.select(columns).to_pylist(), name
    assert len(read("items")) == 8
    assert len(read("items", "empty")) == 0


def test_csv_has_no_spreadsheet_formulas(tmp_path: Path) -> None:
    metadata = {**METADATA, "consoleNick": "=1+1|x"}
    writer = ReplayWriter((3, 18, 0))
    setups = [
        PlayerSetup(index=index, character_id=2, nametag="'a", display_name="@SUM(1)", connect_code="-1#2")
        for index in range(2)
    ]
    setup = game_start((3, 18, 0), players=setups, stage_id=8, major_scene=ONLINE)
    body = writer.open() + writer.event(setup) + writer.end(2, placements=(0, 1, -1, -1)) + writer.close(metadata)
    path = tmp_path / "+1.slp"
    path.write_bytes(writer.header() + body[len(writer.header()) :])
    with chdir(tmp_path):
        assert run(path.name, "--to", "csv", "-o", "out").exit_code == 0
    rows = {name: pd.read_csv(tmp_path / "out" / name / "part-0000.csv", dtype=str) for name in export.TABLES}
    start, end = rows["game_starts"].iloc[0], rows["game_ends"].iloc[0]
    assert start[["file", "nametag", "display_name", "connect_code"]].tolist() == [
        "'+1.slp", "''a", "'@SUM(1)", "'-1#2",
    ]  # fmt: skip
    assert end["console_nick"] == "'=1+1|x"
    assert end["placement_3"] == "-1", "numbers stay numbers"
    assert run(path, "--to", "parquet", "-o", tmp_path / "exact").exit_code == 0
    assert pq.read_table(tmp_path / "exact" / "game_ends")["console_nick"].to_pylist() == ["=1+1|x"]


def test_nan_is_not_null(tmp_path: Path) -> None:
    """A NaN in the replay stays NaN in every file format, and an absent value stays null."""
    path = tmp_path / "a.slp"
    path.write_bytes(varied_replay())
    table = expected([path])["frames"]
    nans = pa.compute.sum(pa.compute.is_nan(table["post_percent"])).as_py()
    nulls = table["post_percent"].null_count
    assert (nans, nulls) == (1, 1)
    for kind in ("parquet", "arrow", "csv"):
        run(path, "--to", kind, "-o", tmp_path / kind)
        kind_of_file = TEXT if kind == "csv" else kind
        read = ds.dataset(tmp_path / kind / "frames", format=kind_of_file).to_table()["post_percent"]
        assert (pa.compute.sum(pa.compute.is_nan(read)).as_py(), read.null_count) == (nans, nulls), kind


@pytest.mark.parametrize("kind", ["parquet", *slow("csv")])
def test_result_does_not_depend_on_the_number_of_processes(
    folder: Path, tmp_path: Path, kind: str, small_parts: None
) -> None:
    (folder / "broken.slp").write_text("no replay")
    one = run(folder, "--to", kind, "-o", tmp_path / "one", "--jobs", "1")
    two = run(folder, "--to", kind, "-o", tmp_path / "two", "--jobs", "2")
    assert (one.exit_code, two.exit_code) == (NO, NO)
    assert one.stderr == two.stderr
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) == 3 * len(export.TABLES)


def test_broken_file_is_reported_and_omitted(folder: Path, tmp_path: Path) -> None:
    cut = folder / "cut.slp"
    cut.write_bytes((folder / "Game_a.slp").read_bytes()[:6000])
    done = run(folder, "--to", "parquet", "-o", tmp_path / "warned")
    assert done.exit_code == 0
    assert done.stderr.startswith(f"slpstream: {cut}: breaks off at offset ")
    (folder / "bad.slp").write_text("no replay")
    done = run(folder, "--to", "parquet", "-o", tmp_path / "out")
    assert done.exit_code == NO
    bad, _ = done.stderr.splitlines()
    assert bad == f"slpstream: {folder / 'bad.slp'}: not a Slippi replay, at offset 0"
    assert "5 of 6 replays" in done.stdout
    ends = pq.read_table(tmp_path / "out" / "game_ends").to_pylist()
    names = ["Game_a.slp", "Game_b.slp", "cut.slp", "Game_c.slp", "Game_d.slp"]
    assert [Path(row["file"]).name for row in ends] == names
    assert [row["reason"] for row in ends].count("incomplete") == 1
    files = sorted(folder.rglob("*.slp"), reverse=True)
    run(*files, folder, "--to", "parquet", "-o", tmp_path / "two", "--jobs", "1")
    assert contents(tmp_path / "two") == contents(tmp_path / "out"), "the order of the arguments does not matter"


def test_exit_codes(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    missing = run(folder, tmp_path / "missing.slp", "--to", "csv", "-o", out)
    assert missing.exit_code == INPUT_OUTPUT
    assert missing.stderr == f"slpstream: {tmp_path / 'missing.slp'}: no such file or directory\n"
    (tmp_path / "empty").mkdir()
    empty = run(tmp_path / "empty", "--to", "csv", "-o", tmp_path / "none")
    assert (empty.exit_code, empty.stderr) == (NO, f"slpstream: no replays in {tmp_path / 'empty'}\n")
    (tmp_path / "bad.slp").write_text("no replay")
    assert run(tmp_path / "bad.slp", "--to", "csv", "-o", tmp_path / "bad").exit_code == NO
    assert contents(tmp_path / "bad") == {}
    for wrong in (["--to", "xls", "-o", out], ["--to", "csv"], ["--to", "csv", "-o", out, "--tables", "weather"]):
        assert run(folder, *wrong).exit_code == USAGE


def test_only_selected_tables_are_written(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(folder, "--to", "parquet", "-o", out, "--tables", "game_ends, items").exit_code == 0
    assert set(contents(out)) == {"game_ends/part-0000.parquet", "items/part-0000.parquet"}
    assert run(folder, "--to", "parquet", "-o", out, "--tables", "frames").exit_code == 0
    assert "frames/part-0000.parquet" in contents(out)


def test_earlier_parts_are_replaced_only_with_overwrite(folder: Path, tmp_path: Path, small_parts: None) -> None:
    out = tmp_path / "out"
    run(folder, "--to", "csv", "-o", out, "--jobs", "1")
    before = contents(out)
    refused = run(folder / "Game_a.slp", "--to", "parquet", "-o", out)
    assert refused.exit_code == USAGE
    message = f"{out / 'frames'}: contains parts of an earlier export; use --overwrite to remove them"
    assert refused.stderr == f"slpstream: {message}\n"
    assert contents(out) == before
    (out / "frames" / ".part-0007.csv.tmp").write_text("half")
    (out / "frames" / "notes.txt").write_text("mine")
    assert run(folder / "Game_a.slp", "--to", "parquet", "-o", out, "--overwrite").exit_code == 0
    assert set(contents(out)) == {f"{name}/part-0000.parquet" for name in export.TABLES} | {"frames/notes.txt"}


def test_full_disk_leaves_no_partial_part(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_parts: None
) -> None:
    """If the disk is full in the middle of the second part, the first part remains, and the second is removed."""
    write = pq.write_table
    tables = iter(range(100))

    def fill_up(*arguments: Any, **options: Any) -> None:
        write(*arguments, **options)
        if next(tables) == 6:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", fill_up)
    out = tmp_path / "out"
    with pytest.raises(OSError, match="No space left"):
        run(folder, "--to", "parquet", "-o", out, "--jobs", "1")
    assert set(contents(out)) == {f"{name}/part-0000.parquet" for name in export.TABLES}


@pytest.mark.parametrize("module", ["numpy", "pyarrow"])
def test_missing_extra_is_reported(folder: Path, tmp_path: Path, module: str) -> None:
    hide = f"import sys; sys.modules[{module!r}] = None"
    done = slpstream("export", folder, "--to", "csv", "-o", tmp_path / "out", before=hide)
    assert done.returncode == USAGE
    assert done.stderr == "slpstream: export needs numpy and pyarrow: pip install 'slpstream[analysis]'\n"
    assert not (tmp_path / "out").exists()
