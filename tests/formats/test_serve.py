"""`serve` and the websocket with files that are written in one go: each new file is one finished game."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from slpstream.api import messages
from slpstream.model.messages import FramesMode
from tests.daemons.process import LogReader, running
from tests.formats.games import SYNTHETIC, games

SHORT = [name for name in games() if name not in ("DEFAULT_zct5.rpl", "real_body_ta_sonic_oval.gci")]
"""Short games; longer ones would test nothing more."""


def ended(count: int = 1) -> Callable[[LogReader], bool]:
    """A condition: `count` games have ended."""
    return lambda log: sum(line.startswith(b'{"type":"game_end"') for line in log.lines) >= count


def has(count: int) -> Callable[[LogReader], bool]:
    """A condition: at least `count` lines have arrived."""
    return lambda log: len(log.lines) >= count


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "arcade").mkdir()
    return tmp_path / "arcade"


@pytest.mark.parametrize("names", [SYNTHETIC, pytest.param(SHORT, marks=pytest.mark.release)], ids=["synthetic", "all"])
def test_streamed_games_equal_dump(names: Sequence[str], folder: Path) -> None:
    modes: tuple[FramesMode, ...] = ("live", "finalized")
    with running(folder) as daemon:
        daemon.wait_ready()
        logs = {mode: LogReader("arcade", mode) for mode in modes}
        for count, name in enumerate(names, 1):
            (folder / f".{name}.part").write_bytes(games()[name])
            (folder / f".{name}.part").rename(folder / name)
            assert all(log.read(daemon, ended(count)) for log in logs.values())
        assert daemon.get("/v1/stations/arcade")["files"]["inProgress"] == 0
        for mode, log in logs.items():
            expected = [message.json() for name in names for message in messages(folder / name, frames=mode)]
            assert log.lines == expected
            # Resuming after the first message and in the middle gives the same lines.
            for index in (0, len(expected) // 2):
                again = LogReader("arcade", mode)
                again.cursor = json.loads(log.lines[index])["cursor"]
                rest = expected[index + 1 :]
                assert again.read(daemon, has(len(rest)))
                assert again.lines == rest


def test_slow_copy_is_one_game(folder: Path) -> None:
    data = games()["race.gci"]
    with running(folder) as daemon:
        daemon.wait_ready()
        with (folder / "slow.gci").open("wb") as file:
            for start in range(0, len(data), 4096):
                file.write(data[start : start + 4096])
                file.flush()
                time.sleep(0.3)
        log = LogReader("arcade")
        assert log.read(daemon, ended())
        assert log.lines == [message.json() for message in messages(folder / "slow.gci")]


def test_pace_streams_in_real_time(folder: Path) -> None:
    data = games()["race.rpl"]  # 300 tics at 20 Hz: 15 seconds
    with running(folder, arguments=("--pace",)) as daemon:
        daemon.wait_ready()
        (folder / "race.rpl").write_bytes(data)
        log = LogReader("arcade")
        assert log.read(daemon, lambda reader: len(reader.lines) > 1)
        began, count = time.monotonic(), len(log.lines)
        assert log.read(daemon, lambda reader: len(reader.lines) >= count + 2 * 60)
        seconds = time.monotonic() - began
        assert seconds > 1.5, "60 tics take three seconds in real time"
        assert daemon.get("/v1/stations/arcade")["state"] == "playing"


def test_other_and_damaged_files_do_not_hold_up_the_next_one(folder: Path) -> None:
    with running(folder) as daemon:
        daemon.wait_ready()
        (folder / "settings.dat").write_bytes(b"not a ghost at all" * 100)
        (folder / "race.rpl").write_bytes(games()["race.rpl"])
        log = LogReader("arcade")
        assert log.read(daemon, ended())
        assert not [line for line in daemon.lines if line.get("event") == "diagnostic"]
        (folder / "cut.rpl").write_bytes(games()["race.rpl"][:-5])
        daemon.until(lambda: any(line.get("event") == "diagnostic" for line in daemon.lines))
        (folder / "race.gci").write_bytes(games()["race.gci"])
        assert log.read(daemon, ended(2))
        daemon.until(lambda: daemon.get("/v1/stations/arcade")["files"]["inProgress"] == 0)


def test_existing_games_are_known_but_not_streamed(folder: Path) -> None:
    (folder / "old.gci").write_bytes(games()["race.gci"])
    first = next(messages(folder / "old.gci"))
    with running(folder) as daemon:
        daemon.wait_ready()
        assert daemon.get("/v1/stations/arcade")["state"] == "idle"
        log = LogReader("arcade")
        log.cursor = first.cursor or ""
        assert log.read(daemon, ended())
        assert log.lines == [message.json() for message in messages(folder / "old.gci")][1:]
