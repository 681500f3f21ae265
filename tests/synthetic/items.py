"""Items: lasers that fly and hit, and objects that fall onto the stage, lie there and vanish."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count
from typing import Any

from slpstream.formats.slippi.commands import ITEM_UPDATE
from tests.synthetic.combat import Combat
from tests.synthetic.fighter import Fighter
from tests.synthetic.stages import Platform

MAX_ITEMS = 15
"""The maximum number of items in a frame."""

_LASER_SPEED, _LASER_FRAMES, _LASER_DAMAGE, _LASER_MOVE = 7.0, 34, 3.0, 18
_MUZZLE_X, _MUZZLE_Y = 12.0, 8.5
_CAPSULE, _BOB_OMB, _MAXIM_TOMATO, _BEAM_SWORD = 0x00, 0x06, 0x09, 0x0C
_THING_FRAMES, _THING_GRAVITY, _THING_FALL = 900, 0.08, 2.0
_BODY_HALF_WIDTH, _BODY_HEIGHT = 4.5, 14.0
_AIR, _LYING = 1, 0


class _Item:
    def __init__(
        self, type_id: int, spawn_id: int, x: float, y: float, facing: float, frames: int, owner: Fighter | None
    ) -> None:
        self.type_id = type_id
        self.spawn_id = spawn_id
        self.x, self.y = x, y
        self.facing = facing
        self.speed_x = self.speed_y = 0.0
        self.frames_left = frames
        self.state = _AIR
        self.owner = owner
        self.instance = 0 if owner is None else owner.instance

    def event(self, frame: int) -> Any:
        return ITEM_UPDATE.cls(
            frame=frame,
            type_id=self.type_id,
            state=self.state,
            facing_direction=self.facing,
            velocity_x=self.speed_x,
            velocity_y=self.speed_y,
            position_x=self.x,
            position_y=self.y,
            damage_taken=0,
            expiration_timer=float(self.frames_left),
            spawn_id=self.spawn_id,
            missile_type=0,
            turnip_face=0,
            charge_shot_launched=0,
            charge_power=0,
            owner=-1 if self.owner is None else self.owner.index,
            instance_id=self.instance,
        )


class Items:
    """All items of a match. With `spawning`, objects fall onto the stage from time to time."""

    def __init__(self, rng: random.Random, *, spawning: bool) -> None:
        self._rng = rng
        self._items: list[_Item] = []
        self._spawn_ids = count()
        self._next_spawn_frame = rng.randint(30, 120) if spawning else None

    def advance(
        self, frame: int, fighters: Sequence[Fighter], combat: Combat, surfaces: Sequence[Platform]
    ) -> list[Any]:
        """Play a frame and return its Item Updates, decoded. `surfaces` begins with the floor."""
        for fighter in fighters:
            if fighter.shots:
                fighter.shots = 0
                self._fire(fighter)
        if self._next_spawn_frame is not None and frame >= self._next_spawn_frame:
            self._next_spawn_frame = frame + self._rng.randint(180, 600)
            self._drop(surfaces[0])
        for item in self._items:
            item.frames_left -= 1
            if item.owner is None:
                _fall(item, surfaces)
            else:
                item.x += item.speed_x
                self._hit(item, fighters, combat)
        self._items = [item for item in self._items if item.frames_left > 0][:MAX_ITEMS]
        return [item.event(frame) for item in self._items]

    def _fire(self, owner: Fighter) -> None:
        type_id = owner.character.laser_type
        if type_id is None:
            return
        x, y = owner.x + owner.facing * _MUZZLE_X, owner.y + _MUZZLE_Y
        shot = _Item(type_id, next(self._spawn_ids), x, y, owner.facing, _LASER_FRAMES, owner)
        shot.speed_x = owner.facing * _LASER_SPEED
        shot.state = 0
        self._items.append(shot)

    def _drop(self, floor: Platform) -> None:
        x = self._rng.uniform(floor.left * 0.8, floor.right * 0.8)
        kind = self._rng.choice((_CAPSULE, _BOB_OMB, _MAXIM_TOMATO, _BEAM_SWORD))
        self._items.append(_Item(kind, next(self._spawn_ids), x, 70.0, 1.0, _THING_FRAMES, None))

    def _hit(self, shot: _Item, fighters: Sequence[Fighter], combat: Combat) -> None:
        owner = shot.owner
        for fighter in fighters:
            if owner is None or fighter.team == owner.team or not fighter.vulnerable:
                continue
            reached = abs(fighter.x - shot.x) <= _BODY_HALF_WIDTH + _LASER_SPEED / 2
            if reached and fighter.y <= shot.y <= fighter.y + _BODY_HEIGHT:
                combat.shot(owner, fighter, _LASER_DAMAGE, _LASER_MOVE)
                shot.frames_left = 0
                return


def _fall(item: _Item, surfaces: Sequence[Platform]) -> None:
    if item.state == _LYING:
        return
    before = item.y
    item.speed_y = max(-_THING_FALL, item.speed_y - _THING_GRAVITY)
    item.y += item.speed_y
    for surface in surfaces:
        if before >= surface.y >= item.y and surface.left <= item.x <= surface.right:
            item.y, item.speed_y, item.state = surface.y, 0.0, _LYING
            return
