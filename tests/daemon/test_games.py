"""The HTTP API of a real daemon agrees with the replay files: during games, after them, after a restart, and after a
loss of the index.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from slpstream.api import messages
from slpstream.store import FILE_NAME
from tests.daemons.played_game import PlayedGame
from tests.daemons.process import DaemonProcess, running
from tests.formats.games import games as other_games
from tests.synthetic.match import synthetic_match

OLD = 1_700_000_000


@cache
def finished() -> bytes:
    return synthetic_match(seed=1, frames=1500, rollbacks=True)


@cache
def unfinished() -> bytes:
    return synthetic_match(seed=2, frames=400, ended=False)


def write_old(folder: Path, name: str, data: bytes, mtime: int = OLD) -> Path:
    path = folder / name
    path.write_bytes(data)
    os.utime(path, (mtime, mtime))
    return path


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("setup")
    write_old(folder, "Game_1 ü.slp", finished())
    write_old(folder, "crashed.slp", synthetic_match(seed=3, frames=200, ended=False), OLD + 60)
    write_old(folder, "broken.slp", b"not a replay")
    (folder / "running.slp").write_bytes(unfinished())
    return folder


@pytest.fixture(scope="module")
def daemon(played: Path) -> Iterator[DaemonProcess]:
    with running(played) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 3)
        yield daemon


def lines(path: Path, kind: str) -> list[Any]:
    return [json.loads(m.json()) for m in messages(path, frames="finalized") if m.type == kind]


def games_by_reason(daemon: DaemonProcess) -> dict[str | None, dict[str, Any]]:
    return {game.get("reason"): game for game in daemon.get("/v1/games")["games"]}


def test_finished_game_equals_its_file(daemon: DaemonProcess, played: Path) -> None:
    item = games_by_reason(daemon)["game_end"]
    path = played / "Game_1 ü.slp"
    [start], [end], [metadata] = (lines(path, kind) for kind in ("game_start", "game_end", "metadata"))
    game = daemon.get(f"/v1/games/{item['gameId']}")
    assert {key: game[key] for key in item} == item, "the list has the same values"
    assert game["gameId"] == start["gameId"]
    assert game["settings"] == start["settings"]
    assert game["rate"] == start["rate"]
    assert game["metadata"] == metadata["metadata"]
    assert game["end"] == {key: value for key, value in end.items() if key not in ("type", "gameId", "cursor")}
    assert game["winners"] == [winner["playerIndex"] for winner in end["winners"]]
    assert game["lastFrame"] == end["lastFrame"]
    assert not game["inProgress"]
    assert game["startedAt"] == metadata["metadata"]["startAt"].replace("Z", ".000Z")
    names = [player["displayName"] for player in start["settings"]["players"]]
    assert [player["name"] for player in game["players"]] == names
    [file] = game["files"]
    assert (file["name"], file["sizeBytes"]) == ("Game_1 ü.slp", len(finished()))
    assert str(played) not in json.dumps(game)
    found = daemon.get(f"/v1/games?player={names[1].lower()}&station={game['station']}&format=slippi")["games"]
    assert item["gameId"] in [game["gameId"] for game in found]


def test_frames_equal_those_of_the_log(daemon: DaemonProcess, played: Path) -> None:
    frames = [message["frame"] for message in lines(played / "Game_1 ü.slp", "frame")]
    base = f"/v1/games/{games_by_reason(daemon)['game_end']['gameId']}/frames"
    found, page = [], daemon.get(f"{base}?limit=700")
    found += page["frames"]
    while "next" in page:
        page = daemon.get(f"{base}?limit=700&from={page['next']}")
        found += page["frames"]
    assert found == frames
    some = daemon.get(f"{base}?from=5&to=9&fields=post.percent")["frames"]
    assert [frame["frame"] for frame in some] == [5, 6, 7, 8, 9]
    for cut in some:
        whole = frames[cut["frame"] + 123]
        for index, player in cut["players"].items():
            assert player == {"post": {"percent": whole["players"][index]["post"]["percent"]}}
    assert daemon.get(f"{base}?from=9&to=5") == {"frames": []}
    assert daemon.get(f"{base}?from=99999") == {"frames": []}
    assert len(daemon.get(f"{base}?from=-200&to=-122")["frames"]) == 2


def test_stats_equal_the_last_of_the_log(daemon: DaemonProcess, played: Path) -> None:
    expected = lines(played / "Game_1 ü.slp", "stats")[-1]["stats"]
    game_id = games_by_reason(daemon)["game_end"]["gameId"]
    assert daemon.get(f"/v1/games/{game_id}/stats") == expected
    daemon.until(lambda: "statsSummary" in daemon.get(f"/v1/games/{game_id}"))
    summary = daemon.get(f"/v1/games/{game_id}")["statsSummary"]
    assert summary["overall"] == expected["overall"]
    assert "conversions" not in summary


def test_replay_has_a_unique_name_and_can_be_downloaded(daemon: DaemonProcess) -> None:
    games = [daemon.get(f"/v1/games/{game['gameId']}") for game in daemon.get("/v1/games")["games"]]
    files = [game["links"]["file"] for game in games]
    assert len({file.rpartition("/")[2] for file in files}) == len(games)
    whole = next(game for game in games if game.get("reason") == "game_end")
    started = re.sub("[^0-9]", "", whole["startedAt"])[:14]
    name = f"Game_{started[:8]}T{started[8:]}_{whole['gameId'][:16]}.slp"
    assert whole["links"]["file"] == f"/v1/games/{whole['gameId']}/{name}"
    assert unquote(whole["links"]["launcher"]) == f"slippi://?path={daemon.url}{whole['links']['file']}&startFrame=-123"
    replay = f"{daemon.url}/v1/games/{whole['gameId']}/replay"
    for url, disposition in (
        (daemon.url + whole["links"]["file"], f'attachment; filename="{name}"'),
        (replay, "attachment; filename=\"Game_1 _.slp\"; filename*=UTF-8''Game_1%20%C3%BC.slp"),
    ):
        with urllib.request.urlopen(url, timeout=10) as response:
            assert response.read() == finished()
            assert response.headers["content-disposition"] == disposition
    request = urllib.request.Request(replay, headers={"range": "bytes=100-299"})
    with urllib.request.urlopen(request, timeout=10) as response:
        assert (response.status, response.read()) == (206, finished()[100:300])


def test_incomplete_game_is_listed_and_broken_files_are_not(daemon: DaemonProcess, played: Path) -> None:
    game = games_by_reason(daemon)["incomplete"]
    [end] = lines(played / "crashed.slp", "game_end")
    assert (game["lastFrame"], game["inProgress"]) == (end["lastFrame"], False)
    assert set(games_by_reason(daemon)) == {"game_end", "incomplete", None}


@pytest.mark.slow
def test_running_game_is_listed(tmp_path: Path) -> None:
    played = PlayedGame(tmp_path / "running.slp", unfinished())
    with running(tmp_path) as daemon:
        daemon.wait_ready()
        played.write(len(unfinished()) * 2 // 3)
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 1)
        [game] = daemon.get("/v1/games")["games"]
        base = f"/v1/games/{game['gameId']}"
        assert game["inProgress"]
        assert "reason" not in game
        daemon.until(lambda: daemon.status(f"{base}/stats") == 200)
        daemon.until(lambda: len(daemon.get(f"{base}/frames")["frames"]) > 200)  # the file is read in parts
        frames = daemon.get(f"{base}/frames")["frames"]
        assert [frame["frame"] for frame in frames] == list(range(-123, -123 + len(frames)))
        assert daemon.request("GET", f"{base}/replay") == (200, played.unfinished())
        name = daemon.get(base)["links"]["file"]
        played.write(len(unfinished()))
        daemon.until(lambda: len(daemon.get(f"{base}/frames")["frames"]) > len(frames))
        assert daemon.get(base)["links"]["file"] != name, "what was downloaded before is not the whole game"
        played.path.unlink()
        daemon.until(lambda: not daemon.get("/v1/games")["games"])
        assert daemon.status(f"{base}/replay") == 404


@pytest.mark.slow
def test_finished_games_are_not_in_progress_while_a_new_daemon_reads_them(tmp_path: Path) -> None:
    folder, state = tmp_path / "setup", tmp_path / "state"
    folder.mkdir()
    names = ("a.slp", "b.slp", "c.slp")
    with running(folder, state=state) as daemon:
        daemon.wait_ready()
        for seed, name in enumerate(names, 1):
            (folder / name).write_bytes(synthetic_match(seed=seed, frames=3000))
        daemon.until(lambda: [game.get("reason") for game in all_games(daemon)] == ["game_end"] * len(names))
        assert daemon.terminate() == 0
    with running(folder, state=state) as daemon:
        for _ in range(20):
            assert [game["gameId"] for game in all_games(daemon) if game["inProgress"]] == []


@pytest.mark.slow
def test_games_are_not_read_again_after_a_restart(tmp_path: Path) -> None:
    folder, state = tmp_path / "setup", tmp_path / "state"
    folder.mkdir()

    def in_index(query: str) -> list[Any]:
        with closing(sqlite3.connect(state / FILE_NAME)) as connection, connection:
            return connection.execute(query).fetchall()

    with running(folder, state=state) as daemon:
        daemon.wait_ready()
        (folder / "a.slp").write_bytes(finished())
        daemon.until(lambda: "metadata" in str(all_games(daemon)))
        [before] = all_games(daemon)
        assert before["statsSummary"]["overall"], "the daemon computed the stats while the game ran"
        assert daemon.terminate() == 0
    os.utime(folder / "a.slp", (OLD, OLD))
    with running(folder, state=state) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: str(OLD) in str(in_index("SELECT mtime_ns FROM files")))
        [after] = all_games(daemon)
        assert (after["gameId"], after["statsSummary"]) == (before["gameId"], before["statsSummary"])
        assert daemon.terminate() == 0
    in_index("UPDATE games SET station = 'not read again'")
    with running(folder, state=state) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: "slpstream_index_waiting_files 0" in daemon.text("/metrics"))
        assert daemon.get("/v1/games")["games"][0]["station"] == "not read again"
        assert "slpstream_indexed_games 1.0" in daemon.text("/metrics")


def all_games(daemon: DaemonProcess) -> list[dict[str, Any]]:
    return [daemon.get(f"/v1/games/{game['gameId']}") for game in daemon.get("/v1/games")["games"]]


def test_replaced_file_is_not_served_and_a_newer_copy_that_was_cut_off_hides_no_whole_file(tmp_path: Path) -> None:
    whole = write_old(tmp_path, "whole.slp", finished())
    with running(tmp_path) as daemon:
        daemon.wait_ready()
        write_old(tmp_path, "cut.slp", finished()[: len(finished()) // 2], OLD + 600)
        daemon.until(lambda: [len(game["files"]) for game in all_games(daemon)] == [2])
        [item] = all_games(daemon)
        assert item["reason"] == "game_end"
        base = f"/v1/games/{item['gameId']}"
        assert [file["name"] for file in daemon.get(base)["files"]] == ["whole.slp", "cut.slp"]
        assert daemon.request("GET", f"{base}/replay") == (200, finished())
        assert daemon.get(f"{base}/stats") == lines(whole, "stats")[-1]["stats"]
        last = lines(whole, "frame")[-1]["frame"]["frame"]
        assert [frame["frame"] for frame in daemon.get(f"{base}/frames?from={last}")["frames"]] == [last]
        for path in (whole, tmp_path / "cut.slp"):
            path.unlink()
            write_old(tmp_path, path.name, b"x" * 20_000)
        assert daemon.status(f"{base}/replay") == 404
        # Requested frames and stats stay cached until the index has noticed that their files are gone.
        daemon.until(lambda: daemon.status(f"{base}/frames") == daemon.status(f"{base}/stats") == 404)


@pytest.mark.parts("highlights")
def test_game_that_was_recorded_at_two_stations_belongs_to_both(tmp_path: Path) -> None:
    """The second console lost power, so its replay is incomplete and may still grow."""
    whole, cut = tmp_path / "a", tmp_path / "b"
    for folder in (whole, cut):
        folder.mkdir()
    data = synthetic_match(seed=4, frames=1500)
    write_old(whole, "Game_1.slp", data)
    (cut / "Game_1.slp").write_bytes(data[: len(data) // 2])
    with running(whole, cut) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: daemon.get("/v1/games?station=a")["games"] and daemon.get("/v1/games?station=b")["games"])
        shown = {
            query: [(game["station"], game["inProgress"]) for game in daemon.get(query)["games"]]
            for query in ("/v1/games", "/v1/games?station=a", "/v1/games?station=b", "/v1/games?order=ended&station=b")
        }
        assert shown == {
            "/v1/games": [("a", False)],
            "/v1/games?station=a": [("a", False)],
            "/v1/games?station=b": [("b", True)],
            "/v1/games?order=ended&station=b": [("b", True)],
        }
        stations = ["a", "b"]
        for query in shown:
            [item] = daemon.get(query)["games"]
            assert item["stations"] == stations
        game = daemon.get(f"/v1/games/{item['gameId']}")
        assert (game["station"], game["inProgress"], game["stations"]) == ("a", False, stations)
        assert daemon.get(f"/v1/highlights?game={item['gameId']}")["highlights"], "which computes them"
        for station in stations:
            for asked in ("station", "set"):
                found = daemon.get(f"/v1/highlights?{asked}={station}")["highlights"]
                assert {each["station"] for each in found} == {station}


@pytest.mark.slow
def test_games_of_other_formats_are_served(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        daemon.wait_ready()
        paths = [write_old(tmp_path, name, data) for name, data in other_games().items() if len(data) < 60_000]
        daemon.until(lambda: sum("reason" in game for game in daemon.get("/v1/games")["games"]) == len(paths))
        for path in paths:
            [start], [end] = lines(path, "game_start"), lines(path, "game_end")
            base = f"/v1/games/{start['gameId']}"
            game = daemon.get(base)
            assert (game["format"], game["settings"]) == (start["format"], start["settings"])
            assert game["end"]["reason"] == end["reason"]
            assert game["players"]
            found = daemon.get(f"{base}/frames")["frames"]
            assert found == [message["frame"] for message in lines(path, "frame")][:1200]
            assert daemon.status(f"{base}/stats") == 404
            assert daemon.request("GET", f"{base}/replay") == (200, path.read_bytes())


def test_list_by_end_has_the_games_of_watched_folders_with_their_standings(tmp_path: Path) -> None:
    """A game that was running at the start of the daemon comes first once it ends, whatever its own clock shows."""
    state, folder, other = tmp_path / "state", tmp_path / "a" / "setup", tmp_path / "b" / "setup"
    folder.mkdir(parents=True)
    other.mkdir(parents=True)
    write_old(folder, "old.slp", synthetic_match(seed=11, frames=300))
    write_old(other, "elsewhere.slp", synthetic_match(seed=12, frames=300), OLD + 60)
    data = synthetic_match(seed=13, frames=400)
    live = folder / "running.slp"
    live.write_bytes(data[: len(data) // 2])
    with running(other, state=state) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 1)
    with running(folder, state=state) as daemon:
        daemon.wait_ready()
        with live.open("r+b") as file:
            file.write(data)
        ended = "/v1/games?order=ended&watched=true"
        daemon.until(lambda: len(daemon.get(ended)["games"]) == 2)
        games = daemon.get(ended)["games"]
        assert len(daemon.get("/v1/games")["games"]) == 3
        newest, _ = games
        assert newest["gameId"] == next(m for m in messages(live)).game_id
        assert newest["endedAt"] > games[1]["endedAt"] == "2023-11-14T22:13:20.000Z"
        first = daemon.get(f"{ended}&limit=1")
        assert first["games"] == [newest]
        assert daemon.get(f"{ended}&limit=1&cursor={first['next']}")["games"] == games[1:]
        [*_, last] = lines(live, "frame")
        for index, player in last["frame"]["players"].items():
            shown = newest["standings"][index]
            assert (shown["stocks"], shown["percent"]) == (player["post"]["stocksRemaining"], player["post"]["percent"])
