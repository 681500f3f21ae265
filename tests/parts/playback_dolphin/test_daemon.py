"""Marks and the Playback Dolphin of a real daemon: mirroring, instant replays, the queue after a set, and a restart.

Every write of the communication file is checked by the rules of Dolphin.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest

from slpstream.model.highlight import Highlight
from slpstream.parts.playback_dolphin.moments import distinct
from slpstream.store import HighlightRow
from tests.daemons.configuration import configuration
from tests.daemons.played_game import PlayedGame
from tests.daemons.process import DaemonProcess, running
from tests.parts.playback_dolphin.watched_file import WatchedFile
from tests.synthetic.match import synthetic_match

BEFORE = 1_700_000_000


@cache
def live() -> bytes:
    return synthetic_match(seed=3, frames=1500, ended=False)


@cache
def over() -> bytes:
    """A complete game, which decides a set of one game."""
    return synthetic_match(seed=6, stocks=1)


def send(daemon: DaemonProcess, method: str, path: str, body: Any = None) -> Any:
    status, answer = daemon.request(method, path, body)
    assert status == 200, answer
    return answer


def refusal(daemon: DaemonProcess, method: str, path: str, body: Any = None) -> tuple[int, str]:
    status, answer = daemon.request(method, path, body)
    return status, answer["detail"]


@pytest.mark.slow
def test_an_evening_with_a_playback_dolphin(tmp_path: Path) -> None:
    folder, state = tmp_path / "main", tmp_path / "state"
    folder.mkdir()
    file = WatchedFile(tmp_path / "playback.txt")
    settings = f"[playback]\nfile = '{file.checks.path}'\nstation = 'main'\nset_moments = 3\n[sets]\nbest_of = 1\n"
    arguments = configuration(tmp_path, settings)
    replay_path, marks_path = "/v1/stations/main/instant-replay", "/v1/stations/main/marks"
    with file.watched():
        with running(folder, arguments=arguments, state=state) as daemon:
            daemon.wait_ready()
            assert refusal(daemon, "POST", marks_path, {}) == (409, "no game is played")
            assert refusal(daemon, "POST", replay_path, {"moment": "last_stock"})[0] == 409
            game = folder / "Game_1.slp"
            game.write_bytes(live())
            daemon.until(lambda: file.modes == ["mirror"])
            assert (file.newest["replay"], file.newest["gameStation"]) == (str(game), "main")
            daemon.until(lambda: len(daemon.get("/v1/highlights")["highlights"]) == 1)
            [found] = daemon.get("/v1/highlights")["highlights"]
            newest = daemon.get("/v1/stations/main")["game"]["lastFrame"]
            daemon.until(lambda: daemon.get(f"/v1/games/{found['gameId']}/stats")["lastFrame"] > newest - 60)

            mark = send(daemon, "POST", marks_path, {"words": " that was close "})
            assert {key: mark[key] for key in ("id", "frame", "gameId", "words")} == {
                "id": 1,
                "frame": newest,
                "gameId": found["gameId"],
                "words": "that was close",
            }
            earlier = send(daemon, "POST", marks_path, {"frame": 500})
            assert refusal(daemon, "POST", marks_path, {"frame": newest + 1})[0] == 409
            assert [each["id"] for each in daemon.get(marks_path)["marks"]] == [2, 1]

            shown = send(daemon, "POST", replay_path, {"moment": "mark", "mark": earlier["id"]})
            daemon.until(lambda: file.modes == ["mirror", "normal"])
            assert (file.newest["replay"], file.newest["startFrame"]) == (str(game), 500 - 240 - 240)
            assert file.newest["endFrame"] == shown["endFrame"] == 500 + 180
            assert daemon.get(replay_path) == {"configured": True, "replaying": True}
            assert send(daemon, "DELETE", replay_path) == {"configured": True, "replaying": False}
            daemon.until(lambda: file.modes == ["mirror", "normal", "mirror"])

            moment = found["highlight"]
            send(daemon, "POST", replay_path, {"moment": "last_stock"})
            daemon.until(lambda: file.modes[3:] == ["normal"])
            assert file.newest["startFrame"] < moment["endFrame"] < file.newest["endFrame"]
            frames = {"moment": "frames", "game": found["gameId"], "from": -123, "to": -60}
            seconds = send(daemon, "POST", replay_path, frames)["seconds"]
            assert seconds == pytest.approx((63 + 180) / 60 + 3, abs=0.1)
            send(daemon, "POST", replay_path, {"moment": "last_conversion"})
            daemon.until(lambda: len(file.modes) == 5)
            for wrong in ({"moment": "mark", "mark": 9}, {"moment": "frames"}, {**frames, "game": "0" * 32}):
                assert refusal(daemon, "POST", replay_path, wrong)[0] == 409

            combos = json.loads(daemon.text("/v1/highlights/combos?order=best"))
            assert [item["path"] for item in combos["queue"]] == [str(game)]
            assert combos["queue"][0]["startFrame"] == moment["startFrame"] - 240
            assert combos["queue"][0]["endFrame"] == moment["endFrame"] + 180
            send(daemon, "DELETE", replay_path)
            daemon.until(lambda: file.modes[-1] == "mirror")
            metrics = daemon.text("/metrics")
            assert 'slpstream_playback_commands_total{kind="replay"} 3.0' in metrics
            assert daemon.terminate() == 0
        writes = len(file.modes)
        os.utime(game, (BEFORE, BEFORE))  # it is no longer played
        with running(folder, arguments=arguments, state=state) as daemon:
            daemon.wait_ready()
            assert [each["id"] for each in daemon.get(marks_path)["marks"]] == [2, 1], "marks survive a restart"
            assert [each["id"] for each in send(daemon, "DELETE", f"{marks_path}/2")["marks"]] == [1]
            assert refusal(daemon, "DELETE", f"{marks_path}/2")[0] == 404
            assert refusal(daemon, "DELETE", f"{marks_path}/x")[0] == 404
            assert send(daemon, "POST", marks_path, {"gameId": found["gameId"], "frame": 7})["id"] == 3
            second = PlayedGame(folder / "Game_2.slp", over())
            second.write(len(over()) - 20_000)
            daemon.until(lambda: file.newest["replay"] == str(second.path))
            assert file.modes[writes:] == ["mirror"]
            second.end()
            daemon.until(lambda: daemon.get("/v1/stations/main/set")["state"] == "over")
            daemon.until(lambda: file.modes[-1] == "queue")
            expected = daemon.get("/v1/highlights?set=main&order=best&limit=3")["highlights"]
            in_order = sorted(expected, key=lambda each: (each["playedAt"], each["highlight"]["startFrame"]))
            starts = [max(-123, each["highlight"]["startFrame"] - 240) for each in in_order]
            assert [item["startFrame"] for item in file.newest["queue"]] == starts
            assert daemon.terminate() == 0
    assert file.problem is None


def test_without_a_playback_dolphin_marks_work(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    with running(folder) as daemon:
        daemon.wait_ready()
        path = "/v1/stations/main/instant-replay"
        assert daemon.get(path) == {"configured": False, "replaying": False}
        for method, body in (("POST", {"moment": "last_stock"}), ("DELETE", None)):
            assert refusal(daemon, method, path, body)[0] == 409
        (folder / "Game_1.slp").write_bytes(live())
        daemon.until(lambda: (daemon.get("/v1/stations/main").get("game") or {}).get("lastFrame") is not None)
        assert send(daemon, "POST", "/v1/stations/main/marks", {})["id"] == 1
        for method, unknown in (("GET", "marks"), ("POST", "marks"), ("GET", "instant-replay")):
            body = {} if method == "POST" else None
            assert refusal(daemon, method, f"/v1/stations/unknown/{unknown}", body)[0] == 404


def row(number: int, first: int, last: int, *, game: str = "a") -> HighlightRow:
    of: Literal["conversion", "situation"] = "situation" if number >= 100_000 else "conversion"
    moment = Highlight(of=of, player_index=0, opponent_index=1, start_frame=first, end_frame=last, score=50, reasons=())
    return HighlightRow(game, number, 0, moment)


CONVERSION, SITUATION = row(0, 100, 200), row(100_000, 150, 200)


@pytest.mark.parametrize(
    ("rows", "left_out"),
    [
        ([SITUATION, CONVERSION, row(100_001, 150, 201)], [SITUATION]),
        ([CONVERSION, row(100_000, 150, 200, game="b")], []),
        ([row(100_001, 150, 200), SITUATION], [row(100_001, 150, 200)]),
        ([CONVERSION, row(1, 150, 180), row(2, 150, 180)], []),
    ],
)
def test_situation_within_another_highlight_is_not_shown_twice(
    rows: list[HighlightRow], left_out: list[HighlightRow]
) -> None:
    assert distinct(rows) == [each for each in rows if each not in left_out]
