"""The daemon writes only to its state folder, and loses no messages under a read-only root.

strace shows the writes, bubblewrap makes the root read-only; neither needs root privileges. On a real machine, the
unit's `ProtectSystem=strict` has the same effect. No bytecode is written here (`PYTHONDONTWRITEBYTECODE`); `pip`
has already written it for an installed program.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from slpstream.api import messages
from tests.daemons.process import DaemonProcess, LogReader, running
from tests.deploy.tools import needs
from tests.synthetic.match import synthetic_match

WRITES = "open,openat,creat,mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat"
WRITES += ",truncate,chmod,fchmodat,chown,lchown,fchownat,mknod,mknodat,rmdir,utimensat,setxattr"
_CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)")
_OPEN_FOR_WRITING = re.compile(r"\bO_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)\b")
_PATH = re.compile(r'(?:AT_FDCWD(?:<[^>]*>)?, |\d+<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')


def written(trace: Iterable[str]) -> set[str]:
    """Paths that a traced process wrote to or changed."""
    paths: set[str] = set()
    for line in trace:
        call = _CALL.match(line)
        if call is None or int(call[3]) < 0:
            continue
        if call[1] in ("open", "openat") and not _OPEN_FOR_WRITING.search(call[2]):
            continue
        for folder, name in _PATH.findall(call[2]):
            paths.add(str(Path(folder or "/", name)))
    return paths


def play(daemon: DaemonProcess, folder: Path, name: str, seed: int) -> None:
    """Write a game the way Dolphin does, and check that every message and every HTTP response arrives."""
    source = folder.parent / name
    source.write_bytes(synthetic_match(seed=seed, frames=400))
    expected = [message.json() for message in messages(source)]
    reader = LogReader("replays")
    command = [sys.executable, "-m", "slpstream", "simulate", str(source), "--into", str(folder), "--speed", "8"]
    with subprocess.Popen([*command, "--writer", "dolphin"]) as writing:
        assert reader.read(daemon, lambda r: len(r.lines) >= len(expected)), (reader.ended, reader.statuses[-3:])
        assert writing.wait(timeout=60) == 0
    assert reader.lines == expected
    daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 1)
    game = daemon.get("/v1/games")["games"][0]["gameId"]
    assert daemon.get(f"/v1/games/{game}/stats")["gameComplete"]
    assert daemon.get(f"/v1/games/{game}/frames?limit=5")["frames"]
    assert daemon.text("/metrics")
    assert daemon.text("/overlay/replays")


def skip_unless_permitted(*command: str) -> None:
    """Skip the test where users may not trace processes or create namespaces, as in some containers.

    `test_unit.py` checks the unit's sandbox everywhere.
    """
    done = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{command[0]} is not permitted here: {done.stderr.strip()[:200]}")


def without_bytecode(*command: str) -> tuple[str, ...]:
    """The command to put before `slpstream serve`."""
    return ("env", "PYTHONDONTWRITEBYTECODE=1", *command)


@pytest.mark.slow
@needs("strace")
def test_no_write_outside_the_state_folder(tmp_path: Path) -> None:
    skip_unless_permitted("strace", "-qq", "-e", "trace=none")
    folder, state, trace = tmp_path / "replays", tmp_path / "state", tmp_path / "trace"
    folder.mkdir()
    wrapper = without_bytecode(
        "strace", "-D", "-f", "-y", "--seccomp-bpf", "-qq", "-s", "4096", "-e", f"trace={WRITES}", "-o", str(trace)
    )
    with running(folder, around=wrapper, state=state) as daemon:
        daemon.wait_ready()
        play(daemon, folder, "Game_1.slp", 1)
        code = daemon.terminate()
    assert code == 0
    paths = written(trace.read_text(errors="replace").splitlines())
    inside = {path for path in paths if Path(path).is_relative_to(state)}
    assert inside, "the trace shows that the index was written"
    assert paths - inside <= {"/dev/null"}


@pytest.mark.slow
@needs("bwrap")
@pytest.mark.parametrize("writable", [True, False], ids=["state folder", "nothing"])
def test_read_only_root_loses_no_messages(writable: bool, tmp_path: Path) -> None:
    """Once with a writable state folder, as in the unit, and once with no writable folder at all."""
    folder, state = tmp_path / "replays", tmp_path / "state"
    folder.mkdir()
    state.mkdir()
    bind = ("--bind", str(state), str(state)) if writable else ()
    wrapper = ("bwrap", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *bind)
    skip_unless_permitted(*wrapper)
    with running(folder, around=without_bytecode(*wrapper), state=state) as daemon:
        daemon.wait_ready()
        play(daemon, folder, "Game_1.slp", 2)
        problems = [line["event"] for line in daemon.lines if line.get("level") in ("warning", "error", "critical")]
        assert problems == ([] if writable else ["game index is kept for this run alone"])
    assert bool(list(state.iterdir())) == writable
