"""Faults of files: operations of people, games and copy programs on a growing file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.faults.scene import Outcome, Scene, WrittenGame

Action = Callable[[Scene, WrittenGame], None]
_SHARES = (0.5, 0.3, 0.9, 0.2, 0.4, 0.7)


def _repeated(action: Action) -> Callable[[Path, int], Outcome]:
    """A fault that, a number of times, writes part of a game and then runs the action, which handles the rest."""

    def inject(folder: Path, times: int) -> Outcome:
        with Scene(folder) as scene:
            for n in range(times):
                game = scene.game()
                game.write(_SHARES[n % len(_SHARES)])
                scene.expect(game.lines_so_far())
                action(scene, game)
            scene.play()
            return scene.outcome(times)

    return inject


@_repeated
def truncated(scene: Scene, game: WrittenGame) -> None:
    """The file is cut to 0 bytes, and another game is written into it."""
    os.truncate(game.path, 0)
    scene.until_logged("file lost", file=game.path.name)
    scene.play(scene.game(name=game.path.name))


@_repeated
def replaced(scene: Scene, game: WrittenGame) -> None:
    """Another file is renamed to the name of the file."""
    other = scene.game()
    other.path = scene.elsewhere / other.path.name
    other.write()
    other.path.replace(game.path)
    scene.until_logged("file lost", file=game.path.name)
    scene.expect(other.lines)


@_repeated
def renamed(scene: Scene, game: WrittenGame) -> None:
    """The file is renamed within its folder, and the game continues."""
    game.path = game.path.rename(game.path.with_name(f"renamed {game.path.name}"))
    scene.play_rest(game)


@_repeated
def moved_within(scene: Scene, game: WrittenGame) -> None:
    """The file is moved to another folder of the station, and the game continues."""
    below = scene.folder / f"below {game.path.stem}"
    below.mkdir()
    game.path = game.path.rename(below / game.path.name)
    scene.play_rest(game)


@_repeated
def moved_out(scene: Scene, game: WrittenGame) -> None:
    """The file is moved to an unwatched folder, grows there, and is moved back."""
    home = game.path
    game.path = home.rename(scene.elsewhere / home.name)
    scene.until_logged("file lost", file=home.name)
    game.write()
    assert len(scene.subscriber.lines) == len(scene.expected), "the other folder is not watched"
    game.path = game.path.rename(home)
    scene.play_rest(game)


@_repeated
def deleted(scene: Scene, game: WrittenGame) -> None:
    """The file is deleted during the game."""
    game.path.unlink()
    scene.until_logged("file lost", file=game.path.name)
