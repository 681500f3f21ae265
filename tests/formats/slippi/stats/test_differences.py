"""The default differs from slippi-js only in damage without hitstun, and in the cases of the table in `differences.md`.

The table lists the members that differ, and a row without a difference fails as well. The compatible mode stands in for
slippi-js; `test_compat` compares the two.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.formats.slippi.stats.games import Game, Json, differences, game_of, run, shown, shown_in, without_event
from tests.replays import NOT_REPLAYS, existing, replay, replays

TABLE = Path(__file__).with_name("differences.md")
NOT_COMPARED = {
    *NOT_REPLAYS, "doubles_1.2", "doubles_3.15", "doubles_3.18", "free_for_all_1.0", "free_for_all_3.13",
    "free_for_all_3.18", "home_run_3.18", "lost_game_end_3.6", "lost_game_end_3.18", "stamina_3.18",
    "teams_time_mode_3.18", "time_mode_2.0", "time_mode_3.18",
    "go-slippi__4-player-offline", "libenforcer__test_data__handwarmers__Game_8C56C529AEAA_20231021T125730",
    "py-slippi__severed_frame", "slippi-js__timer_increasing",
}  # fmt: skip
"""Games without two players, which slippi-js does not support, and without the Game End that it waits for.

In `stamina_3.18`, a player who is not dying loses a stock; the next life begins in the next frame there."""


class Row(NamedTuple):
    """One row of the table."""

    replay: str
    frame: int
    members: frozenset[str]


def table() -> list[Row]:
    rows = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
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


@pytest.mark.parametrize("row", [row for row in table() if existing(row.replay.split(" ")[0])], ids=lambda r: r.replay)
def test_row(row: Row) -> None:
    """Exactly the members of the row differ, and without the frame of the row they do not."""
    game = game_of(data_of(row.replay))
    assert different_members(game) == row.members
    frames_before = [(frame, offset) for frame, offset in game.frames if frame.number < row.frame]
    assert len(frames_before) < len(game.frames)
    if "less" in row.replay:
        assert not different_members(Game(game.settings, frames_before, game.end))


@pytest.mark.parametrize("path", [p for p in replays() if p.stem not in NOT_COMPARED], ids=lambda p: p.stem)
def test_no_other_replay_differs(path: Path) -> None:
    listed = {row.replay for row in table()}
    both = shown_in(path.stem)
    assert (path.stem in listed) == bool(members(both.compat, both.stunned))
    assert members(both.stunned, both.default) <= {"conversions", "combos", "overall"}
