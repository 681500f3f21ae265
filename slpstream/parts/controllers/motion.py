"""The motion of a stick.

We use it to find out the type of the controller, and to check boxes for travel time and fuzzing.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from slpstream.model.controller_report import MAX_EVIDENCE_FRAMES, ControllerFinding, ControllerType, NotJudged
from slpstream.parts.controllers.confidence import at_most, chance, confidence_of, evidence
from slpstream.parts.controllers.runs import Run

_MIN_MOVES = 60
_JUMP = 60
"""Three quarters of a push from one frame to the next. Thumbs are rarely that fast, and keys nearly always are."""
_STEP = 3
_BOX_JUMPS, _ANALOG_JUMPS = 0.30, 0.22
"""The lowest share of jumps for a box, and the highest one for an analog stick. The labelled boxes have at least 0.34,
and the labelled analog sticks at most 0.18. The Orca, whose keys are analog, has 0.32 to 0.34."""
_BOX_STEPS = 0.12
"""The highest share of small steps for a box. The labelled boxes have at most 0.06, and the Orca has 0.18."""
_HELD = 2
_FAR = 30
_MAX_DEVIATION = 3
_TRAVEL, _NO_TRAVEL = 0.36, 0.08
"""The share of transitions in which a frame falls into the travel. The first value is for a travel of 6 ms, which is
the minimum of the rules, out of the 16.7 ms of a frame. The second is for a box without travel time, where this comes
from rolled keys (0.00 to 0.07 on the labelled ones)."""
_MIN_TRANSITIONS = 40
_FUZZ_HELD = 3
_FUZZED_EXACT, _UNFUZZED_EXACT = 0.5, 0.95
"""The share of visits that are exactly at the target. This is half of them with fuzzing (1:2:1), and nearly all
without."""
_MIN_FUZZ_EVENTS = 20
_MIN_TARGET_VISITS = 4

Point = tuple[int, int]


class Conclusion(NamedTuple):
    """The type of a controller, and the reason why we think so."""

    controller: ControllerType
    basis: str


class Motion:
    """Counts how a stick moves from frame to frame."""

    def __init__(self) -> None:
        self._point: Point = (0, 0)
        self._moves = self._jumps = self._steps = 0

    def take(self, run: Run) -> None:
        """Add the next run of the stick."""
        if run.follows:
            distance = math.hypot(run.x - self._point[0], run.y - self._point[1])
            self._moves += 1
            self._jumps += distance > _JUMP
            self._steps += distance <= _STEP
        self._point = (run.x, run.y)

    def conclusion(self) -> Conclusion:
        """Return the type of the controller, as far as the moves show it."""
        if self._moves < _MIN_MOVES:
            return Conclusion("unknown", f"the stick has moved in {self._moves} frames; {_MIN_MOVES} are needed")
        jumps, steps = self._jumps / self._moves, self._steps / self._moves
        basis = f"{jumps:.0%} of {self._moves} moves are jumps within one frame, {steps:.0%} are small steps"
        if jumps >= _BOX_JUMPS and steps <= _BOX_STEPS:
            return Conclusion("box", basis)
        if jumps <= _ANALOG_JUMPS:
            return Conclusion("analog", basis)
        return Conclusion("unclear", basis)


class Travel:
    """Measures the share of moves in which a frame shows the stick of a box between two targets."""

    def __init__(self) -> None:
        self._hold: Run | None = None
        self._between: list[Run] = []
        self._held: set[Point] = set()
        self._direct = 0
        self._direct_frames: list[int] = []
        self._middles: Counter[Point] = Counter()

    def take(self, run: Run) -> None:
        """Add the next run of the stick."""
        if not run.follows:
            self._hold, self._between = None, []
        if run.frames < _HELD:
            if len(self._between) < 2:
                self._between.append(run)
            return
        if self._hold is not None and len(self._between) < 2:
            self._note(self._hold, run)
        self._hold, self._between = run, []
        self._held.add((run.x, run.y))

    def _note(self, start: Run, end: Run) -> None:
        dx, dy = end.x - start.x, end.y - start.y
        distance = math.hypot(dx, dy)
        if distance < _FAR:
            return
        if not self._between:
            self._direct += 1
            if len(self._direct_frames) < MAX_EVIDENCE_FRAMES:
                self._direct_frames.append(end.first)
            return
        middle = self._between[0]
        along = ((middle.x - start.x) * dx + (middle.y - start.y) * dy) / distance
        deviation = abs((middle.x - start.x) * dy - (middle.y - start.y) * dx) / distance
        if 0 < along < distance and deviation <= _MAX_DEVIATION:
            self._middles[middle.x, middle.y] += 1

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far, for boxes."""
        # A key that is pressed before another is released shows a third target, which is not travel.
        targets = {(x + i, y + j) for x, y in self._held for i in (-1, 0, 1) for j in (-1, 0, 1)} | {(0, 0)}
        travelled = sum(count for point, count in self._middles.items() if point not in targets)
        transitions = self._direct + travelled
        if transitions < _MIN_TRANSITIONS:
            reason = f"{transitions} transitions from one held point to another; {_MIN_TRANSITIONS} are needed"
            return [NotJudged("travel_time", reason)]
        nats = travelled * math.log(_NO_TRAVEL / _TRAVEL) + self._direct * math.log((1 - _NO_TRAVEL) / (1 - _TRAVEL))
        word = confidence_of(nats)
        if word is None:
            return []
        share = travelled / transitions
        return [
            ControllerFinding(
                check="travel_time",
                group="legality",
                part="stick",
                confidence=word,
                text=f"The stick jumps from target to target: {share:.0%} of the moves show a point in between, and "
                f"{_TRAVEL:.0%} or more are expected with travel time.",
                basis=f"{travelled} of {transitions} transitions; {chance(nats)} for a box with the least travel time",
                score=round(share, 3),
                count=self._direct,
                frames=evidence(self._direct_frames),
            )
        ]


class Fuzzing:
    """Checks whether the targets of a box vary by one unit."""

    def __init__(self) -> None:
        self._held: Counter[Point] = Counter()
        self._first: dict[Point, int] = {}

    def take(self, run: Run) -> None:
        """Add the next run of the stick."""
        if run.frames >= _FUZZ_HELD and (run.x or run.y):
            point = (run.x, run.y)
            self._held[point] += 1
            self._first.setdefault(point, run.first)

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far, for boxes."""
        left = dict(self._held)
        exact = varied = 0
        frames: list[int] = []
        for centre, _ in sorted(self._held.items(), key=lambda item: (-item[1], item[0])):
            if centre not in left:
                continue
            around = [(centre[0] + i, centre[1] + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
            visits = {point: left.pop(point) for point in around if point in left}
            if sum(visits.values()) < _MIN_TARGET_VISITS:
                continue
            frames.append(self._first[centre])
            for axis in (0, 1):
                if centre[axis]:  # zeros are not fuzzed
                    same = sum(count for point, count in visits.items() if point[axis] == centre[axis])
                    exact += same
                    varied += sum(visits.values()) - same
        events = exact + varied
        if events < _MIN_FUZZ_EVENTS:
            return [NotJudged("input_fuzzing", f"{events} visits of targets; {_MIN_FUZZ_EVENTS} are needed")]
        nats = exact * math.log(_UNFUZZED_EXACT / _FUZZED_EXACT)
        nats += varied * math.log((1 - _UNFUZZED_EXACT) / (1 - _FUZZED_EXACT))
        word = confidence_of(nats)
        if word is None:
            return []
        return [
            ControllerFinding(
                check="input_fuzzing",
                group="legality",
                part="stick",
                # A replay that is labelled legal for its SDI lacks fuzzing, too, so this alone proves little.
                confidence=at_most(word, "medium"),
                text=f"The stick's targets are not fuzzed: {exact / events:.0%} of the visits are exactly at the "
                f"target, and {_FUZZED_EXACT:.0%} are expected.",
                basis=f"{exact} of {events} values of held points; {chance(nats)} with fuzzing; never more than medium",
                score=round(exact / events, 3),
                count=exact,
                frames=evidence(frames),
            )
        ]
