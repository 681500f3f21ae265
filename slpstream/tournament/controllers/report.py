"""Reports of the controller check: findings with evidence, and what cannot be judged and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

Confidence = Literal["low", "medium", "high"]
Group = Literal["health", "legality"]
ControllerType = Literal["box", "analog", "unclear", "unknown"]

MAX_EVIDENCE_FRAMES = 12
"""A finding names at most this many frames; `count` has their number."""
_NATS: Sequence[tuple[float, Confidence]] = (
    (math.log(100_000), "high"),
    (math.log(1_000), "medium"),
    (math.log(100), "low"),
)
"""How unlikely chance has to be for each word. A weekend has some 5,000 games of two players with seven checks each, so
that something that happens by chance once in 100,000 times is expected less than once; 1 in 100 is seen all day."""
_MAX_NATS = math.log(1e12)


class ControllerFinding(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Something about a controller that people should look at."""

    check: str
    """The check, one of `HEALTH_CHECKS` or `LEGALITY_CHECKS`."""
    group: Group
    part: str
    """The part of the controller: `stick`, `C-stick`, `left trigger`, `button Y`, ..."""
    confidence: Confidence
    text: str
    """One sentence for people."""
    basis: str
    """The number that the confidence comes from, in words."""
    score: float
    """That number. Its unit depends on the check."""
    count: int
    """How many times it was seen."""
    frames: list[int]
    """The first frames that show it, at most `MAX_EVIDENCE_FRAMES`."""


class NotJudged(msgspec.Struct, frozen=True, rename="camel"):
    """A check without a result for this player, and why."""

    check: str
    reason: str


class PlayerControls(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The check of one player's controller in one game."""

    player_index: int
    port: int
    controller: ControllerType
    controller_basis: str
    """The reasons for the type."""
    frames: int
    """How many final frames the player has."""
    findings: list[ControllerFinding]
    """Those of high confidence first."""
    not_judged: list[NotJudged]


class ControllerReport(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The check of all controllers of one game."""

    players: list[PlayerControls]
    last_frame: int | None
    """The last final frame that was looked at."""


def confidence_of(nats: float) -> Confidence | None:
    """The word for how unlikely something is by chance, as minus the natural logarithm of that probability; `None` if
    it is not worth a word."""
    return next((word for bound, word in _NATS if nats >= bound), None)


def poisson_nats(count: int, mean: float) -> float:
    """How unlikely `count` or more events are if `mean` are expected, in nats."""
    if count <= mean:
        return 0.0
    term = math.exp(-mean + count * math.log(mean) - math.lgamma(count + 1)) if mean > 0 else 0.0
    tail, k = term, count
    while term > tail * 1e-12 and term > 0:
        k += 1
        term *= mean / k
        tail += term
    return min(-math.log(tail), _MAX_NATS) if tail > 0 else _MAX_NATS


def shortage_nats(count: int, mean: float) -> float:
    """How unlikely `count` or fewer events are if `mean` are expected, in nats."""
    if count >= mean:
        return 0.0
    logarithms = [-mean + k * math.log(mean) - math.lgamma(k + 1) for k in range(count + 1)]
    top = max(logarithms)
    return min(-(top + math.log(sum(math.exp(each - top) for each in logarithms))), _MAX_NATS)


def chance(nats: float) -> str:
    """A probability in words, from its negative natural logarithm."""
    return f"1 in {math.exp(min(nats, _MAX_NATS)):,.0f}" if nats < _MAX_NATS else "less than 1 in 1,000,000,000,000"


def at_most(confidence: Confidence, limit: Confidence) -> Confidence:
    """The weaker of two words."""
    order: Sequence[Confidence] = ("low", "medium", "high")
    return order[min(order.index(confidence), order.index(limit))]


def evidence(frames: Iterable[int]) -> list[int]:
    """The first frames of a finding's evidence, in order."""
    return sorted(set(frames))[:MAX_EVIDENCE_FRAMES]


def strongest(findings: Iterable[ControllerFinding]) -> list[ControllerFinding]:
    """The findings in the order in which people should look at them."""
    order = {"high": 0, "medium": 1, "low": 2}
    return sorted(findings, key=lambda each: (order[each.confidence], each.check, each.part))
