"""The tables have the same values as `open_replay` and `read_game`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import UNSET

from slpstream.api import open_replay, read_game
from slpstream.cli.replay_files import FoundReplay
from slpstream.formats.slippi.action_states import state_name, states_called
from slpstream.formats.slippi.result import GAME, NO_CONTEST, TIME
from slpstream.parts.sql.cli_reading import Found, examine
from slpstream.parts.sql.database import Database, open_database
from slpstream.parts.sql.scan import TABLES, Scan
from tests.formats.slippi.built import Built, bookend, post, pre, start
from tests.project import has_part
from tests.replays import NOT_REPLAYS, real_replays, replay_path


class Reader:
    """Reads one replay."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, scan: Scan) -> Iterator[Any]:
        found: Found = examine(scan, None, FoundReplay(self.path, in_folder=False))
        if found.rows is not None:
            yield scan.table_of(found.rows)


def objects(database: Database, query: str) -> list[dict[str, Any]]:
    names, rows = database.rows(query)
    return [dict(zip(names, row, strict=True)) for row in rows]


OWN = (
    *("singles_0.1", "items_3.2", "doubles_1.2", "free_for_all_3.13", "crashed_3.18", "teams_time_mode_3.18"),
    *("ice_climbers_rollbacks_3.18", "lost_game_end_3.18", "names_3.9"),
)
REPLAYS = [*map(replay_path, OWN), *(path for path in real_replays() if path.stem not in NOT_REPLAYS)]


@pytest.fixture(params=REPLAYS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_frames_are_those_of_the_replay(path: Path) -> None:
    frames = open_replay(path).frames
    whole = frames.to_arrow()
    with open_database(Reader(path).read) as database:
        _, batches = database.batches(
            "select * exclude (file, game_id, stage, port, character, action_state"
            f"{', odds' if has_part('odds') else ''}) from frames"
        )
        rows = {name: [] for name in whole.column_names}  # type: ignore[var-annotated]
        for batch in batches:
            for name, values in batch.to_pydict().items():
                rows[name] += values
        for name, column in zip(whole.column_names, whole.columns, strict=True):
            np.testing.assert_array_equal(
                np.array(rows[name], object), np.array(column.to_pylist(), object), err_msg=name
            )
        some = objects(
            database,
            "select player_index, port, count(*) as n, count(post_percent) as known, sum(post_percent) as percent"
            " from frames group by all order by all",
        )
    for row in some:
        own = whole.filter(np.asarray(whole["player_index"]) == row["player_index"])
        assert row["port"] == row["player_index"] + 1
        assert (row["n"], row["known"]) == (len(own), len(own) - own["post_percent"].null_count)
        assert row["percent"] == pytest.approx(float(np.nansum(own["post_percent"].to_numpy())))


def test_game_is_that_of_the_index(path: Path) -> None:
    game = read_game(path)
    summary, end = game.summary(), game.end
    with open_database(Reader(path).read) as database:
        [row] = objects(database, "select * from games")
        players = objects(database, "select * exclude (kill_count) from players order by player_index")
    assert end is not None
    assert (row["file"], row["game_id"], row["version"]) == (str(path), game.start.game_id, summary.version)
    assert (row["stage"], row["stage_id"]) == (summary.place.name or None, summary.place.id)
    assert row["match_id"] == (open_replay(path).settings.match_info.session_id or None)
    assert (row["winners"], row["last_frame"]) == (list(summary.winners), end.last_frame)
    assert (row["reason"], row["duration_seconds"]) == (end.reason, end.duration_seconds)
    assert [player["player_index"] for player in players] == [player.index for player in summary.players]
    for player, known in zip(players, summary.players, strict=True):
        standing = end.standings.get(known.index, {})
        assert (player["stocks"], player["percent"]) == (standing.get("stocks"), standing.get("percent"))
        assert (player["character"], player["code"]) == (known.character.name or None, known.code or None)
        assert (player["result"] == "won") == (known.index in summary.winners and not summary.tied)


@pytest.mark.parametrize(
    ("method", "stocks", "percents", "results"),
    [
        (TIME, (2, 2), (30.2, 30.9), ["tied", "tied"]),
        (TIME, (2, 2), (30.0, 31.0), ["won", "lost"]),
        (TIME, (2, 1), (90.0, 0.0), ["won", "lost"]),
        (GAME, (0, 0), (0.0, 0.0), ["tied", "tied"]),
        (GAME, (0, 1), (0.0, 0.0), ["lost", "won"]),
        (NO_CONTEST, (2, 2), (0.0, 0.0), [None, None]),
    ],
)
def test_games_with_several_winning_sides_are_tied(
    tmp_path: Path, method: int, stocks: tuple[int, int], percents: tuple[float, float], results: list[str | None]
) -> None:
    game = Built((3, 12, 0)).frames(-123, -50)
    posts = [post(-49, p, stocks_remaining=stocks[p], percent=percents[p]) for p in (0, 1)]
    game.add(start(-49), pre(-49, 0), pre(-49, 1), *posts, bookend(-49)).end(method)
    path = tmp_path / "game.slp"
    path.write_bytes(game.closed())
    with open_database(Reader(path).read) as database:
        [row] = objects(database, "select is_tied from games")
        players = objects(database, "select result from players order by player_index")
    assert row["is_tied"] == ("tied" in results)
    assert [player["result"] for player in players] == results


def test_stats_are_those_of_the_replay(path: Path) -> None:
    stats = open_replay(path).stats()
    with open_database(Reader(path).read) as database:
        players = objects(database, "select * from players order by player_index")
        conversions = objects(database, "select * from conversions order by number")
    for player, overall in zip(players, sorted(stats.overall, key=lambda each: each.player_index), strict=True):
        assert player["kill_count"] == overall.kill_count
        assert player["total_damage"] == overall.total_damage
        ratio = overall.inputs_per_minute.ratio
        assert player["inputs_per_minute"] == (None if ratio is UNSET else ratio)
    assert len(conversions) == len(stats.conversions)
    for row, conversion in zip(conversions, stats.conversions, strict=True):
        assert (row["player_index"], row["start_frame"]) == (conversion.player_index, conversion.start_frame)
        assert row["end_frame"] == (None if conversion.end_frame is UNSET else conversion.end_frame)
        assert (row["did_kill"], row["opening_type"]) == (conversion.did_kill, conversion.opening_type)
        assert [(move["move_id"], move["damage"], move["frame"]) for move in row["moves"]] == [
            (move.move_id, move.damage, move.frame) for move in conversion.moves
        ]


def test_states_have_the_names_of_the_game(path: Path) -> None:
    whole = open_replay(path).frames.to_arrow()
    with open_database(Reader(path).read) as database:
        [(count,)] = database.rows("select count(*) from frames where action_state = 'Wait'")[1]
    waits = states_called("Wait")
    states = zip(
        whole["post_internal_character_id"].to_pylist(), whole["post_action_state_id"].to_pylist(), strict=True
    )
    assert count == sum(1 for fighter, state in states if state is not None and waits.has(fighter, state))


def test_names_of_states() -> None:
    assert state_name(1, 14) == "Wait"
    assert state_name(1, 60_000) is None


def test_every_column_has_a_meaning() -> None:
    for name, table in TABLES.items():
        assert len(set(table.schema.names)) == len(table.schema.names)
        undocumented = [field.name for field in table.schema if b"doc" not in (field.metadata or {})]
        assert name == "frames" or not undocumented, name
