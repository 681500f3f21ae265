"""The examples of the page of training sets run, one after another, over a set that its first command wrote."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import blocks
from tests.formats.slippi.built import Built

PAGE = "slpstream/parts/training/docs.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "replays").mkdir()
    for number in range(8):
        built = Built((3, 16, 0), random_seed=number).frames(-123, 6000 if number else 100)
        (tmp_path / "replays" / f"Game_{number}.slp").write_bytes(built.end().closed())
    (command,) = [block.text for block in blocks("sh") if block.page == PAGE]
    options = command.split()[1:]
    subprocess.run([sys.executable, "-m", "slpstream", *options], check=True, capture_output=True)
    names: dict[str, Any] = {}
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        for block in blocks("python"):
            if block.page == PAGE:
                exec(compile(block.text, PAGE, "exec"), names)
        names["play"](tmp_path / "replays" / "Game_0.slp")
    assert "games, " in output.getvalue()
    assert names["batch"]["p0_pre_joystick_x"].shape == (256, 64)
    assert names["table"].num_rows > 0
    assert output.getvalue().splitlines()[-1].startswith("100 ")
