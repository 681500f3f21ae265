"""Faults of files: operations by people, games and copy programs on a file that is being written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.faults.scene import Outcome, Scene, WrittenGame

Action = Callable[[Scene, WrittenGame], None]
_SHARES = (0.5, 0.3, 0.9, 0.2, 0.4, 0.7)


def _repeat(folder: Path, times: int, action: Action) -> Outcome:
    """Write part of a game and then run the action, which deals with the rest, a number of times."""
    with Scene(folder) as scene:
        for n in range(times):
            game = scene.game()
            game.write(_SHARES[n % len(_SHARES)])
            scene.expect(game.lines_so_far())
            action(scene, game)
        scene.play()
        return scene.outcome(times)


def truncated(folder: Path, times: int) -> Outcome:
    """The file is cut to 0 bytes, and another game is written into it."""

    def action(scene: Scene, game: WrittenGame) -> None:
        os.truncate(game.path, 0)
        scene.until_logged("file lost", file=game.path.name)
        scene.play(scene.game(name=game.path.name))

    return _repeat(folder, times, action)


def replaced(folder: Path, times: int) -> Outcome:
    """Another file is renamed to the name of the file."""

    def action(scene: Scene, game: WrittenGame) -> None:
        other = scene.game()
        other.path = scene.elsewhere / other.path.name
        other.write()
        other.path.replace(game.path)
        scene.until_logged("file lost", file=game.path.name)
        scene.expect(other.lines)

    return _repeat(folder, times, action)


def renamed(folder: Path, times: int) -> Outcome:
    """The file is renamed within its folder, and the game continues."""

    def action(scene: Scene, game: WrittenGame) -> None:
        game.path = game.path.rename(game.path.with_name(f"renamed {game.path.name}"))
        scene.play_rest(game)

    return _repeat(folder, times, action)


def moved_within(folder: Path, times: int) -> Outcome:
    """The file is moved to another folder of the station, and the game continues."""

    def action(scene: Scene, game: WrittenGame) -> None:
        below = scene.folder / f"below {game.path.stem}"
        below.mkdir()
        game.path = game.path.rename(below / game.path.name)
        scene.play_rest(game)

    return _repeat(folder, times, action)


def moved_out(folder: Path, times: int) -> Outcome:
    """The file is moved to a folder that is not watched, grows there, and is moved back."""

    def action(scene: Scene, game: WrittenGame) -> None:
        home = game.path
        game.path = home.rename(scene.elsewhere / home.name)
        scene.until_logged("file lost", file=home.name)
        game.write()
        assert len(scene.subscriber.lines) == len(scene.expected), "the other folder is not watched"
        game.path = game.path.rename(home)
        scene.play_rest(game)

    return _repeat(folder, times, action)


def deleted(folder: Path, times: int) -> Outcome:
    """The file is deleted during the game."""

    def action(scene: Scene, game: WrittenGame) -> None:
        game.path.unlink()
        scene.until_logged("file lost", file=game.path.name)

    return _repeat(folder, times, action)
