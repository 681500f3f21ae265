"""Checks analog sticks for ranges of values that a firmware removes.

If you move a stick by hand, it passes through all values. If a firmware replaces a range of them by a single value,
this leaves a gap. To tell such a gap from chance, we look at how frequent the neighbouring values are.
"""

from __future__ import annotations

from collections import Counter

from slpstream.model.controller_report import MAX_EVIDENCE_FRAMES, ControllerFinding, NotJudged
from slpstream.parts.controllers.confidence import chance, confidence_of, evidence, poisson_nats, shortage_nats
from slpstream.parts.controllers.runs import DEAD_ZONE, Run

_STRIP = 6
"""The values that Goomwave replaces by 0 are between 0 and 0.08, which is 1 to 6 of 80."""
_OTHER = 10
"""The other axis must be at least this far out. Otherwise, every movement through the centre would count."""
_STRIP_SHARE = 0.3
"""How frequent the values of the strip are, relative to the six values next to it. On the labelled controllers without
clamping, this is between 0.30 and 11, and lowest for sticks with snapped cardinals."""
_STRIP_REMAINS = 0.02
_MIN_NEIGHBOURS = 15
_TILT_GAP = range(16, DEAD_ZONE)
_TILT_ABOVE = range(DEAD_ZONE + 1, DEAD_ZONE + 8)
_TILT_BELOW = range(9, 16)
_MIN_PILE = 5
_GAP_SHARE = 0.1
_DIRECTIONS = ("right", "left", "up", "down")
_TILTS = {"right": "to the right", "left": "to the left", "up": "upwards", "down": "downwards"}


class Goomwave:
    """Checks whether values near the axes are missing."""

    def __init__(self) -> None:
        self._inside = self._neighbours = 0
        self._on_axis: list[int] = []

    def take(self, run: Run) -> None:
        """Add the next run of the stick."""
        if not run.follows:
            return
        ax, ay = abs(run.x), abs(run.y)
        for minor, major in ((ax, ay), (ay, ax)):
            if major < _OTHER or minor > 2 * _STRIP:
                continue
            if minor > _STRIP:
                self._neighbours += 1
            elif minor:
                self._inside += 1
            elif major >= DEAD_ZONE and len(self._on_axis) < MAX_EVIDENCE_FRAMES:
                self._on_axis.append(run.first)

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far, for analog sticks."""
        if self._neighbours < _MIN_NEIGHBOURS:
            reason = f"the stick was moved close to an axis {self._neighbours} times; {_MIN_NEIGHBOURS} are needed"
            return [NotJudged("goomwave", reason)]
        nats = shortage_nats(self._inside, _STRIP_SHARE * self._neighbours)
        word = confidence_of(nats)
        if word is None or self._inside > _STRIP_REMAINS * self._neighbours:
            return []
        return [
            ControllerFinding(
                check="goomwave",
                group="legality",
                part="stick",
                confidence=word,
                text=f"Values close to the axes are missing: {self._inside} between 1 and {_STRIP}, and "
                f"{self._neighbours} between {_STRIP + 1} and {2 * _STRIP}.",
                basis=f"{chance(nats)} for a stick with the fewest such values among the legal ones",
                score=round(nats, 1),
                count=self._neighbours,
                frames=evidence(self._on_axis),
            )
        ]


class TiltRounding:
    """Checks whether values just below the edge of the dead zone are rounded up to it, which makes tilts easier to
    hit.
    """

    def __init__(self) -> None:
        self._counts: list[Counter[int]] = [Counter() for _ in _DIRECTIONS]
        self._before = (0, 0, 0, 0)
        self._frames: list[list[int]] = [[] for _ in _DIRECTIONS]

    def take(self, run: Run) -> None:
        """Add the next run of the stick."""
        along = (run.x, -run.x, run.y, -run.y)
        across = (abs(run.y), abs(run.y), abs(run.x), abs(run.x))
        for i in range(4):
            value = along[i]
            if 0 < value < _TILT_ABOVE.stop and across[i] < DEAD_ZONE and value != self._before[i]:
                self._counts[i][value] += 1
                if value == DEAD_ZONE and len(self._frames[i]) < MAX_EVIDENCE_FRAMES:
                    self._frames[i].append(run.first)
        self._before = along

    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far, for analog sticks."""
        found: list[ControllerFinding | NotJudged] = []
        for i, direction in enumerate(_DIRECTIONS):
            counts = self._counts[i]
            pile, gap = counts[DEAD_ZONE], sum(counts[value] for value in _TILT_GAP)
            above, below = (sum(counts[value] for value in values) for values in (_TILT_ABOVE, _TILT_BELOW))
            if pile < _MIN_PILE or gap > _GAP_SHARE * pile:
                continue
            # Either fast tilts pile up at the edge, or slow ones skip the values below it. The factors of 2 allow for
            # slow hands, which stay near the edge of the dead zone.
            piled = poisson_nats(pile, max(1.0, 2 * above / len(_TILT_ABOVE)))
            nats = max(piled, shortage_nats(gap, min(above, below) / 2))
            word = confidence_of(nats)
            if word is None:
                continue
            found.append(
                ControllerFinding(
                    check="tilt_rounding",
                    group="legality",
                    part="stick",
                    confidence=word,
                    text=f"Tilts {_TILTS[direction]} are rounded up: the value {DEAD_ZONE} was met {pile} times, "
                    f"the values {_TILT_GAP.start} to {_TILT_GAP.stop - 1} below it {gap} times.",
                    basis=f"{chance(nats)} by chance, as the {len(_TILT_ABOVE)} values above it were met {above} "
                    f"times, and as many below the gap {below} times",
                    score=round(nats, 1),
                    count=pile,
                    frames=evidence(self._frames[i]),
                )
            )
        return found
