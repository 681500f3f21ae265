"""The six tournament stages: floors, platforms, blast zones, and moving parts.

The geometry is in the game's own units, as measured by the community, without slopes. `Scenery` produces the stage
events of replays since 3.18 (platform heights on Fountain of Dreams, Whispy's wind, transformations of Stadium), early
enough that even a short match has some.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from slpstream.formats.slippi.commands import FOD_PLATFORMS, STADIUM, WHISPY

FOUNTAIN_OF_DREAMS, POKEMON_STADIUM, YOSHIS_STORY, DREAM_LAND, BATTLEFIELD, FINAL_DESTINATION = 2, 3, 8, 28, 31, 32


class Platform(NamedTuple):
    """A floor or platform, in game units. `ground_id` is its id in Post-Frame Updates."""

    left: float
    right: float
    y: float
    ground_id: int


class Stage(NamedTuple):
    """A stage.

    `blast` has the blast lines left, right, top, bottom; `spawns` the positions by player index; `rebirth` the y at
    which the rebirth platform starts and ends.
    """

    stage_id: int
    floor: Platform
    platforms: tuple[Platform, ...]
    blast: tuple[float, float, float, float]
    spawns: tuple[tuple[float, float], ...]
    rebirth: tuple[float, float]

    @property
    def edge(self) -> float:
        """The x of the right ledge; the left ledge is its mirror image."""
        return self.floor.right


STAGES = {
    stage.stage_id: stage
    for stage in (
        Stage(
            FOUNTAIN_OF_DREAMS,
            Platform(-63.35, 63.35, 0.0, 5),
            (Platform(-49.5, -21.0, 16.125, 0), Platform(21.0, 49.5, 22.125, 1), Platform(-14.25, 14.25, 42.75, 2)),
            (-198.75, 198.75, 202.5, -146.25),
            ((-41.25, 21.0), (41.25, 27.0), (0.0, 5.25), (0.0, 48.0)),
            (111.75, 63.75),
        ),
        Stage(
            POKEMON_STADIUM,
            Platform(-87.75, 87.75, 0.0, 34),
            (Platform(-55.0, -25.0, 25.0, 35), Platform(25.0, 55.0, 25.0, 36)),
            (-230.0, 230.0, 180.0, -111.0),
            ((-40.0, 32.0), (40.0, 32.0), (70.0, 7.0), (-70.0, 7.0)),
            (140.0, 70.0),
        ),
        Stage(
            YOSHIS_STORY,
            Platform(-56.0, 56.0, 0.0, 3),
            (Platform(-59.5, -28.0, 23.45, 2), Platform(28.0, 59.5, 23.45, 5), Platform(-15.75, 15.75, 42.0, 4)),
            (-175.7, 173.6, 168.0, -91.0),
            ((-42.0, 28.5), (42.0, 28.5), (0.0, 47.0), (0.0, 5.0)),
            (110.0, 60.0),
        ),
        Stage(
            DREAM_LAND,
            Platform(-77.27, 77.27, 0.0089, 4),
            (Platform(-61.39, -31.73, 30.142, 0), Platform(31.7, 63.07, 30.242, 1), Platform(-19.02, 19.02, 51.425, 2)),
            (-255.0, 255.0, 250.0, -123.0),
            ((-46.6, 37.2), (47.4, 37.3), (0.0, 7.0), (0.0, 58.5)),
            (188.24, 84.24),
        ),
        Stage(
            BATTLEFIELD,
            Platform(-68.4, 68.4, 0.0, 1),
            (Platform(-57.6, -20.0, 27.2, 2), Platform(20.0, 57.6, 27.2, 4), Platform(-18.8, 18.8, 54.4, 3)),
            (-224.0, 224.0, 200.0, -108.8),
            ((-38.8, 35.2), (38.8, 35.2), (0.0, 8.0), (0.0, 62.4)),
            (148.0, 84.0),
        ),
        Stage(
            FINAL_DESTINATION,
            Platform(-85.57, 85.57, 0.0, 1),
            (),
            (-246.0, 246.0, 188.0, -140.0),
            ((-60.0, 10.0), (60.0, 10.0), (-20.0, 10.0), (20.0, 10.0)),
            (140.0, 70.0),
        ),
    )
}
"""The stages by id."""


class Scenery:
    """The moving parts of a stage. `platforms` has their positions in the current frame."""

    def __init__(self, stage: Stage, rng: random.Random) -> None:
        self.stage = stage
        self.platforms = list(stage.platforms)
        self._rng = rng
        moving: dict[int, Callable[[int], list[Any]]] = {
            FOUNTAIN_OF_DREAMS: self._fountain,
            DREAM_LAND: self._whispy,
            POKEMON_STADIUM: self._stadium,
        }
        self._move = moving.get(stage.stage_id)
        self._next_frame = 0
        self._blowing = False
        self._step = 0
        self._transformation = 5
        self._lifts = [_Lift(1, 0, rng), _Lift(0, 1, rng)]

    def advance(self, frame: int) -> list[Any]:
        """Play a frame and return its stage events, decoded. Nothing moves before frame 0."""
        return self._move(frame) if self._move is not None and frame >= 0 else []

    @property
    def surfaces(self) -> list[Platform]:
        """The floor, followed by the platforms."""
        return [self.stage.floor, *self.platforms]

    def _fountain(self, frame: int) -> list[Any]:
        events = []
        for lift in self._lifts:
            platform = self.platforms[lift.index]
            height = lift.advance(platform.y)
            if height != platform.y:
                self.platforms[lift.index] = platform._replace(y=height)
                events.append(FOD_PLATFORMS.cls(frame=frame, platform=lift.code, height=height))
        return events

    def _whispy(self, frame: int) -> list[Any]:
        if self._next_frame == 0:
            self._next_frame = self._rng.randint(20, 120)
        if frame < self._next_frame:
            return []
        self._blowing = not self._blowing
        self._next_frame = frame + (274 if self._blowing else self._rng.randint(400, 1200))
        direction = self._rng.choice((1, 2)) if self._blowing else 0
        return [WHISPY.cls(frame=frame, direction=direction)]

    def _stadium(self, frame: int) -> list[Any]:
        """Alternate between the normal shape (5) and a random one; each change has the phases 2 to 6 and 0."""
        if frame < self._next_frame:
            return []
        phase = (2, 3, 4, 5, 6, 0)[self._step]
        if phase == 2:
            self._transformation = self._rng.choice((3, 4, 6, 9)) if self._transformation == 5 else 5
        self._step = (self._step + 1) % 6
        self._next_frame = frame + (30 if phase else 900)
        return [STADIUM.cls(frame=frame, event=phase, transformation=self._transformation)]


class _Lift:
    """One of the two platforms of Fountain of Dreams: it rests, then moves slowly to another height."""

    _HEIGHTS = (3.0, 15.0, 20.0, 27.375, 35.375)
    _RISE, _SINK = 0.15, 0.1

    def __init__(self, code: int, index: int, rng: random.Random) -> None:
        self.code = code
        """Platform id in the event: 0 right, 1 left."""
        self.index = index
        self._rng = rng
        self._wait = rng.randint(20, 160)
        self._target: float | None = None

    def advance(self, height: float) -> float:
        if self._wait > 0:
            self._wait -= 1
            return height
        if self._target is None:
            self._target = self._rng.choice([h for h in self._HEIGHTS if abs(h - height) > 1.0])
        if abs(self._target - height) <= self._RISE:
            reached, self._target = self._target, None
            self._wait = self._rng.randint(60, 500)
            return reached
        return height + (self._RISE if self._target > height else -self._SINK)
