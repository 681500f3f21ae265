"""End to end with real processes: a game is written, the daemon follows it, a client reads. Some tests kill the daemon.

Daemons listen on free ports of 127.0.0.1 and are always stopped. Replays are written faster than real time, but in the
same pieces as a game writes. No result depends on timing.
"""

from __future__ import annotations

import random
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from slpstream.model.messages import FramesMode
from tests.daemons.played_game import PlayedGame
from tests.daemons.process import DEADLINE_SECONDS, LogReader, configured, running
from tests.daemons.simulated import check_equal, dump_lines, simulate
from tests.marks import slow
from tests.replays import replay_path
from tests.synthetic.match import synthetic_match


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "station"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("singles_3.8", "live"),
        *slow(("rollbacks_items_3.18", "live"), ("rollbacks_3.18", "finalized"), ("doubles_1.2", "live")),
        *slow(*((name, "live") for name in ("items", "rollbackFrameTest", "v2.0") if replay_path(name).exists())),
    ],
)
def test_stream_of_a_simulated_replay_equals_dump(name: str, frames: FramesMode, folder: Path) -> None:
    path = replay_path(name)
    expected = dump_lines(path, frames)
    with running(folder) as daemon:
        daemon.wait_ready()
        assert daemon.get("/healthz") == {"status": "ok"}
        assert daemon.get("/readyz") == {"status": "ready", "missing": []}
        reader = LogReader("station", frames)
        writing = simulate(path, folder, writer="dolphin", speed=60)
        assert reader.read(daemon, lambda r: len(r.lines) >= len(expected))
        assert writing.wait(timeout=DEADLINE_SECONDS) == 0
        code = daemon.terminate()
    assert code == 0
    check_equal(reader.lines, expected)
    assert (folder / path.name).read_bytes() == path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(("frames", "stopped_at"), [("live", 0.0), ("finalized", 0.4), ("live", 1.0)])
def test_games_that_end_and_begin_between_restarts_are_delivered(
    stopped_at: float, frames: FramesMode, folder: Path
) -> None:
    """During the downtime two games end and a third begins. All missing messages arrive in order."""
    games = [
        PlayedGame(folder / f"Game_{number}.slp", synthetic_match(seed=40 + number, frames=500, rollbacks=True))
        for number in range(3)
    ]
    reader = LogReader("station", frames)
    with running(folder) as daemon:
        daemon.wait_ready()
        games[0].write(len(games[0].whole) // 2)
        daemon.until(lambda: (daemon.get("/v1/stations/station").get("game") or {}).get("inProgress") is True)
        reader.read(daemon, lambda r: bool(r.lines))
        if stopped_at:
            games[0].end()
            expected = dump_lines(games[0].path, frames)
            reader.read(daemon, lambda r: len(r.lines) >= stopped_at * len(expected))
        daemon.kill()
    games[0].end()
    games[1].end()
    games[2].write(len(games[2].whole) // 2)
    with running(folder) as daemon:
        daemon.wait_ready()
        games[2].end()
        expected = [line for game in games for line in dump_lines(game.path, frames)]
        assert reader.read(daemon, lambda r: len(r.lines) >= len(expected)), reader.ended
    check_equal(reader.lines, expected)


@pytest.mark.slow
def test_sigterm_closes_all_connections_with_1001(folder: Path) -> None:
    with running(folder) as daemon:
        with ExitStack() as stack:
            url = daemon.stream_url(station="station")
            sockets = [stack.enter_context(connect(url)) for _ in range(20)]
            code = daemon.terminate()
            assert code == 0
            for socket in sockets:
                with pytest.raises(ConnectionClosed) as closed:
                    while True:
                        socket.recv(timeout=5)
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1001
        stopped = [line for line in daemon.lines if line["event"] == "stopped"]
        assert stopped[0]["frames"] == 0


def test_invalid_files_are_reported_and_skipped(folder: Path) -> None:
    (folder / "rubbish.slp").write_bytes(b"this is not a replay" * 100)
    with running(folder) as daemon:
        daemon.wait_ready()
        (folder / "more rubbish.slp").write_bytes(bytes(random.Random(1).randbytes(5000)))
        broken = bytearray(synthetic_match(seed=2, frames=400))
        broken[len(broken) // 2 : len(broken) // 2 + 400] = b"\xee" * 400
        (folder / "broken.slp").write_bytes(broken)
        daemon.until(lambda: 'slpstream_games_total{outcome="error",station="station"} 1.0' in daemon.text("/metrics"))
        (folder / "good.slp").write_bytes(synthetic_match(seed=4, frames=300))
        daemon.until(
            lambda: 'slpstream_games_total{outcome="game_end",station="station"} 1.0' in daemon.text("/metrics")
        )
        diagnostics = [line for line in daemon.lines if line["event"] == "diagnostic"]
        assert {line["file"] for line in diagnostics} == {"rubbish.slp", "more rubbish.slp", "broken.slp"}
        assert all("offset" in line for line in diagnostics)
        assert daemon.terminate() == 0


@pytest.mark.slow
def test_the_way_in_which_changes_are_noticed_is_shown(tmp_path: Path) -> None:
    expected = {"linux": "inotify", "win32": "directory changes", "darwin": "kqueue"}.get(sys.platform, "watchdog")
    for text, strategy in (("", expected), ("watch.polling_only = true\n", "polling")):
        (tmp_path / strategy).mkdir()
        with configured(tmp_path, text, tmp_path / strategy) as daemon:
            assert [station["watching"] for station in daemon.get("/v1/stations")["stations"]] == [strategy]
            assert f'slpstream_watched_stations{{strategy="{strategy}"}} 1.0' in daemon.text("/metrics")


def test_modules_for_stats_are_imported_before_the_first_game(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the start of the daemon nor the first game waits for them."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with running(folder) as daemon:
        daemon.until(lambda: "slpstream.formats.slippi.stats.game" in str(daemon.lines))
        log = [str(line) for line in daemon.lines]
    [listening] = [number for number, line in enumerate(log) if "'listening'" in line]
    assert not any("slpstream.formats.slippi.stats.game" in line for line in log[:listening])
