"""Hits, shields, grabs, throws and shots between fighters, with the game's own knockback formula.

All hits of a frame are found before the first one is dealt, so that two attacks in the same frame trade. Angles
and launch states follow the game: weak hits on the ground slide, strong ones tumble, and hits from above bounce off
the floor.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Sequence

from tests.synthetic import states
from tests.synthetic.body import Mode
from tests.synthetic.controls import Command, Verb
from tests.synthetic.fighter import Fighter
from tests.synthetic.roster import Move

_BODY_HALF_WIDTH, _BODY_HEIGHT = 4.5, 14.0
_GRAB_FIRST, _GRAB_LAST, _GRAB_REACH = 7, 8, 15.0
_PULL_FRAMES, _HOLD_BASE_FRAMES, _HOLD_DISTANCE = 10, 90, 8.0
_MAX_STALENESS = 5 * 0.09
_SAKURAI = 361
_WEAK_KNOCKBACK, _TUMBLE_KNOCKBACK, _ROLL_PERCENT = 32.0, 80.0, 100.0
_THROW_STATES = (states.THROW_F, states.THROW_B, states.THROW_HI, states.THROW_LW)


class Combat:
    """The rules of the fight."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._stale_moves: dict[Fighter, deque[int]] = {}
        """The last nine moves that each fighter landed, the newest first."""

    def resolve(self, fighters: Sequence[Fighter], commands: dict[Fighter, Command]) -> None:
        """Deal the hits and grabs of a frame, after all fighters have moved."""
        for fighter in fighters:
            self._hold(fighter, commands[fighter])
        hits = [
            (attacker, victim, attacker.move)
            for attacker in fighters
            if attacker.move is not None and not attacker.hitlag
            for victim in fighters
            if self._connects(attacker, victim, attacker.move)
        ]
        for attacker, victim, move in hits:
            attacker.last_hits[id(victim)] = attacker.age
            if victim.mode is Mode.SHIELD:
                self._hit_shield(attacker, victim, move)
            else:
                self.strike(attacker, victim, move)
        for attacker in fighters:
            if attacker.state == states.CATCH and _GRAB_FIRST <= attacker.age <= _GRAB_LAST:
                self._grab(attacker, fighters)

    def _connects(self, attacker: Fighter, victim: Fighter, move: Move) -> bool:
        if attacker.team == victim.team or not victim.vulnerable or victim.mode is Mode.HELD:
            return False
        if attacker.mode not in (Mode.BUSY, Mode.BUSY_AIR) or not move.first <= attacker.age + 1 <= move.last:
            return False
        last_hit = attacker.last_hits.get(id(victim))
        if last_hit is not None and (not move.rehit_frames or attacker.age - last_hit < move.rehit_frames):
            return False
        back, front = attacker.x + attacker.facing * move.back, attacker.x + attacker.facing * move.front
        left, right = min(back, front) - _BODY_HALF_WIDTH, max(back, front) + _BODY_HALF_WIDTH
        low, high = attacker.y + move.low - _BODY_HEIGHT, attacker.y + move.high
        return left <= victim.x <= right and low <= victim.y <= high

    def _hit_shield(self, attacker: Fighter, victim: Fighter, move: Move) -> None:
        damage = self._stale_damage(attacker, move)
        victim.shield = max(1.0, victim.shield - damage * 0.7)
        victim.block(int(damage * 0.45 + 2))
        victim.knock_x = math.copysign(0.09 * damage + 0.4, victim.x - attacker.x)
        attacker.hitlag = victim.hitlag = int(damage / 3 + 3)
        victim.hit_by_other = True

    def strike(self, attacker: Fighter, victim: Fighter, move: Move, *, thrown: bool = False) -> None:
        """Deal the damage and knockback of a move that connected. Throws have no hitlag."""
        damage = self._stale_damage(attacker, move)
        self._stale_moves.setdefault(attacker, deque(maxlen=9)).appendleft(move.move_id)
        self._damage(attacker, victim, move.move_id, damage)
        self._break_hold(victim)
        knockback = _knockback(victim.percent, damage, victim.character.weight, move)
        degrees = _angle(move.angle, knockback, victim.grounded)
        if degrees > 180:
            # Hits from above send downwards in the air, and bounce off the floor on the ground.
            degrees = 360 - degrees if victim.grounded else degrees
            knockback *= 0.8 if victim.grounded else 1.0
        direction = self._direction(attacker, victim, move)
        launch = math.radians(degrees + self._influence())
        victim.facing = -direction
        state = self._launch_state(victim, knockback, degrees)
        victim.stun(state, knockback, launch if direction > 0 else math.pi - launch, int(knockback * 0.4))
        victim.instance_hit_by = attacker.instance
        if not thrown:
            attacker.hitlag = victim.hitlag = int(damage / 3 + 3)
            victim.hit_by_other = True

    def shot(self, attacker: Fighter, victim: Fighter, damage: float, move_id: int) -> None:
        """Deal the damage of a shot, which does not launch. Shields absorb it."""
        if victim.mode is not Mode.SHIELD:
            self._damage(attacker, victim, move_id, damage)

    def _damage(self, attacker: Fighter, victim: Fighter, move_id: int, damage: float) -> None:
        attacker.combo = attacker.combo + 1 if victim.mode in (Mode.STUN, Mode.HELD) and attacker.combo else 1
        attacker.last_attack = move_id
        victim.last_hit_by = attacker.index
        victim.percent = min(999.0, victim.percent + damage)

    def _stale_damage(self, attacker: Fighter, move: Move) -> float:
        """The damage of a move, reduced by its recent hits."""
        stale = self._stale_moves.get(attacker, ())
        reduction = sum((9 - place) * 0.01 for place, move_id in enumerate(stale) if move_id == move.move_id)
        return move.damage * (1.0 - min(reduction, _MAX_STALENESS))

    def _direction(self, attacker: Fighter, victim: Fighter, move: Move) -> float:
        if move.state in _THROW_STATES:
            return attacker.facing
        backwards = move.front + move.back < 0
        if move.front > 0 > move.back and abs(victim.x - attacker.x) > 1.0:
            return math.copysign(1.0, victim.x - attacker.x)
        return -attacker.facing if backwards else attacker.facing

    def _influence(self) -> float:
        """Directional influence in degrees: up to 18, usually less."""
        return self._rng.triangular(-18.0, 18.0, 0.0)

    def _launch_state(self, victim: Fighter, knockback: float, degrees: float) -> int:
        if knockback < _TUMBLE_KNOCKBACK:
            strength = min(2, int(knockback / 27))
            return (states.DAMAGE_N1 if victim.grounded else states.DAMAGE_AIR_1) + strength
        if victim.percent > _ROLL_PERCENT and self._rng.random() < 0.3:
            return states.DAMAGE_FLY_ROLL
        if 70 <= degrees <= 110:
            return states.DAMAGE_FLY_TOP
        if degrees > 180 or degrees < 15:
            return states.DAMAGE_FLY_LW
        return states.DAMAGE_FLY_HI if degrees > 50 else states.DAMAGE_FLY_N

    def _grab(self, attacker: Fighter, fighters: Sequence[Fighter]) -> None:
        for victim in fighters:
            ahead = (victim.x - attacker.x) * attacker.facing
            if (
                victim.team != attacker.team
                and victim.vulnerable
                and victim.grounded
                and victim.mode not in (Mode.HELD, Mode.HOLD, Mode.LEDGE, Mode.CLIMB)
                and not victim.hitlag
                and -4.0 <= ahead <= _GRAB_REACH
                and abs(victim.y - attacker.y) < 10
            ):
                attacker.victim = victim
                attacker.speed_x = attacker.knock_x = 0.0
                attacker.enter(
                    states.CATCH_PULL, Mode.HOLD, _PULL_FRAMES, lambda: attacker.enter(states.CATCH_WAIT, Mode.HOLD)
                )
                victim.facing = -attacker.facing
                victim.speed_x = victim.knock_x = 0.0
                victim.instance_hit_by = attacker.instance
                victim.enter(states.CAPTURE_PULLED_LW, Mode.HELD, counter=1.0)
                return

    def _hold(self, holder: Fighter, command: Command) -> None:
        victim = holder.victim
        if victim is None:
            return
        if holder.mode is not Mode.HOLD or victim.mode is not Mode.HELD:
            self._release(holder, victim)
            return
        victim.x = holder.x + holder.facing * _HOLD_DISTANCE
        victim.y, victim.ground_id, victim.grounded = holder.y, holder.ground_id, True
        if holder.state == states.CATCH_WAIT:
            self._choose(holder, victim, command)
        elif holder.state == states.CATCH_ATTACK:
            pummel = holder.character.moves["pummel"]
            if holder.age == pummel.first:
                self._damage(holder, victim, pummel.move_id, self._stale_damage(holder, pummel))
                victim.enter(states.CAPTURE_DAMAGE_LW, Mode.HELD, counter=1.0)
        elif holder.state in _THROW_STATES:
            self._throw(holder, victim)

    def _choose(self, holder: Fighter, victim: Fighter, command: Command) -> None:
        if victim.state != states.CAPTURE_WAIT_LW:
            victim.enter(states.CAPTURE_WAIT_LW, Mode.HELD)
        if command.verb is Verb.THROW:
            move = holder.character.moves[command.move]
            if command.move == "pummel":
                holder.enter(
                    move.state, Mode.HOLD, move.total, lambda: holder.enter(states.CATCH_WAIT, Mode.HOLD), counter=1.0
                )
            else:
                holder.enter(move.state, Mode.HOLD, move.total, counter=1.0)
                thrown = states.THROWN_F + move.state - states.THROW_F
                victim.enter(thrown, Mode.HELD, counter=1.0)
        elif holder.age > _HOLD_BASE_FRAMES + victim.percent:
            holder.enter(states.CATCH_CUT, Mode.BUSY, 30)
            self._release(holder, victim)

    def _throw(self, holder: Fighter, victim: Fighter) -> None:
        move = next(m for m in holder.character.moves.values() if m.state == holder.state)
        if holder.age >= move.first:
            holder.victim = None
            # The remaining frames of the throw are ordinary lag.
            holder.mode = Mode.BUSY
            holder.move = None
            victim.mode = Mode.STUN
            victim.grounded = False
            self.strike(holder, victim, move, thrown=True)

    def _release(self, holder: Fighter, victim: Fighter) -> None:
        holder.victim = None
        if victim.mode is Mode.HELD:
            victim.enter(states.CAPTURE_CUT, Mode.BUSY, 30)
        if holder.mode is Mode.HOLD:
            holder.enter(states.CATCH_CUT, Mode.BUSY, 30)

    def _break_hold(self, hit: Fighter) -> None:
        """Release the victim of a fighter who is hit."""
        victim, hit.victim = hit.victim, None
        if victim is not None and victim.mode is Mode.HELD:
            victim.enter(states.CAPTURE_CUT, Mode.BUSY, 30)


def _knockback(percent: float, damage: float, weight: float, move: Move) -> float:
    """The game's formula. `percent` includes the damage of this hit."""
    growth = (percent / 10 + percent * damage / 20) * 200 / (weight + 100) * 1.4 + 18
    return growth * move.growth / 100 + move.base


def _angle(angle: int, knockback: float, grounded: bool) -> float:
    if angle != _SAKURAI:
        return angle
    if not grounded:
        return 45
    return 0 if knockback < _WEAK_KNOCKBACK else 44
