"""Faults of the machine: disks, permissions, clocks, and the notifications of the kernel.

Where the machine gives the right, they are real: a disk of a few hundred kilobytes is mounted, a folder is unmounted, a
daemon runs without root's power to read what it may not. The others are done to the daemon by `inject.c`: a read error,
a clock that jumps, watches that are used up, a queue that overflows.
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

_WITHOUT_ROOTS_POWER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
_DISK_BYTES = 512 * 1024
_JUMPS = (3600.0, -86400.0, 30 * 86400.0, -1.5, 0.0)


def as_root() -> bool:
    """Whether disks can be mounted and root's power be given up."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


@contextmanager
def _disk(at: Path, *options: str) -> Iterator[None]:
    at.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(at)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


def permission(folder: Path, times: int) -> Outcome:
    """The folder may not be read for a while, in mid-game; another game begins meanwhile."""
    around = _WITHOUT_ROOTS_POWER if as_root() else ()
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
    """The file may not be read, in mid-game, and the daemon is killed: the next one may not open it for a while."""
    with Scene(folder, around=_WITHOUT_ROOTS_POWER if as_root() else ()) as scene:
        for _ in range(times):
            game = scene.game()
            game.write(0.4)
            scene.expect(game.lines_so_far())
            game.path.chmod(0)
            scene.kill()
            scene.start()
            scene.until_said("file refused", file=game.path.name)
            game.path.chmod(0o644)
            scene.play_rest(game)
        return scene.outcome(times)


def disk_full(folder: Path, times: int) -> Outcome:
    """The disk of the state folder, where the index of games is, is full for a while."""
    state = folder / "state"
    with _disk(state, "-o", f"size={_DISK_BYTES}"), Scene(folder) as scene:
        for _ in range(times):
            filler = state / "filler"
            with filler.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError as error:
                    assert error.errno == errno.ENOSPC  # noqa: PT017 -- which error it is decides
            scene.play()
            scene.until_said("game index")
            filler.unlink()
            scene.play()
            scene.until(lambda: len(scene.alive.get("/v1/games")["games"]) > 0, "the index goes on")
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
            before = injector.happened
            game.write(0.6)
            scene.until(lambda before=before: injector.happened > before, "a read has failed")  # type: ignore[misc]
            scene.until_said("file lost", file=game.path.name, what=os.strerror(errno.EIO))
            injector.set()
            scene.play_rest(game)
        return scene.outcome(times)


def clock(folder: Path, times: int) -> Outcome:
    """The wall clock jumps an hour ahead, a day back, a month ahead, and home again, in mid-game."""
    injector = Injector(folder)
    with Scene(folder, environment=injector.environment) as scene:
        for n in range(times):
            game = scene.game()
            for jump, share in zip(_JUMPS, (0.2, 0.4, 0.6, 0.8, 1.0), strict=True):
                injector.set(clock_seconds=jump)
                game.write(share)
                if n % 2:
                    time.sleep(0.15)  # so that it is looked at with every clock
            scene.expect(game.lines)
        assert injector.happened > 0
        return scene.outcome(times)


def unmounted(folder: Path, times: int) -> Outcome:
    """The folder's file system is unmounted between games and mounted again."""
    where = folder / "station"
    if not as_root():
        return _folder_taken_away(folder, times)
    with Scene(folder) as scene:
        for _ in range(times):
            with _disk(where):
                scene.play()
                scene.play()
            scene.play()
        return scene.outcome(times)


def _folder_taken_away(folder: Path, times: int) -> Outcome:
    """Stands in for it where nothing may be mounted: the folder goes, and comes back."""
    with Scene(folder) as scene:
        for _ in range(times):
            scene.play()
            away = scene.folder.rename(folder / "away")
            scene.until(lambda: scene.station()["state"] == "offline", "the station is offline")
            away.rename(scene.folder)
            scene.play()
        return scene.outcome(times)


def no_watches(folder: Path, times: int) -> Outcome:
    """No inotify watch is to be had any more, from the start or from some point on."""
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
            scene.until(lambda i=injector: i.happened > 0, "a watch was refused")  # type: ignore[misc]
            scene.play()
            scene.play(scene.game(name="2026-11/Game_below.slp"))
            assert "degraded" in scene.station()
            outcome += scene.outcome(1)
    return outcome


def overflow(folder: Path, times: int) -> Outcome:
    """The kernel's queue of notifications overflows: what was in it is lost, and only that is said."""
    injector = Injector(folder)
    with Scene(folder, environment=injector.environment) as scene:
        for _ in range(times):
            injector.set(overflow=True)
            before = injector.happened
            game = scene.game()
            game.write(0.5)
            scene.until(lambda before=before: injector.happened > before, "the queue has overflowed")  # type: ignore[misc]
            game.write(0.7)
            injector.set()
            scene.play_rest(game)
        return scene.outcome(times)
