"""Faults of processes: the daemon is killed or suspended, a subscriber's connection is cut."""

from __future__ import annotations

import random
import signal
import threading
import time
from pathlib import Path

from tests.faults.scene import Outcome, Scene

_KILLS_PER_GAME = 10
_FRAMES = 900


def killed(folder: Path, times: int) -> Outcome:
    """The daemon is killed at random points of a game in progress, and restarted immediately."""
    rng = random.Random(11)
    with Scene(folder) as scene:
        done = 0
        while done < times:
            kills = min(_KILLS_PER_GAME, times - done)
            game = scene.game(frames=_FRAMES, writer="dolphin")
            for share in sorted(rng.uniform(0.02, 0.98) for _ in range(kills)):
                game.write(share)
                if rng.random() < 0.5:  # otherwise it is killed with unread bytes in the file
                    count = len(scene.expected) + int(len(game.lines_so_far()) * rng.random())
                    scene.until(lambda count=count: len(scene.subscriber.lines) >= count, "part of the game")  # type: ignore[misc]
                scene.kill()
                if rng.random() < 0.3:
                    game.write(min(1.0, share + 0.02))  # while no daemon is running
                scene.start()
                done += 1
            game.write()
            scene.expect(game.lines)
        return scene.outcome(times)


def suspended(folder: Path, times: int) -> Outcome:
    """The daemon is suspended and resumed repeatedly during the game."""
    with Scene(folder) as scene:
        game = scene.game(frames=_FRAMES, writer="dolphin")
        for n in range(times):
            scene.alive.process.send_signal(signal.SIGSTOP)
            game.write((n + 1) / (times + 1))
            time.sleep(0.1)
            scene.alive.process.send_signal(signal.SIGCONT)
        scene.play_rest(game)
        return scene.outcome(times)


def cut_off(folder: Path, times: int) -> Outcome:
    """The subscriber disconnects at random points of a game."""
    rng = random.Random(5)
    with Scene(folder) as scene:
        game = scene.game(frames=_FRAMES, writer="frame")
        writing = threading.Thread(target=_write_slowly, args=(game.write,))
        writing.start()
        for _ in range(times):
            time.sleep(rng.uniform(0.0, 0.05))
            connections = scene.subscriber.connections
            scene.subscriber.leave.set()
            scene.until(lambda before=connections: scene.subscriber.connections > before, "reconnected")  # type: ignore[misc]
        writing.join()
        scene.expect(game.lines)
        return scene.outcome(times)


def _write_slowly(write: object) -> None:
    for share in range(1, 101):
        write(share / 100)  # type: ignore[operator]
        time.sleep(0.02)
