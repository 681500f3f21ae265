"""The short form of each benchmark runs and gives figures. Times are not checked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.pipeline import Pipeline
from tests.bench import __main__ as command
from tests.bench.benchmarks import BENCHMARKS
from tests.bench.games import FIRST_FRAME, EndlessGame
from tests.bench.report import Figure, Form, table
from tests.browsers.chromium import CHROMIUM
from tests.outputs.real_obs import missing
from tests.project import IN_CI


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the benchmarks read /proc")
@pytest.mark.parametrize("name", [name for name in BENCHMARKS if name != "tournament"])  # see test_tournament.py
def test_benchmark_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in ("overlay", "wall") and not CHROMIUM.exists() and not IN_CI:
        pytest.skip(f"there is no {CHROMIUM}")
    if name == "obs" and missing() and not IN_CI:
        pytest.skip(f"not installed: {missing()}")
    monkeypatch.setattr(sys, "argv", ["bench", name, "--short", "--json", str(tmp_path / "figures.json")])
    command.main()
    # A benchmark may print its own table before the common one.
    _, header, rest = capsys.readouterr().out.partition("| benchmark |")
    rows = [line for line in (header + rest).splitlines() if line.startswith("| ")]
    figures = json.loads((tmp_path / "figures.json").read_text())["figures"]
    assert len(rows) == len(figures) + 2
    assert figures
    assert all(figure["value"] >= 0 and len(figure["runs"]) >= 1 for figure in figures)


def test_missed_target_is_printed() -> None:
    printed = table([Figure("a", [2.0], "ms", 1.0), Figure("b", [1.0, 9.0, 0.5], "ms", 1.0), Figure("c", [1.0], "ms")])
    rows = [line.split(" | ") for line in printed.splitlines()[2:]]
    assert [row[3].strip() for row in rows] == ["MISS", "ok", ""]
    assert rows[1][1] == "1 (0.5 to 9) ms"


def test_endless_game_is_valid() -> None:
    game = EndlessGame()
    count = 12_000
    pipeline = Pipeline(SlippiReader(), ["live", "finalized"])
    batch = pipeline.feed(game.head(7) + b"".join(game.frame(index) for index in range(count)))
    log = batch.messages("finalized")
    numbers = [message.frame for message in log if message.type == "frame"]
    assert pipeline.last_frame == FIRST_FRAME + count - 1
    assert numbers == list(range(FIRST_FRAME, FIRST_FRAME + len(numbers)))
    assert not [message for message in log if message.type == "diagnostic"]


def test_default_form_is_thorough() -> None:
    assert Form() == Form(short=False, runs=3)
