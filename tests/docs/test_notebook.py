"""The cells of the example notebook run, in an event loop that is already running, as in Jupyter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.daemons.process import running
from tests.docs.cells import run_cells
from tests.project import ROOT
from tests.synthetic.match import synthetic_match

NOTEBOOK = ROOT / "docs" / "howto" / "game.ipynb"


@pytest.mark.parts("odds", "situations")
@pytest.mark.process
def test_notebook_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "Game_20261121T052951.slp"
    game = synthetic_match(seed=3, frames=900, rollbacks=True)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    first, *others = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    exec(first, names)

    with running(tmp_path) as daemon:
        daemon.wait_ready()
        path.write_bytes(game)
        daemon.until(lambda: daemon.get("/v1/stations")["stations"][0].get("game"))
        names |= {"path": path, "url": daemon.url}
        run_cells(others, names)
    assert len(names["events"]) > 20
    assert names["hits"]
    assert names["curve"].between(0, 1).all()
    assert capsys.readouterr().out.splitlines()[-1] == "game_end"
