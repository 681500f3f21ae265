"""How unlikely findings are by chance, the words for it, and the order of findings. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from slpstream.model.controller_report import MAX_EVIDENCE_FRAMES, Confidence, ControllerFinding

_NATS: Sequence[tuple[float, Confidence]] = (
    (math.log(100_000), "high"),
    (math.log(1_000), "medium"),
    (math.log(100), "low"),
)
"""How unlikely chance has to be for each word. A weekend has some 5,000 games of two players with seven checks each. An
event with a chance of 1 in 100,000 is expected less than once there; one with 1 in 100 is common."""
_MAX_NATS = math.log(1e12)


def confidence_of(nats: float) -> Confidence | None:
    """The word for the negative natural logarithm of a probability by chance; `None` for a likely event."""
    return next((word for bound, word in _NATS if nats >= bound), None)


def poisson_nats(count: int, mean: float) -> float:
    """The negative natural logarithm of the probability of `count` or more events if `mean` are expected."""
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
    """The negative natural logarithm of the probability of `count` or fewer events if `mean` are expected."""
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
