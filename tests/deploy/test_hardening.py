"""The daemon writes only to its state folder, and loses no messages under a read-only root.

bubblewrap makes the root read-only, and needs no root privileges. On a real machine, the unit's `ProtectSystem=strict`
has the same effect. No bytecode is written here (`PYTHONDONTWRITEBYTECODE`); `pip` has already written it for an
installed program.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from slpstream.api import messages
from tests.daemons.process import DaemonProcess, LogReader, running
from tests.daemons.simulated import simulate
from tests.deploy.tools import needs
from tests.project import has_part
from tests.synthetic.match import synthetic_match


def play(daemon: DaemonProcess, folder: Path, name: str, seed: int) -> None:
    """Write a game like Dolphin, and check that every message and every HTTP response arrives."""
    source = folder.parent / name
    source.write_bytes(synthetic_match(seed=seed, frames=400))
    expected = [message.json() for message in messages(source)]
    reader = LogReader("replays")
    with simulate(source, folder, writer="dolphin", speed=8) as writing:
        assert reader.read(daemon, lambda r: len(r.lines) >= len(expected)), (reader.ended, reader.statuses[-3:])
        assert writing.wait(timeout=60) == 0
    assert reader.lines == expected
    daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 1)
    game = daemon.get("/v1/games")["games"][0]["gameId"]
    assert daemon.get(f"/v1/games/{game}/stats")["gameComplete"]
    assert daemon.get(f"/v1/games/{game}/frames?limit=5")["frames"]
    assert daemon.text("/metrics")
    if has_part("scenes"):
        assert daemon.text("/overlay/replays")


def skip_unless_permitted(*command: str) -> None:
    """Skip the test if users are not allowed to create namespaces, as in some containers.

    `test_unit.py` checks the unit's sandbox everywhere.
    """
    done = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{command[0]} is not permitted here: {done.stderr.strip()[:200]}")


@pytest.mark.slow
@needs("bwrap")
@pytest.mark.parametrize("writable", [True, False], ids=["state folder", "no folder"])
def test_read_only_root_loses_no_messages(writable: bool, tmp_path: Path) -> None:
    """Run once with a writable state folder, as in the unit, and once without any writable folder."""
    folder, state = tmp_path / "replays", tmp_path / "state"
    folder.mkdir()
    state.mkdir(0o700)
    bind = ("--bind", str(state), str(state)) if writable else ()
    wrapper = ("bwrap", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *bind)
    skip_unless_permitted(*wrapper)
    with running(folder, around=("env", "PYTHONDONTWRITEBYTECODE=1", *wrapper), state=state) as daemon:
        daemon.wait_ready()
        play(daemon, folder, "Game_1.slp", 2)
        problems = [line["event"] for line in daemon.lines if line.get("level") in ("warning", "error", "critical")]
        assert problems == ([] if writable else ["game index is kept for this run alone"])
    assert bool(list(state.iterdir())) == writable
