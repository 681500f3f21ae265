"""Checks for inputs that the rules for boxes forbid: fast SDI, uptilts out of a crouch, and some points of the
C-stick.
"""

from __future__ import annotations

from slpstream.model.controller_report import MAX_EVIDENCE_FRAMES, Confidence, ControllerFinding, NotJudged
from slpstream.parts.controllers.confidence import chance, confidence_of, evidence, poisson_nats
from slpstream.parts.controllers.runs import DEAD_ZONE, FULL, Run

_FULL_INPUT = 56
"""This is 0.7 of a full push, at which the game recognises an SDI input."""
_PARTIAL, _NEUTRAL = -1, 0
_CARDINAL = {(1, 0): 1, (0, 1): 3, (-1, 0): 5, (0, -1): 7}
_DIAGONAL = {(1, 1): 2, (-1, 1): 4, (-1, -1): 6, (1, -1): 8}
_REPEAT_FRAMES = 4
"""The rules slow down repeats within 5.5 frames. Within 4 frames, it doesn't matter how you count frames."""
_SDI_PER_GAME = 3.0
"""Legal boxes show accidental repeats, but not more than three in any of the labelled games."""
_GAME_FRAMES = 10_000
"""The usual length of a game. In longer games, proportionally more accidents are allowed, but in shorter ones just as
many."""
_CROUCH, _UPTILT = 0x28, 0x38
_UPTILT_FRAMES = 3
_UPTILTS_PER_GAME = 0.1
"""A box that follows the rules turns it into a jump. We allow for one in ten games with an uptilt that was timed by
chance or misread."""
_C_POINTS = frozenset({53, 64})
"""0.6625 and 0.8 of 80. We only know the rule for the right side, but a firmware that has these points mirrors them."""
_C_WORDS: tuple[tuple[int, Confidence], ...] = ((4, "medium"), (1, "low"))


def _zone(x: int, y: int) -> int:
    """Return the zone of a point.

    This is 0 in the dead zone, 1 to 8 for a full input in one of the eight directions, and -1 for a partial input.
    """
    across = (0 if abs(x) < DEAD_ZONE else 1 if x > 0 else -1, 0 if abs(y) < DEAD_ZONE else 1 if y > 0 else -1)
    if across == (0, 0):
        return _NEUTRAL
    if x * x + y * y < _FULL_INPUT * _FULL_INPUT:
        return _PARTIAL
    return _CARDINAL[across] if across in _CARDINAL else _DIAGONAL[across]


class Sdi:
    """Finds directions that are repeated faster than the rules allow."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int]] = []
        """The last three zones that the stick has entered, with their frames."""
        self._left: dict[int, int] = {}
        """The last frame in each diagonal."""
        self._opposite: dict[int, bool] = {}
        """Whether the stick has entered another diagonal since then."""
        self._zone = _NEUTRAL
        self._count = self._frames = 0
        self._evidence: list[int] = []

    def take(self, run: Run) -> None:
        """Add the next run of the stick."""
        self._frames += run.frames
        if not run.follows:
            self._entries, self._left, self._opposite, self._zone = [], {}, {}, _NEUTRAL
        zone = _zone(run.x, run.y)
        if zone == _PARTIAL:
            self._zone = zone
            return
        if not self._entries or zone != self._entries[-1][1]:
            self._entries = [*self._entries[-2:], (run.first, zone)]
            if self._repeats():
                self._note(run.first)
        if zone in self._DIAGONALS:
            left = self._left.get(zone)
            if (
                zone != self._zone
                and left is not None
                and run.first - left - 1 <= _REPEAT_FRAMES
                and self._opposite.get(zone)
            ):
                self._note(run.first)
            self._left[zone] = run.first + run.frames - 1
            self._opposite[zone] = False
            for other in self._left:
                if (other - zone) % 8 in (2, 6):
                    self._opposite[other] = True
        self._zone = zone

    _DIAGONALS = frozenset(_DIAGONAL.values())

    def _repeats(self) -> bool:
        """Whether the last zone was entered again within a few frames.

        In between, the stick must have been in the centre or, for a diagonal, in a neighbouring cardinal direction.
        """
        if len(self._entries) < 3:
            return False
        (first, zone), (_, between), (last, again) = self._entries
        if zone != again or zone == _NEUTRAL or last - first > _REPEAT_FRAMES:
            return False
        return between == _NEUTRAL or (zone in self._DIAGONALS and (zone - between) % 8 in (1, 7))

    def _note(self, frame: int) -> None:
        self._count += 1
        if len(self._evidence) < MAX_EVIDENCE_FRAMES:
            self._evidence.append(frame)

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far, for boxes."""
        nats = poisson_nats(self._count, _SDI_PER_GAME * max(1.0, self._frames / _GAME_FRAMES))
        word = confidence_of(nats)
        if word is None:
            return []
        return [
            ControllerFinding(
                check="sdi",
                group="legality",
                part="stick",
                confidence=word,
                text=f"The same direction is repeated within {_REPEAT_FRAMES} frames, {self._count} times.",
                basis=f"{chance(nats)} if {_SDI_PER_GAME:.0f} a game happen by accident",
                score=float(self._count),
                count=self._count,
                frames=evidence(self._evidence),
            )
        ]


class CrouchUptilts:
    """Finds uptilts right after a crouch."""

    def __init__(self) -> None:
        self._crouched: int | None = None
        """The newest frame in a crouch."""
        self._action: int | None = None
        self._count = self._frames = 0
        self._evidence: list[int] = []

    def take(self, number: int, action: int) -> None:
        """Add the action state of one frame."""
        self._frames += 1
        if action == _CROUCH:
            self._crouched = number
        elif (
            action == _UPTILT
            and self._action != _UPTILT
            and self._crouched is not None
            and number - self._crouched <= _UPTILT_FRAMES
        ):
            self._count += 1
            if len(self._evidence) < MAX_EVIDENCE_FRAMES:
                self._evidence.append(number)
        self._action = action

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far, for boxes."""
        nats = poisson_nats(self._count, _UPTILTS_PER_GAME * max(1.0, self._frames / _GAME_FRAMES))
        word = confidence_of(nats)
        if word is None:
            return []
        return [
            ControllerFinding(
                check="crouch_uptilt",
                group="legality",
                part="stick",
                confidence=word,
                text=f"An uptilt comes within {_UPTILT_FRAMES} frames of a crouch, {self._count} times.",
                basis=f"{chance(nats)} if one in ten games has one by accident",
                score=float(self._count),
                count=self._count,
                frames=evidence(self._evidence),
            )
        ]


class CStick:
    """Finds points of the C-stick that boxes must not have."""

    def __init__(self) -> None:
        self._point = (0.0, 0.0)
        self._count = 0
        self._evidence: list[int] = []

    def take(self, number: int, x: float, y: float) -> None:
        """Add the processed C-stick of one frame."""
        if (x, y) == self._point:
            return
        self._point = (x, y)
        if -1.0 <= x <= 1.0 and round(abs(x) * FULL) in _C_POINTS:
            self._count += 1
            if len(self._evidence) < MAX_EVIDENCE_FRAMES:
                self._evidence.append(number)

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far, for boxes."""
        word = next((word for least, word in _C_WORDS if self._count >= least), None)
        if word is None:
            return []
        return [
            ControllerFinding(
                check="disallowed_cstick",
                group="legality",
                part="C-stick",
                confidence=word,
                text=f"The C-stick was put at 0.6625 or 0.8 to a side, {self._count} times.",
                basis=f"{self._count} visits; never more than medium, because the rule's list could not be read",
                score=float(self._count),
                count=self._count,
                frames=evidence(self._evidence),
            )
        ]
