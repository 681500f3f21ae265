"""Conditions on games and players leave out files of the tables joined with them, and never change an answer."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from slpstream.parts.sql import database
from tests.parts.sql.answers import Answers
from tests.synthetic.match import synthetic_match
from tests.synthetic.stages import BATTLEFIELD, FINAL_DESTINATION

FILES = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Games of 100 to 800 frames on two stages, the last of them in an archive."""
    folder = tmp_path_factory.mktemp("replays")
    for number in range(FILES):
        stage = (BATTLEFIELD, FINAL_DESTINATION)[number % 2]
        data = synthetic_match(seed=number, frames=100 * (number + 1), stage_id=stage, rollbacks=True)
        (folder / f"{number}.slp").write_bytes(data)
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        archive.write(folder / f"{FILES - 1}.slp")
    (folder / f"{FILES - 1}.slp").unlink()
    return folder


FEWER = {
    "select f.file, count(*) from frames f join games g using (file) where g.duration_seconds > 11 group by 1": 1,
    "select count(*) from frames join games using (file) where last_frame > 500 and last_frame < 600": 1,
    "select count(*) from frames join games on games.last_frame > 500 and frames.file = games.file": 2,
    "select count(*) from games, frames as f where games.file = f.file and games.last_frame > 600": 1,
    "select count(*) from frames natural join games where last_frame + 1 > 500 or last_frame < 0": 3,
    "select count(*) from FRAMES F join Games G on f.FILE = g.File where G.Last_Frame > 500": 2,
    "select file, frame from frames join games using (file) where last_frame > 600 order by frame limit 3": 1,
    "select count(*) from frames join games using (file) join players using (file) where last_frame > 600": 1,
    "select count(*) from frames natural join players natural join games where code > 'V' and last_frame > 600": 1,
    "select count(*) from frames join players using (file) where players.opponent_code = 'none'": 0,
    "select count(distinct file) from frames join games using (file) where last_frame > 500 having count(*) > 1": 2,
}
"""Queries, and the number of files from which they need frames."""
ALL = (
    "select count(*) from frames left join games using (file) where winner is null",
    "select count(*) from games left join frames using (file) where last_frame > 600",
    "select count(*) from frames join games using (game_id) where last_frame > 600",
    "select count(*) from frames join games on frames.file <> games.file where last_frame > 600",
    "select count(*) from frames, games where last_frame > 600",
    "select count(*) from frames where file in (select file from games where last_frame > 600)",
    "select count(*) from frames join games using (file) where last_frame > 600 or frame > 0",
    "select count(*) from frames join games using (file) where last_frame > (select avg(last_frame) from games)",
    "with games as (select * from players) select count(*) from frames join games using (file) where games.port > 1",
    "select count(*) from frames join games a using (file) join games b using (file) where a.last_frame < b.last_frame",
    "select count(*) from frames f join (select * from games where last_frame > 600) g using (file)",
    "select count(*) from frames join games using (file) where last_frame > 600 union all select count(*) from frames",
    "select count(*) from frames join players using (file) where kill_count >= 0",
    "select count(*) from frames semi join games using (file) where frame > 200",
    "select count(*) from frames anti join games on frames.file = games.file and last_frame > 600",
    "select count(*) from frames join games using (file) where last_frame > frame + 600",
)
"""Queries in which no condition is about games or players alone, or the tables are not simply joined by file."""


@pytest.mark.parametrize("query", [*FEWER, *ALL])
def test_answers_are_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    answers = Answers(folder)
    rows = sorted(map(str, answers(query)))
    if query in FEWER:
        assert answers.files == FEWER[query]
    else:
        assert answers.files >= FILES - 1
    monkeypatch.setattr(database, "deciding_files", lambda *_: None)
    assert sorted(map(str, answers(query))) == rows
    assert answers.files >= FEWER.get(query, 0)


def test_query_for_the_first_rows_does_not_wait_for_all_games(folder: Path) -> None:
    answers = Answers(folder)
    assert len(answers("select frame from frames join games using (file) where last_frame > 0 limit 2")) == 2
