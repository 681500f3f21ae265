"""Checks the health of a controller: the rest position and the range of its sticks, its triggers and its buttons.

All thresholds are in units of the raw values, where 80 is a full push and 140 is a trigger that is pressed down.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slpstream.model.controller_report import MAX_EVIDENCE_FRAMES, Confidence, ControllerFinding, NotJudged
from slpstream.parts.controllers.confidence import evidence
from slpstream.parts.controllers.runs import FULL, Run

_REST_FRAMES = 20
"""A third of a second within one unit. A hand that holds a stick half way can't keep it that still."""
_REST_RADIUS = 40
"""This is half a push. If a stick rests further out, we can't tell whether a hand is holding it there."""
_SAME = 1
"""A stick at rest may flicker by this much on each axis."""
_AWAY_RADIUS = 56
"""If a stick was this far out (0.7, where full inputs begin) and then rests, it has returned without a hand."""
_MAX_RESTS = 4096
_MIN_RETURNS = 5
_MIN_OFFSET = 6.0
"""In the replays of labelled controllers, sticks rest at most 5 units from the centre. 6 units are 7.5 % of a full
push."""
_NEAR = 3
"""Rests within this distance of each other count as one place."""
_OFFSET_RETURNS: Sequence[tuple[int, float, Confidence]] = ((12, 0.7, "high"), (8, 0.6, "medium"), (0, 0.0, "low"))
"""How often the stick returned to the place, the share of its time at rest that it was there, and the word for both."""
_MIN_DRIFT = 4.0
_DRIFT_FRAMES = 3600
_DRIFT_THIRD = 4
"""Each third of the game needs this many returns."""
_DRIFT_WORDS: Sequence[tuple[float, int, Confidence]] = ((8.0, 8, "high"), (6.0, 6, "medium"), (0.0, 0, "low"))
"""The distance, the number of returns in each third, and the word for both."""
_PUSHED = 60
_STRAIGHT = 25
_LET_GO = 40
_RIM_WORDS: Sequence[tuple[int, Confidence]] = ((40, "high"), (20, "medium"), (10, "low"))
"""How many pushes in a direction there were if none of them reached a full push, and the word for this."""
_RIM_QUANTILE = 0.95
_TRIGGER_FULL = 140
_TRIGGER_FRAMES: Sequence[tuple[int, Confidence]] = ((3600, "high"), (2400, "medium"), (1800, "low"))
"""The number of frames in which a trigger was hardly ever at zero, and the word for this. No player holds a trigger for
half a minute."""
_TRIGGER_ZEROS = 0.01
"""If a trigger is at zero in a smaller share of the frames than this, it is never released. Even the worst labelled
controllers are at zero in 5 % of their frames."""
_MAX_TRIGGER = 2.0
"""Larger values mean that the file is damaged. In the oldest replays, the fields of the triggers are noise."""
_STUTTER_HELD = 8
"""The number of frames for which a button has to be down before and after a stutter. Two presses in 17 frames mean that
the button isn't being mashed. In this case, no finger comes back within a single frame."""
_STUTTER_WORDS: Sequence[tuple[int, Confidence]] = ((6, "high"), (3, "medium"), (2, "low"))
"""The number of stutters of one button in a game, and the word for this. A single one also happens on healthy
controllers."""
_BUTTONS = {
    0x100: "A",
    0x200: "B",
    0x400: "X",
    0x800: "Y",
    0x10: "Z",
    0x40: "L",
    0x20: "R",
    0x1000: "Start",
    0x8: "D-pad up",
    0x4: "D-pad down",
    0x1: "D-pad left",
    0x2: "D-pad right",
}
_DIRECTIONS = ("right", "left", "up", "down")


class _Rest(NamedTuple):
    first: int
    frames: int
    x: int
    y: int


class Rests:
    """Checks where a stick rests after pushes: how far this is from the centre, and whether it drifts."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._rests: list[_Rest] = []
        """The rests that followed a push."""
        self._away = False
        self._first = self._frames = self._x = self._y = 0

    def take(self, run: Run) -> None:
        """Add the next run of the stick."""
        still_rests = self._frames and run.follows and abs(run.x - self._x) <= _SAME and abs(run.y - self._y) <= _SAME
        if still_rests:
            self._frames += run.frames
            return
        if self._frames >= _REST_FRAMES and math.hypot(self._x, self._y) <= _REST_RADIUS and self._away:
            if len(self._rests) < _MAX_RESTS:
                self._rests.append(_Rest(self._first, self._frames, self._x, self._y))
            self._away = False
        if run.radius >= _AWAY_RADIUS:
            self._away = True
        self._first, self._frames, self._x, self._y = run.first, run.frames, run.x, run.y

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far."""
        rests = self._rests
        if len(rests) < _MIN_RETURNS:
            reason = f"the {self._part} has come to rest {len(rests)} times after a push; {_MIN_RETURNS} are needed"
            return [NotJudged("rest", reason), NotJudged("drift", reason)]
        return [*self._offset(), *self._drift()]

    def _offset(self) -> Iterable[ControllerFinding]:
        x, y = _median(self._rests)
        offset = math.hypot(x, y)
        if offset < _MIN_OFFSET:
            return
        there = [rest for rest in self._rests if math.hypot(rest.x - x, rest.y - y) <= _NEAR]
        if not there:  # the median of each axis can lie between the places where the stick rested
            return
        share = sum(rest.frames for rest in there) / sum(rest.frames for rest in self._rests)
        word = next(w for returns, least, w in _OFFSET_RETURNS if len(there) >= returns and share >= least)
        yield ControllerFinding(
            check="rest",
            group="health",
            part=self._part,
            confidence=word,
            text=f"The {self._part} does not rest at the centre: it returns to ({x}, {y}), "
            f"{offset / FULL:.0%} of a full push away.",
            basis=f"{len(there)} of {len(self._rests)} returns end within {_NEAR} units of that point, "
            f"{share:.0%} of the time at rest",
            score=round(offset, 1),
            count=len(there),
            frames=evidence(rest.first for rest in there),
        )

    def _drift(self) -> Iterable[ControllerFinding | NotJudged]:
        rests = self._rests
        third = len(rests) // 3
        if third < _DRIFT_THIRD or rests[-1].first - rests[0].first < _DRIFT_FRAMES:
            yield NotJudged(
                "drift", f"drift needs {3 * _DRIFT_THIRD} returns of the {self._part} within a minute or more"
            )
            return
        parts = rests[:third], rests[third:-third], rests[-third:]
        (x0, y0), (x1, y1), (x2, y2) = places = [_median(part) for part in parts]
        distance = math.hypot(x2 - x0, y2 - y0)
        steady = all(
            sum(math.hypot(r.x - x, r.y - y) <= _NEAR for r in part) >= 0.6 * len(part)
            for part, (x, y) in ((parts[0], places[0]), (parts[2], places[2]))
        )
        between = all(min(a, c) - _NEAR <= b <= max(a, c) + _NEAR for a, b, c in ((x0, x1, x2), (y0, y1, y2)))
        if distance < _MIN_DRIFT or not (steady and between):
            return
        word = next(w for least, returns, w in _DRIFT_WORDS if distance >= least and third >= returns)
        yield ControllerFinding(
            check="drift",
            group="health",
            part=self._part,
            confidence=word,
            text=f"The {self._part} drifts: it returned to ({x0}, {y0}) at first and to ({x2}, {y2}) at the end.",
            basis=f"medians of the first and the last {third} of {len(rests)} returns, {distance:.0f} units apart",
            score=round(distance, 1),
            count=third,
            frames=evidence(rest.first for rest in parts[2]),
        )


def _median(rests: Sequence[_Rest]) -> tuple[int, int]:
    """Return the median of each axis, weighted by the time at rest."""
    half = sum(rest.frames for rest in rests) / 2

    def of(values: Iterable[tuple[int, int]]) -> int:
        passed = 0
        for value, frames in sorted(values):
            passed += frames
            if passed >= half:
                return value
        return 0

    return of((rest.x, rest.frames) for rest in rests), of((rest.y, rest.frames) for rest in rests)


class Rim:
    """Checks the range of a stick in straight pushes."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._peaks: list[Counter[int]] = [Counter() for _ in _DIRECTIONS]
        self._frames: list[list[int]] = [[] for _ in _DIRECTIONS]
        """The first frames of those pushes that stayed below a full push."""
        self._open = [0, 0, 0, 0]
        """The peak of the current push in each direction, or 0 without a push."""
        self._began = [0, 0, 0, 0]
        self._held = [False] * 4

    def take(self, run: Run) -> None:
        """Add the next run of the stick."""
        along = (run.x, -run.x, run.y, -run.y)
        across = (abs(run.y), abs(run.y), abs(run.x), abs(run.x))
        for i in range(4):
            value = along[i]
            if value >= _PUSHED and across[i] <= _STRAIGHT:
                if not self._open[i]:
                    self._began[i] = run.first
                self._open[i] = max(self._open[i], value)
                self._held[i] = self._held[i] or run.frames >= 2
            elif self._open[i] and value < _LET_GO:
                if self._held[i]:
                    self._peaks[i][self._open[i]] += 1
                    if self._open[i] < FULL and len(self._frames[i]) < MAX_EVIDENCE_FRAMES:
                        self._frames[i].append(self._began[i])
                self._open[i], self._held[i] = 0, False

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far."""
        most, least = max(peaks.total() for peaks in self._peaks), _RIM_WORDS[-1][0]
        if most < least:
            reason = f"the {self._part} was pushed straight at most {most} times in a direction; {least} are needed"
            return [NotJudged("rim", reason)]
        found: list[ControllerFinding | NotJudged] = []
        for i, direction in enumerate(_DIRECTIONS):
            pushes = self._peaks[i].total()
            word = next((word for least, word in _RIM_WORDS if pushes >= least), None)
            if word is None:
                continue
            farthest = _quantile(self._peaks[i], _RIM_QUANTILE)
            if farthest >= FULL:
                continue
            found.append(
                ControllerFinding(
                    check="rim",
                    group="health",
                    part=self._part,
                    confidence=word,
                    text=f"The {self._part} does not reach the rim {_to(direction)}: it gets to {farthest} of {FULL}.",
                    basis=f"{_RIM_QUANTILE:.0%} of {pushes} straight pushes stay at or below that",
                    score=float(farthest),
                    count=pushes,
                    frames=evidence(self._frames[i]),
                )
            )
        return found


def _to(direction: str) -> str:
    return {"up": "upwards", "down": "downwards"}.get(direction, f"to the {direction}")


def _quantile(counts: Counter[int], share: float) -> int:
    wanted = share * counts.total()
    passed = 0
    for value in sorted(counts):
        passed += counts[value]
        if passed >= wanted:
            return value
    return 0


class Trigger:
    """Checks whether an analog trigger reaches zero."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._values: Counter[int] = Counter()
        self._first: list[int] = []

    def take(self, number: int, value: float) -> None:
        """Add the value of one frame."""
        if not 0.0 <= value <= _MAX_TRIGGER:  # also ignores NaN
            return
        self._values[round(value * _TRIGGER_FULL)] += 1
        if value and len(self._first) < MAX_EVIDENCE_FRAMES:
            self._first.append(number)

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far."""
        frames = self._values.total()
        word = next((word for least, word in _TRIGGER_FRAMES if frames >= least), None)
        if word is None:
            return [
                NotJudged(
                    "trigger", f"the {self._part} was seen for {frames} frames; {_TRIGGER_FRAMES[-1][0]} are needed"
                )
            ]
        zeros = self._values[0]
        if zeros > _TRIGGER_ZEROS * frames:
            return []
        lowest = min(value for value in self._values if value)
        return [
            ControllerFinding(
                check="trigger",
                group="health",
                part=self._part,
                confidence=word,
                text=f"The {self._part} never reaches zero: it rests at {lowest} or more of {_TRIGGER_FULL}.",
                basis=f"at zero in {zeros} of {frames} frames",
                score=float(lowest),
                count=frames - zeros,
                frames=evidence(self._first),
            )
        ]


class Buttons:
    """Finds buttons that come up for a single frame while they are held."""

    def __init__(self) -> None:
        self._down = 0
        self._next: int | None = None
        self._since: dict[int, int] = {}
        """The frame in which each button last changed."""
        self._before: dict[int, int] = {}
        """For how many frames a button was down before it came up for a frame."""
        self._gaps: dict[int, int] = {}
        """The frame of the gap before the current press of a button."""
        self._stutters: dict[int, list[int]] = {}
        self._counts: Counter[int] = Counter()
        self._presses: Counter[int] = Counter()

    def take(self, number: int, buttons: int) -> None:
        """Add the buttons of one frame."""
        if number != self._next:  # the buttons in missing frames are unknown
            self._down, self._since, self._before, self._gaps = buttons, {}, {}, {}
        self._next = number + 1
        changed = buttons ^ self._down
        if not changed:
            return
        self._down = buttons
        for bit in _BUTTONS:
            if changed & bit:
                self._change(number, bit, went_down=bool(buttons & bit))

    def _change(self, number: int, bit: int, *, went_down: bool) -> None:
        since = self._since.get(bit)
        lasted = 0 if since is None else number - since
        self._since[bit] = number
        if went_down:
            self._presses[bit] += 1
            if lasted == 1 and self._before.get(bit, 0) >= _STUTTER_HELD:
                self._gaps[bit] = number - 1
            return
        if lasted >= _STUTTER_HELD and bit in self._gaps:
            self._counts[bit] += 1
            frames = self._stutters.setdefault(bit, [])
            if len(frames) < MAX_EVIDENCE_FRAMES:
                frames.append(self._gaps[bit])
        self._gaps.pop(bit, None)
        self._before[bit] = lasted

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far."""
        found: list[ControllerFinding | NotJudged] = []
        for bit, count in sorted(self._counts.items()):
            word = next((word for least, word in _STUTTER_WORDS if count >= least), None)
            if word is None:
                continue
            found.append(
                ControllerFinding(
                    check="stutter",
                    group="health",
                    part=f"button {_BUTTONS[bit]}",
                    confidence=word,
                    text=f"Button {_BUTTONS[bit]} stutters: it came up for a single frame while it was held, "
                    f"{count} times.",
                    basis=f"{count} of {self._presses[bit]} presses, each with at least {_STUTTER_HELD} frames down "
                    "before and after",
                    score=float(count),
                    count=count,
                    frames=evidence(self._stutters[bit]),
                )
            )
        return found
