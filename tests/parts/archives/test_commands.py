"""Commands give the same results for archives as for the files in them, with one process and with several."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from slpstream.cli import dump
from slpstream.parts.export import cli as export
from slpstream.parts.find import cli as find
from slpstream.parts.info import cli as info
from slpstream.parts.reindex import cli as reindex
from slpstream.parts.situations import cli as situations
from slpstream.parts.stats import cli as stats
from tests.cli.command_line import called
from tests.parts.archives.games import GAMES
from tests.parts.archives.packing import KINDS, zipped


@pytest.fixture(params=["deflated.zip", "a.tar.gz", "lzma2.7z"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "archives"
    folder.mkdir()
    path: Path = folder / request.param
    path.write_bytes(KINDS[request.param]({**GAMES, "broken.slp": b"text"}))
    return path


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    for name, data in GAMES.items():
        path = tmp_path / "plain" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "plain"


def without_file(line: str) -> dict[str, object]:
    values: dict[str, object] = json.loads(line)
    del values["file"]
    return values


@pytest.mark.parametrize("jobs", [1, 2])
def test_stats_of_an_archive_equal_those_of_its_files(archive: Path, plain: Path, jobs: int) -> None:
    found = called(stats.command, archive, "--json", "--jobs", str(jobs))
    expected = called(stats.command, plain, "--json", "--jobs", "1")
    assert found.exit_code == 1
    assert found.stderr == f"slpstream: {archive}::broken.slp: not a Slippi replay, at offset 0\n"
    lines = found.stdout.splitlines()
    assert [json.loads(line)["file"] for line in lines] == [f"{archive}::{name}" for name in GAMES]
    assert [*map(without_file, lines)] == [*map(without_file, expected.stdout.splitlines())]
    rows = called(info.command, archive.parent, "--json").stdout.splitlines()
    assert [json.loads(row)["file"] for row in rows] == [f"{archive}::{name}" for name in GAMES]
    assert called(dump.command, archive, "--topics", "game").stdout.count('"type":"game_start"') == 3


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_export_of_an_archive_has_the_rows_of_its_files(archive: Path, plain: Path, tmp_path: Path, jobs: int) -> None:
    tables = []
    for source, out in ((archive, tmp_path / "a"), (plain, tmp_path / "b")):
        result = called(export.command, source, "--to", "arrow", "-o", out, "--jobs", str(jobs))
        assert "3 of " in result.stdout
        tables.append(ds.dataset(out / "frames", format="arrow").to_table().drop_columns(["file"]).to_pylist())
    assert repr(tables[0]) == repr(tables[1])  # as text, because NaN is not equal to itself


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bombs") / "a.zip"
    path.write_bytes(zipped(dict.fromkeys([f"{i}.slp" for i in range(20)], bytes(40 << 20))))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_bombs_give_the_same_lines_with_several_processes(bombs: Path, jobs: str) -> None:
    lines = called(stats.command, bombs, "--jobs", jobs).stderr.splitlines()
    assert len(lines) == 12
    assert lines[-1] == f"slpstream: {bombs}: the rest is not read: it unpacks to too much"


def test_reindex_reads_archives(archive: Path, tmp_path: Path) -> None:
    config = tmp_path / "slpstream.toml"
    config.write_text(f'[store]\nfolder = "{tmp_path / "state"}"\n')
    for _ in range(2):
        result = called(reindex.command, archive.parent, "--config", config)
        assert result.stdout.startswith("4 files: 3 games, 1 broken")
    archive.write_bytes(zipped({}))
    archive = archive.rename(archive.with_name("empty.zip"))
    assert called(reindex.command, archive.parent, "--config", config).stdout.startswith("0 files: 0 games, 0 broken")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_broken_archive_is_one_line_even_with_several_processes(tmp_path: Path, jobs: str) -> None:
    folder = tmp_path / "archives"
    folder.mkdir()
    (folder / "cut.zip").write_bytes(zipped(GAMES)[:500])
    (folder / "good.zip").write_bytes(zipped(GAMES))
    for command in (stats, find, situations, export):
        arguments: dict[object, list[str | Path]] = {
            stats: ["--json", folder],
            find: [folder, "char:fox"],
            situations: [folder, "kill"],
            export: ["--to", "csv", "-o", tmp_path / f"out-{jobs}", folder],
        }
        result = called(command.command, *arguments[command], "--jobs", jobs)
        assert result.exit_code == 74, result.output
        assert len([line for line in result.stderr.splitlines() if "cut.zip: not a zip archive" in line]) == 1
