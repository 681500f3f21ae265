"""The default differs from slippi-js only in damage without hitstun, and in the cases of one table, in
`docs/reference/stats.md`.

The table lists the members that differ, and a row without a difference fails as well. The compatible mode stands in for
slippi-js; `test_compat` compares the two.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.project import ROOT
from tests.replays import needs_shared, replay, replays
from tests.stats.games import Game, Json, differences, game_of, real, run, shown, without_event

PAGE = ROOT / "docs" / "reference" / "stats.md"
HEADING = "## Where slippi-js is wrong"


class Row(NamedTuple):
    """One row of the table."""

    replay: str
    frame: int
    members: frozenset[str]


def table() -> list[Row]:
    section = PAGE.read_text().split(HEADING, 1)[1].split("\n## ", 1)[0]
    rows = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and re.fullmatch(r"`[^`]+`.*", cells[0]):
            name, frame, members = cells[:3]
            rows.append(Row(name.strip("`"), int(frame), frozenset(re.findall(r"`([^`]+)`", members))))
    return rows


def data_of(name: str) -> bytes:
    """A real replay, or one without an event: `game less 0x38 of 0 at 3000`."""
    real, _, less = name.partition(" less ")
    data = replay(real)
    if not less:
        return data
    command, player, frame = re.fullmatch(r"(0x\w+) of (\d) at (-?\d+)", less).groups()  # type: ignore[union-attr]
    return without_event(data, int(command, 16), int(frame), int(player))


def different_members(game: Game) -> frozenset[str]:
    return members(shown(run(game, compat=True)[0]), shown(run(game, all_damage=False)[0]))


def members(theirs: Json, ours: Json) -> frozenset[str]:
    """The members of the stats in which the two differ."""
    return frozenset(re.split(r"[.\[]", difference.where)[0] for difference in differences(theirs, ours))


def test_table_has_rows() -> None:
    rows = table()
    assert len({row.replay for row in rows}) == len(rows) > 3


@needs_shared
@pytest.mark.parametrize("row", table(), ids=lambda row: row.replay)
def test_row(row: Row) -> None:
    """Exactly the members of the row differ, and without the frame of the row they do not."""
    game = game_of(data_of(row.replay))
    assert different_members(game) == row.members
    frames_before = [(frame, offset) for frame, offset in game.frames if frame.number < row.frame]
    assert len(frames_before) < len(game.frames)
    if "less" in row.replay:
        assert not different_members(game._replace(frames=frames_before))


@needs_shared
@pytest.mark.parametrize("path", [p for p in replays() if p.stem != "not_slp_text"], ids=lambda p: p.stem)
def test_no_other_replay_differs(path: Path) -> None:
    listed = {row.replay for row in table()}
    shown_both = real(path.stem)
    assert (path.stem in listed) == bool(members(shown_both.compat, shown_both.stunned))
    assert members(shown_both.stunned, shown_both.default) <= {"conversions", "combos", "overall"}
