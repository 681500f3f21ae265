"""Faults of files: what people, games and copy programs do to a file that is being written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.faults.scene import Outcome, Scene, WrittenGame

Act = Callable[[Scene, WrittenGame], None]
_SHARES = (0.5, 0.3, 0.9, 0.2, 0.4, 0.7)


def _each(folder: Path, times: int, act: Act) -> Outcome:
    """For each time: a game up to some share, the act, and what it says about the rest."""
    with Scene(folder) as scene:
        for n in range(times):
            game = scene.game()
            game.write(_SHARES[n % len(_SHARES)])
            scene.expect(game.lines_so_far())
            act(scene, game)
        scene.play()
        return scene.outcome(times)


def truncated(folder: Path, times: int) -> Outcome:
    """The file is cut to 0 bytes, and another game is written into it."""

    def act(scene: Scene, game: WrittenGame) -> None:
        os.truncate(game.path, 0)
        scene.until_said("file lost", file=game.path.name)
        scene.play(scene.game(name=game.path.name))

    return _each(folder, times, act)


def replaced(folder: Path, times: int) -> Outcome:
    """Another file comes under the same name by a rename."""

    def act(scene: Scene, game: WrittenGame) -> None:
        other = scene.game()
        other.path = scene.elsewhere / other.path.name
        other.write()
        other.path.replace(game.path)
        scene.until_said("file lost", file=game.path.name)
        scene.expect(other.lines)

    return _each(folder, times, act)


def renamed(folder: Path, times: int) -> Outcome:
    """The file gets another name in the same folder, and the game goes on."""

    def act(scene: Scene, game: WrittenGame) -> None:
        game.path = game.path.rename(game.path.with_name(f"renamed {game.path.name}"))
        scene.play_rest(game)

    return _each(folder, times, act)


def moved_within(folder: Path, times: int) -> Outcome:
    """The file goes to another folder of the same station, and the game goes on."""

    def act(scene: Scene, game: WrittenGame) -> None:
        below = scene.folder / f"below {game.path.stem}"
        below.mkdir()
        game.path = game.path.rename(below / game.path.name)
        scene.play_rest(game)

    return _each(folder, times, act)


def moved_out(folder: Path, times: int) -> Outcome:
    """The file goes to a folder that nobody watches, grows there, and comes back."""

    def act(scene: Scene, game: WrittenGame) -> None:
        home = game.path
        game.path = home.rename(scene.elsewhere / home.name)
        scene.until_said("file lost", file=home.name)
        game.write()
        assert len(scene.subscriber.lines) == len(scene.expected), "nobody looks at the other folder"
        game.path = game.path.rename(home)
        scene.play_rest(game)

    return _each(folder, times, act)


def deleted(folder: Path, times: int) -> Outcome:
    """The file is deleted in mid-game."""

    def act(scene: Scene, game: WrittenGame) -> None:
        game.path.unlink()
        scene.until_said("file lost", file=game.path.name)

    return _each(folder, times, act)
