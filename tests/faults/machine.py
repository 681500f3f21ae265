"""Faults of the machine: disks, permissions, clocks, and notifications of the kernel.

With root, some of them are real: a disk of a few hundred kilobytes is mounted, a folder is unmounted, and the daemon
runs without root's capability to read all files. `inject.c` injects the others: a read error, a jumping clock,
exhausted watches, and an overflowing queue.
"""

from __future__ import annotations

import errno
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.injector import Injector
from tests.faults.scene import Outcome, Scene

_WITHOUT_CAPABILITIES = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
_DISK_BYTES = 512 * 1024
_JUMPS = (3600.0, -86400.0, 30 * 86400.0, -1.5, 0.0)


def as_root() -> bool:
    """Whether this process has the right to mount disks and drop capabilities."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


@contextmanager
def _disk(folder: Path, *options: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def permission(folder: Path, times: int) -> Outcome:
    """The folder is unreadable for a while during a game."""
    around = _WITHOUT_CAPABILITIES if as_root() else ()
    with Scene(folder, around=around) as scene:
        for _ in range(times):
            game = scene.game()
            game.write(0.4)
            scene.expect(game.lines_so_far())
            scene.folder.chmod(0)
            scene.until(lambda: scene.station()["state"] == "offline", "the station is offline")
            if as_root():
                game.write(0.6)
            scene.folder.chmod(0o755)
            scene.play_rest(game)
        return scene.outcome(times)


def file_permission(folder: Path, times: int) -> Outcome:
    """The file is unreadable for a while during a game, and the daemon is restarted meanwhile."""
    with Scene(folder, around=_WITHOUT_CAPABILITIES if as_root() else ()) as scene:
        for _ in range(times):
            game = scene.game()
            game.write(0.4)
            scene.expect(game.lines_so_far())
            game.path.chmod(0)
            scene.kill()
            scene.start()
            scene.until_logged("file refused", file=game.path.name)
            game.path.chmod(0o644)
            scene.play_rest(game)
        return scene.outcome(times)


def disk_full(folder: Path, times: int) -> Outcome:
    """The disk of the state folder, which has the index of games, is full for a while."""
    state = folder / "state"
    with _disk(state, "-o", f"size={_DISK_BYTES}"), Scene(folder) as scene:
        for _ in range(times):
            filler = state / "filler"
            with filler.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError as error:
                    assert error.errno == errno.ENOSPC  # noqa: PT017 -- any other error is a failure
            scene.play()
            scene.until_logged("game index failed")
            filler.unlink()
            scene.play()
            scene.until(lambda: len(scene.alive.get("/v1/games")["games"]) > 0, "the index works again")
        return scene.outcome(times)


def read_error(folder: Path, times: int) -> Outcome:
    """The disk cannot read the file for a while (EIO)."""
    injector = Injector(folder)
    with Scene(folder, environment=injector.environment) as scene:
        for _ in range(times):
            game = scene.game()
            game.write(0.4)
            scene.expect(game.lines_so_far())
            injector.set(read_errno=errno.EIO, path=game.path.name)
            before = injector.count
            game.write(0.6)
            scene.until(lambda before=before: injector.count > before, "a read has failed")  # type: ignore[misc]
            scene.until_logged("file lost", file=game.path.name, what=os.strerror(errno.EIO))
            injector.set()
            scene.play_rest(game)
        return scene.outcome(times)


def clock(folder: Path, times: int) -> Outcome:
    """The wall clock jumps an hour ahead, a day back, a month ahead, and back to normal, during a game."""
    injector = Injector(folder)
    with Scene(folder, environment=injector.environment) as scene:
        for n in range(times):
            game = scene.game()
            for jump, share in zip(_JUMPS, (0.2, 0.4, 0.6, 0.8, 1.0), strict=True):
                injector.set(clock_seconds=jump)
                game.write(share)
                if n % 2:
                    time.sleep(0.15)  # the file must be read with each of these clocks
            scene.expect(game.lines)
        assert injector.count > 0
        return scene.outcome(times)


def unmounted(folder: Path, times: int) -> Outcome:
    """The folder's file system is unmounted between games and mounted again."""
    with Scene(folder) as scene:
        for _ in range(times):
            with _disk(scene.folder):
                scene.play()
                scene.play()
            scene.play()
        return scene.outcome(times)


def no_watches(folder: Path, times: int) -> Outcome:
    """No further inotify watch can be added, from the start or later."""
    outcome = Outcome(0, 0, 0, 0)
    for n in range(times):
        below = folder / str(n)
        below.mkdir()
        injector = Injector(below)
        if n % 2 == 0:
            injector.set(watch_errno=errno.ENOSPC)
        with Scene(below, environment=injector.environment) as scene:
            injector.set(watch_errno=errno.ENOSPC)
            (scene.folder / "2026-11").mkdir()
            scene.until(lambda i=injector: i.count > 0, "a watch was refused")  # type: ignore[misc]
            scene.play()
            scene.play(scene.game(name="2026-11/Game_below.slp"))
            assert "degraded" in scene.station()
            outcome += scene.outcome(1)
    return outcome


def overflow(folder: Path, times: int) -> Outcome:
    """The kernel's queue of notifications overflows: its notifications are lost, and only the overflow is reported."""
    injector = Injector(folder)
    with Scene(folder, environment=injector.environment) as scene:
        for _ in range(times):
            injector.set(overflow=True)
            before = injector.count
            game = scene.game()
            game.write(0.5)
            scene.until(lambda before=before: injector.count > before, "the queue has overflowed")  # type: ignore[misc]
            game.write(0.7)
            injector.set()
            scene.play_rest(game)
        return scene.outcome(times)
