"""The bots that play a synthetic match, well but not perfectly.

A bot follows one plan at a time (approach with some attack, dash dance, retreat, hold the shield, ...) and drops it
when it no longer fits. It follows up on a stunned opponent, which makes combos; it recovers when it is off the stage;
and above a certain percent it looks for a hit that kills. All randomness comes from the given generator.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import ClassVar

from slpstream.formats.slippi.commands import FIRST_PLAYABLE_FRAME
from tests.synthetic import states
from tests.synthetic.body import Mode
from tests.synthetic.controls import REST, Command, Verb
from tests.synthetic.fighter import Fighter

_KILL_PERCENT = 70.0
_CLOSE, _NEAR, _MIDDLE = 14.0, 32.0, 75.0
_AERIALS = ("nair", "fair", "bair", "uair", "dair")
_TECH_PROBABILITY, _L_CANCEL_PROBABILITY = 0.4, 0.88


class Bot:
    """Plays one fighter. With `shoots` it uses lasers, if its character has them."""

    def __init__(self, rng: random.Random, *, shoots: bool = False) -> None:
        self._rng = rng
        self._shoots = shoots
        self._plan = "wait"
        self._plan_frames_left = 20
        self._dance_frames = 7
        self._aerial = ""
        self._direction = 1.0
        self._wavedash = False
        self._l_cancels = False

    def command(self, frame: int, me: Fighter, others: Sequence[Fighter]) -> Command:
        """The command for a frame. `others` are the fighters of the other teams."""
        if frame < FIRST_PLAYABLE_FRAME or (me.hitlag and me.mode is not Mode.STUN):
            return REST
        foe = min((o for o in others if o.in_play), key=lambda o: abs(o.x - me.x) + abs(o.y - me.y), default=None)
        decide = self._DECIDE.get(me.mode)
        return decide(self, me, foe) if decide is not None else REST

    def _ground(self, me: Fighter, foe: Fighter | None) -> Command:
        self._aerial, self._wavedash = "", False
        self._plan_frames_left -= 1
        if foe is None:
            return self._idle(me)
        if foe.mode in (Mode.STUN, Mode.TUMBLE, Mode.DOWN) and not foe.offstage:
            self._plan = "follow"
        elif self._plan == "follow" or self._plan_frames_left <= 0:
            self._choose(me, foe)
        return self._PLANS[self._plan](self, me, foe)

    def _choose(self, me: Fighter, foe: Fighter) -> None:
        distance = abs(foe.x - me.x)
        self._plan_frames_left = self._rng.randint(6, 20)
        self._dance_frames = self._rng.randint(5, 11)
        self._direction = 1.0 if foe.x > me.x else -1.0
        if foe.offstage or foe.mode is Mode.LEDGE:
            plans = {"edge": 6, "wait": 2, "dance": 2}
        elif distance < _NEAR:
            plans = {"poke": 7, "grab": 4, "shield": 3, "retreat": 2, "approach": 5, "dodge": 2}
        elif distance < _MIDDLE:
            plans = {"approach": 9, "dance": 3, "wavedash": 2, "retreat": 1, "grab": 2} | self._shots(me, 3)
        else:
            plans = {"approach": 8, "dance": 2, "wavedash": 2, "wait": 1} | self._shots(me, 6)
        self._plan = self._rng.choices(list(plans), list(plans.values()))[0]

    def _shots(self, me: Fighter, weight: int) -> dict[str, int]:
        return {"laser": weight} if self._shoots and me.character.laser_type is not None else {}

    def _idle(self, me: Fighter) -> Command:
        if abs(me.x) > 15:
            return Command(Verb.WALK, -0.9 if me.x > 0 else 0.9)
        return Command(Verb.CROUCH, 0.0, -1.0) if self._plan_frames_left % 90 < 20 else REST

    def _plan_wait(self, me: Fighter, foe: Fighter) -> Command:
        return REST

    def _plan_dance(self, me: Fighter, foe: Fighter) -> Command:
        if abs(me.x) > me.stage.edge - 18:
            self._direction = -1.0 if me.x > 0 else 1.0
        elif self._plan_frames_left % self._dance_frames == 0 and abs(me.x) < me.stage.edge - 36:
            self._direction = -self._direction
        return Command(Verb.DASH, self._direction)

    def _plan_retreat(self, me: Fighter, foe: Fighter) -> Command:
        away = -1.0 if foe.x > me.x else 1.0
        if abs(me.x + away * 12) > me.stage.edge:
            self._plan = "shield"
            return Command(Verb.SHIELD)
        return Command(Verb.DASH, away)

    def _plan_laser(self, me: Fighter, foe: Fighter) -> Command:
        toward = 1.0 if foe.x > me.x else -1.0
        if me.facing != toward:
            return Command(Verb.WALK, toward * 0.4)
        return Command(Verb.SHORT_HOP if self._rng.random() < 0.5 else Verb.LASER)

    def _plan_shield(self, me: Fighter, foe: Fighter) -> Command:
        return Command(Verb.SHIELD)

    def _plan_dodge(self, me: Fighter, foe: Fighter) -> Command:
        self._plan_frames_left = 0
        if self._rng.random() < 0.4:
            return Command(Verb.DODGE, 0.0, -1.0)
        return Command(Verb.ROLL, 1.0 if me.x < 0 else -1.0)

    def _plan_wavedash(self, me: Fighter, foe: Fighter) -> Command:
        self._wavedash = True
        self._plan_frames_left = 0
        self._direction = 1.0 if foe.x > me.x else -1.0
        if self._rng.random() < 0.3 and abs(me.x) < me.stage.edge - 30:
            self._direction = -self._direction
        return Command(Verb.SHORT_HOP)

    def _plan_grab(self, me: Fighter, foe: Fighter) -> Command:
        ahead = foe.x - me.x
        if abs(ahead) < _CLOSE and abs(foe.y - me.y) < 8 and ahead * me.facing >= -2:
            self._plan_frames_left = 0
            return Command(Verb.GRAB)
        return self._run_to(me, foe)

    def _plan_poke(self, me: Fighter, foe: Fighter) -> Command:
        """Attack on the spot if an attack reaches, else get closer."""
        ahead = (foe.x - me.x) * me.facing
        if ahead < 0:
            return Command(Verb.WALK, 0.5 if foe.x > me.x else -0.5)
        kills = foe.percent > _KILL_PERCENT
        choices = {"fsmash": 4, "usmash": 4, "dsmash": 2} if kills else {"dtilt": 4, "ftilt": 3, "utilt": 3, "jab": 2}
        names = [name for name in choices if self._reaches(me, name, foe)]
        if not names:
            return self._run_to(me, foe) if ahead > _CLOSE else self._leap(me, foe)
        self._plan_frames_left = 0
        return Command(Verb.ATTACK, move=self._rng.choices(names, [choices[name] for name in names])[0])

    def _plan_approach(self, me: Fighter, foe: Fighter) -> Command:
        reach = me.character.run * 9 + 14
        if abs(foe.x - me.x) > reach:
            return self._run_to(me, foe)
        self._plan_frames_left = 0
        if foe.percent > _KILL_PERCENT and self._rng.random() < 0.6:
            return self._plan_poke(me, foe)
        if me.state in (states.DASH, states.RUN) and abs(foe.y - me.y) < 6 and self._rng.random() < 0.12:
            return Command(Verb.ATTACK, move="dash")
        return self._leap(me, foe)

    def _plan_follow(self, me: Fighter, foe: Fighter) -> Command:
        """Move to the expected position of a stunned or lying opponent, and hit again."""
        self._plan_frames_left = 0
        ahead = foe.x + (foe.speed_x + foe.knock_x) * 6 - me.x
        above = foe.y - me.y
        if foe.percent > _KILL_PERCENT and above < 25 and abs(ahead) < 18 and self._reaches(me, "usmash", foe):
            return Command(Verb.ATTACK, move="usmash")
        if above < 8 and abs(ahead) < _CLOSE and foe.grounded and self._rng.random() < 0.3:
            return Command(Verb.GRAB)
        for name in ("utilt", "ftilt", "dtilt"):
            if self._reaches(me, name, foe) and self._rng.random() < 0.35:
                return Command(Verb.ATTACK, move=name)
        if abs(ahead) < 30 and above < 60:
            return self._leap(me, foe)
        return self._run_to(me, foe)

    def _plan_edge(self, me: Fighter, foe: Fighter) -> Command:
        """Wait at the edge for an opponent who has to recover."""
        post = math.copysign(me.stage.edge - 22, foe.x)
        if abs(me.x - post) > 8:
            return Command(Verb.DASH, 1.0 if post > me.x else -1.0)
        toward = math.copysign(1.0, foe.x)
        if me.facing != toward:
            return Command(Verb.WALK, toward * 0.4)
        if self._reaches(me, "fsmash", foe) and self._rng.random() < 0.3:
            return Command(Verb.ATTACK, move="fsmash" if foe.percent > 60 else "ftilt")
        return REST

    def _run_to(self, me: Fighter, foe: Fighter) -> Command:
        if abs(foe.x - me.x) < 5:
            return self._leap(me, foe) if foe.y > me.y + 10 else REST
        return Command(Verb.DASH, 1.0 if foe.x > me.x else -1.0)

    def _leap(self, me: Fighter, foe: Fighter) -> Command:
        above, ahead = foe.y - me.y, (foe.x - me.x) * me.facing
        if above < -10 and me.ground_id != me.stage.floor.ground_id:
            return Command(Verb.DROP, 0.0, -1.0)
        if above > 18:
            self._aerial = "uair"
        elif ahead < 0:
            self._aerial = "bair"
        else:
            self._aerial = self._rng.choices(("nair", "fair", "dair"), (5, 4, 2))[0]
        toward = 1.0 if foe.x > me.x else -1.0
        return Command(Verb.JUMP if above > 14 else Verb.SHORT_HOP, toward)

    def _reaches(self, me: Fighter, name: str, foe: Fighter) -> bool:
        move = me.character.moves[name]
        expected_x = foe.x + (foe.speed_x + foe.knock_x) * move.first * 0.6
        ahead = (expected_x - me.x) * me.facing
        return move.back - 4 <= ahead <= move.front + 4 and move.low - 12 <= foe.y - me.y <= move.high

    _PLANS: ClassVar[dict[str, Callable[[Bot, Fighter, Fighter], Command]]] = {
        "wait": _plan_wait,
        "dance": _plan_dance,
        "retreat": _plan_retreat,
        "laser": _plan_laser,
        "shield": _plan_shield,
        "dodge": _plan_dodge,
        "wavedash": _plan_wavedash,
        "grab": _plan_grab,
        "poke": _plan_poke,
        "approach": _plan_approach,
        "follow": _plan_follow,
        "edge": _plan_edge,
    }

    def _jump_squat(self, me: Fighter, foe: Fighter | None) -> Command:
        x = self._direction if self._wavedash else (0.0 if foe is None else math.copysign(1.0, foe.x - me.x))
        return Command(Verb.SHORT_HOP, x)

    def _air(self, me: Fighter, foe: Fighter | None) -> Command:
        if me.offstage or (abs(me.x) > me.stage.edge - 2 and me.y < 0):
            return self._return_to_stage(me)
        if self._wavedash:
            self._wavedash = False
            return Command(Verb.AIR_DODGE, self._direction * 0.9, -0.45)
        if foe is None or foe.offstage:
            return Command(Verb.REST, -0.6 if me.x > 0 else 0.6)
        if self._plan == "laser" and self._shoots and me.speed_y < 0.5:
            self._plan = "wait"
            return Command(Verb.LASER)
        return self._fight_in_air(me, foe)

    def _fight_in_air(self, me: Fighter, foe: Fighter) -> Command:
        toward = math.copysign(1.0, foe.x - me.x)
        name = self._best_aerial(me, foe)
        if name and (name == self._aerial or self._rng.random() < 0.25):
            self._aerial = ""
            self._l_cancels = self._rng.random() < _L_CANCEL_PROBABILITY
            return Command(Verb.ATTACK, toward, move=name)
        above = foe.y - me.y
        if above > 25 and me.speed_y < 0.5 and me.jumps and foe.mode is Mode.STUN and self._rng.random() < 0.3:
            self._aerial = "uair"
            return Command(Verb.DOUBLE_JUMP, toward)
        if me.speed_y < 0 and above < -12:
            return Command(Verb.DROP if above < -20 else Verb.FAST_FALL, toward, -1.0)
        return Command(Verb.REST, toward)

    def _best_aerial(self, me: Fighter, foe: Fighter) -> str:
        """The planned aerial if it reaches, else a random one that does; empty without any."""
        names = [name for name in _AERIALS if self._reaches(me, name, foe)]
        if self._aerial in names:
            return self._aerial
        return self._rng.choice(names) if names else ""

    def _return_to_stage(self, me: Fighter) -> Command:
        inward = -1.0 if me.x > 0 else 1.0
        beyond = abs(me.x) - me.stage.edge
        if me.speed_y < 0 and me.y < -8 + max(0.0, beyond) * 0.25:
            if me.jumps:
                return Command(Verb.DOUBLE_JUMP, inward)
            far = me.y < -18 - me.character.recovery.speed * 4 or beyond > 40
            if far and self._rng.random() < 0.12:
                return Command(Verb.RECOVER, *self._toward_ledge(me))
        return Command(Verb.REST, inward)

    def _recovering(self, me: Fighter, foe: Fighter | None) -> Command:
        return Command(Verb.REST, *self._toward_ledge(me))

    def _toward_ledge(self, me: Fighter) -> tuple[float, float]:
        """The stick direction toward a point above the nearer ledge."""
        side = 1.0 if me.x > 0 else -1.0
        x, y = side * (me.stage.edge + 3) - me.x, 6 - me.y
        length = math.hypot(x, y) or 1.0
        return x / length, y / length

    def _attacking(self, me: Fighter, foe: Fighter | None) -> Command:
        toward = 0.0 if foe is None else math.copysign(1.0, foe.x - me.x)
        if me.offstage:
            toward = -1.0 if me.x > 0 else 1.0
        falling = me.speed_y < 0
        if self._l_cancels and falling and self._lands_within(me, 5):
            self._l_cancels = False
            return Command(Verb.L_CANCEL, toward)
        if falling and not me.fast_falling and not me.offstage and me.age > 6:
            return Command(Verb.FAST_FALL, toward, -1.0)
        return Command(Verb.REST, toward)

    def _lands_within(self, me: Fighter, frames: int) -> bool:
        drop = -(me.speed_y + me.knock_y) * frames
        heights = [me.stage.floor.y, *(p.y for p in me.stage.platforms if p.left <= me.x <= p.right)]
        return any(0 <= me.y - height <= drop for height in heights)

    def _helpless(self, me: Fighter, foe: Fighter | None) -> Command:
        return Command(Verb.REST, -1.0 if me.x > 0 else 1.0)

    def _shielding(self, me: Fighter, foe: Fighter | None) -> Command:
        self._plan_frames_left -= 1
        if self._plan_frames_left > 0 and me.shield > 20:
            return Command(Verb.SHIELD)
        choice = self._rng.random()
        if foe is not None and abs(foe.x - me.x) < _CLOSE and choice < 0.35:
            return Command(Verb.GRAB)
        if choice < 0.55:
            self._wavedash = self._rng.random() < 0.5
            return Command(Verb.SHORT_HOP)
        if choice < 0.75:
            return Command(Verb.ROLL, 1.0 if me.x < 0 else -1.0)
        return Command(Verb.DODGE, 0.0, -1.0) if choice < 0.82 else REST

    def _stunned(self, me: Fighter, foe: Fighter | None) -> Command:
        if me.age == 0:
            self._direction = self._rng.choice((-1.0, 1.0))
        if me.tumbles and not me.grounded and self._lands_within(me, 3):
            return self._tech()
        return Command(Verb.REST, self._direction * 0.7, 0.5)

    def _tumbling(self, me: Fighter, foe: Fighter | None) -> Command:
        if me.offstage:
            return self._return_to_stage(me)
        if self._lands_within(me, 3):
            return self._tech()
        if me.jumps and self._rng.random() < 0.03:
            return Command(Verb.DOUBLE_JUMP, -1.0 if me.x > 0 else 1.0)
        return Command(Verb.REST, -0.6 if me.x > 0 else 0.6)

    def _tech(self) -> Command:
        # Decided every frame, because only a press in the frame of the landing counts.
        if self._rng.random() < _TECH_PROBABILITY:
            return Command(Verb.TECH, self._rng.choice((0.0, 0.0, -1.0, 1.0)))
        return REST

    def _lying(self, me: Fighter, foe: Fighter | None) -> Command:
        if self._rng.random() < 0.12:
            return Command(Verb.GET_UP, self._rng.choice((0.0, -1.0, 1.0)))
        return REST

    def _hanging(self, me: Fighter, foe: Fighter | None) -> Command:
        if self._rng.random() > 0.12:
            return REST
        return Command(self._rng.choices((Verb.CLIMB, Verb.ROLL, Verb.JUMP), (4, 2, 4))[0], me.facing)

    def _holding(self, me: Fighter, foe: Fighter | None) -> Command:
        if me.state != states.CATCH_WAIT or self._rng.random() < 0.7:
            return REST
        victim = me.victim
        if victim is not None and victim.percent < 60 and self._rng.random() < 0.35:
            return Command(Verb.THROW, move="pummel")
        return Command(Verb.THROW, move=self._rng.choices(("fthrow", "bthrow", "uthrow", "dthrow"), (3, 2, 5, 3))[0])

    def _reborn(self, me: Fighter, foe: Fighter | None) -> Command:
        if me.state == states.REBIRTH_WAIT and self._rng.random() < 0.03:
            return Command(Verb.DROP, 0.0, -1.0)
        return REST

    _DECIDE: ClassVar[dict[Mode, Callable[[Bot, Fighter, Fighter | None], Command]]] = {
        Mode.GROUND: _ground,
        Mode.KNEE_BEND: _jump_squat,
        Mode.AIR: _air,
        Mode.BUSY_AIR: _attacking,
        Mode.RECOVERY: _recovering,
        Mode.HELPLESS: _helpless,
        Mode.SHIELD: _shielding,
        Mode.STUN: _stunned,
        Mode.TUMBLE: _tumbling,
        Mode.DOWN: _lying,
        Mode.LEDGE: _hanging,
        Mode.HOLD: _holding,
        Mode.REBIRTH: _reborn,
    }
