"""Replays for tests of situations: their events, and their final frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from slpstream.api import Replay, open_replay
from slpstream.model.events import Event, Frame, FrameFinalized


class Game(NamedTuple):
    """A replay with its events."""

    replay: Replay
    events: list[Event]

    @property
    def name(self) -> str:
        return self.replay.path.name

    @property
    def settings(self) -> Any:
        return self.replay.settings

    def final_frames(self) -> list[Frame]:
        """Each frame number once, in its final state."""
        waiting: dict[int, Frame] = {}
        final: dict[int, Frame] = {}
        for event in self.events:
            if isinstance(event, Frame):
                waiting[event.number] = event
            elif isinstance(event, FrameFinalized):
                for number in sorted(waiting):
                    if number <= event.through:
                        final.setdefault(number, waiting.pop(number))
        return [final[number] for number in sorted(final)]


def game_of(path: Path) -> Game:
    replay = open_replay(path)
    return Game(replay, replay.events())
