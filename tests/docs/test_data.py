"""Every command and example of docs/data/index.md, in order, with a folder of replays and archives.

The games are made up; if real ones are available, the steps are repeated with some of them. The counts in the output of
the commands must agree with each other.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.docs.cells import run_cells
from tests.docs.changes import check_of
from tests.docs.pages import all_blocks
from tests.docs.reader import Reader
from tests.replays import replay, replay_path
from tests.synthetic.match import synthetic_match

PAGE = "docs/data/index.md"
pytestmark = check_of(PAGE)
COMMANDS = [
    command
    for block in all_blocks()
    if block.page == PAGE and block.language == "sh"
    for command in block.text.splitlines()
    if "uv tool install" not in command  # run by tests/docs/test_commands.py
]
EXAMPLES = [block.text for block in all_blocks() if block.page == PAGE and block.language == "python"]
GAMES = 12
FILES = 8
"""The games in separate files; the others are in an archive."""
OWN = ("full_match_3.18",)
REAL = ("FodPlatforms", "Whispy", "rollbackFrameTest", "v2.0")
"""Complete games of two players, one of them Fox, and with kills off stage."""


def games(count: int) -> dict[str, bytes]:
    return {f"Game_{number}.slp": synthetic_match(seed=number, frames=2400) for number in range(1, count + 1)}


def follow_the_page(home: Path, replays: Mapping[str, bytes]) -> dict[str, str]:
    """Enter the commands, and run the example and the cells.

    Returns the output by command, that of the example as `python`.
    """
    reader = Reader(home)
    folder = home / "melee" / "replays"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "more.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, data) in enumerate(replays.items()):
            if number < FILES:
                (folder / name).write_bytes(data)
            else:
                archive.writestr(name, data)
    printed = {command: reader.shell(command) for command in COMMANDS}
    example, *cells = EXAMPLES
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("HOME", str(home))
        changed.chdir(home)
        run_cells(cells, names)
    assert {*names["kills"]["opening_type"]} <= {"neutral-win", "counter-attack", "trade"}
    assert names["players"]["file"].nunique() == len(replays)
    assert names["curve"].between(0, 1).all()
    return {**printed, "python": reader.shell(f"python - <<'END'\n{example}\nEND")}


def of(printed: Mapping[str, str], beginning: str) -> str:
    [text] = [text for command, text in printed.items() if command.startswith(beginning)]
    return text


def check(home: Path, printed: Mapping[str, str], expected: int) -> None:
    assert len(of(printed, "slpstream find ~").splitlines()) == expected
    foxes = [json.loads(line) for line in (home / "melee" / "fox.jsonl").read_text().splitlines()]
    assert 0 < len(foxes) <= expected
    assert any("more.zip::" in game["file"] for game in foxes)
    upairs = (home / "melee" / "upairs.jsonl").read_text().splitlines()
    assert all(json.loads(line)["frames"] for line in upairs)
    assert "queue" in json.loads((home / "melee" / "kills.json").read_text())
    by_stage = of(printed, "slpstream sql ~/melee/replays 'select stage")
    assert sum(map(int, re.findall(r"\s(\d+)\s", by_stage))) == expected
    index = json.loads((home / "melee" / "set" / "index.json").read_text())
    assert len(index["games"]) == expected
    assert re.match(r"\d+ games, \d+ frames", printed["python"])


KNOWN = [names for names in (OWN, REAL) if replay_path(names[0]).exists()]


@pytest.mark.parametrize("names", KNOWN, ids=" ".join)
def test_every_step(names: tuple[str, ...], tmp_path: Path) -> None:
    known = {f"{name}.slp": replay(name) for name in names}
    printed = follow_the_page(tmp_path, {**games(GAMES - len(names)), **known})
    check(tmp_path, printed, GAMES)
    assert of(printed, "slpstream situations ~").splitlines(), "these games have kills off stage"
