"""docs/reference/columns.md: every example runs, and the description of the columns is correct."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slpstream.cli import cli
from slpstream.formats.slippi import arrow
from tests.project import ROOT
from tests.synthetic.match import synthetic_match

PAGE = ROOT / "docs" / "reference" / "columns.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The examples run in order, as one session. Those that use DuckDB are skipped if it is not installed."""
    (tmp_path / "replays").mkdir()
    for seed in (2, 3):
        data = synthetic_match(seed=seed, frames=500, rollbacks=True)
        (tmp_path / "replays" / f"Game_2026112{seed}T052951.slp").write_bytes(data)
    (tmp_path / "Game_20261121T052951.slp").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    session: dict[str, Any] = {}
    examples = re.findall(r"```(sh|python)\n(.*?)```", TEXT, re.DOTALL)
    assert [kind for kind, _ in examples] == [*["python"] * 5, "sh", *["python"] * 2]
    for kind, example in examples:
        if kind == "python":
            if "import duckdb" in example:
                try:
                    import duckdb  # noqa: F401
                except ModuleNotFoundError:
                    continue
            exec(compile(example, PAGE.name, "exec"), session)
        elif example.startswith("slpstream"):
            done = CliRunner().invoke(cli, shlex.split(example)[1:])
            assert done.exit_code == 0, done.output
    output = capsys.readouterr().out
    assert "sendings were overruled" in output
    assert "of the game in the air" in output
    assert "stocks lost: " in output


def test_columns_are_as_described() -> None:
    for row in re.findall(
        r"^\| (`.*?) \| (.*?) \| (?:frame number|how often|0 to 3|Nana|of the whole)", TEXT, re.MULTILINE
    ):
        names, types = (part.replace("`", "").split(", ") for part in row)
        assert [str(arrow.FRAMES_SCHEMA.field(name).type) for name in names] == types
    [ends_row] = [line for line in TEXT.splitlines() if line.startswith("| `game_ends`")]
    named = set(re.findall(r"`(\w+)`", ends_row)) - {"game_ends", "file", "game_id"}
    assert named <= set(arrow.GAME_ENDS_SCHEMA.names)
    for name in re.findall(r"`((?:pre|post)_\w+)`", TEXT):
        assert name in arrow.FRAMES_SCHEMA.names
