"""The stubs that are made from tables are current, and type checkers reveal exact types with them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import blocks
from tests.project import ROOT

PROGRAM = ROOT / "deploy/wheel/stubs.py"

ARRAY = "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.{}]]"
REVEALED = {
    "replay": "slpstream.api.Replay",
    "replay.format": "str",
    "replay.game_id": "str",
    "replay.start.rate": "tuple[int, int]",
    "replay.settings.stage_id": "int",
    "replay.settings.is_teams": "bool",
    "replay.settings.players[0].connect_code": "str",
    "replay.settings.match_info.session_id": "str",
    "replay.game_end.last_frame": "int | None",
    "replay.metadata": "dict[str, Any] | None",
    "replay.frames.number": ARRAY.format("signedinteger[numpy._32Bit]"),
    "replay.frames.players": "dict[int, slpstream.formats.slippi.columns.Character]",
    "replay.frames.players[0].post.percent": ARRAY.format("floating[numpy._32Bit]"),
    "replay.frames.players[0].post.stocks_remaining": ARRAY.format("unsignedinteger[numpy._8Bit]"),
    "replay.frames.players[0].post.is_airborne": ARRAY.format("bool[bool]"),
    "replay.frames.players[0].post.self_induced_speeds.air_x": ARRAY.format("floating[numpy._32Bit]"),
    "replay.frames.players[0].pre.physical_buttons": ARRAY.format("unsignedinteger[numpy._16Bit]"),
    "replay.frames.start.seed": ARRAY.format("unsignedinteger[numpy._32Bit]"),
    "replay.frames.items.type_id": ARRAY.format("unsignedinteger[numpy._16Bit]"),
    "replay.frames.items.counts": ARRAY.format("signedinteger[numpy._64Bit]"),
    "replay.frames.between(0, 60).row_of(0)": "int",
    "replay.stats().conversions[0].moves[0].damage": "float",
    "replay.events()[0].end_offset": "int",
    "next(slpstream.messages('game.slp')).cursor": "str | None",
    "next(slpstream.follow('game.slp')).json()": "bytes",
    "client.cursors": "dict[str, str]",
    "lost['playerIndex']": "int",
    "lost['stock']['endPercent']": "float",
    "frame['frame']['players']['0']['post']['percent']": "float",
    "stats['stats']['overall'][0]['inputCounts']['total']": "int",
    "odds['odds']": "float",
    "odds['stocks']": "list[int]",
    "matchup['players'][0]['results'][0]['won']": "bool",
    "played['games'][0]['players'][0]['percent']": "float",
}
KNOWN_MESSAGES = (
    "assert message['type'] == 'event' and message['kind'] == 'stock_lost'",
    "lost = message",
    "message = next(client)",
    "assert message['type'] == 'frame'",
    "frame = message",
    "message = next(client)",
    "assert message['type'] == 'stats'",
    "stats = message",
    "message = next(client)",
    "assert message['type'] == 'odds'",
    "odds = message",
    "message = next(client)",
    "assert message['type'] == 'matchup'",
    "matchup = message",
    "message = next(client)",
    "assert message['type'] == 'set'",
    "played = message",
)
"""A check of the type, or of the kind of an event, is enough to know the keys of a message."""
WRONG = {
    "replay.settings.stage": 'has no attribute "stage"',
    "replay.frames.players[0].post.percentage": 'has no attribute "percentage"',
    "slpstream.open_reply": 'has no attribute "open_reply"',
    "lost['stocks']": 'has no key "stocks"',
    "odds['stock']": 'has no key "stock"',
    "assert lost['kind'] == 'stock_losst'": "Non-overlapping equality check",
}


def checked(*programs: Path) -> list[str]:
    """The lines that `mypy --strict` prints for programs. The cache of mypy in the checkout is used if there is one."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, programs)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout.replace("numpy._typing._nbit_base.", "numpy.").replace("builtins.", "").splitlines()


@pytest.mark.parts("director", "matchup", "odds")
def test_stubs_are_current() -> None:
    spec = importlib.util.spec_from_file_location("stubs", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    for path, text in program.stubs().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run python deploy/wheel/stubs.py"


def test_type_checker_reveals_exact_types(tmp_path: Path) -> None:
    client = ["import slpstream", "replay = slpstream.open_replay('game.slp')"]
    client += ["client = slpstream.connect()", "message = next(client)", *KNOWN_MESSAGES]
    client += [f"reveal_type({expression})" for expression in REVEALED]
    client += list(WRONG)
    (tmp_path / "client.py").write_text("\n".join(client), encoding="utf-8")
    lines = checked(tmp_path / "client.py")
    revealed = [found[1] for line in lines if (found := re.search(r'Revealed type is "(.*)"', line))]
    assert dict(zip(REVEALED, revealed, strict=True)) == REVEALED
    errors = [line for line in lines if ": error: " in line]
    assert len(errors) == len(WRONG), lines
    for line, expected in zip(errors, WRONG.values(), strict=True):
        assert expected in line


def test_examples_of_the_page_pass_the_type_checker(tmp_path: Path) -> None:
    examples = [block.text for block in blocks("python") if block.page == "docs/howto/python.md"]
    programs = [tmp_path / f"example_{number}.py" for number in range(len(examples))]
    for program, example in zip(programs, examples, strict=True):
        program.write_text(f"import slpstream\n{example}", encoding="utf-8")
    assert checked(*programs) == []
