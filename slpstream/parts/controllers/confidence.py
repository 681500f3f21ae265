"""How unlikely findings are by chance, the words that we use for this, and the order of findings.

There are no side effects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from slpstream.model.controller_report import MAX_EVIDENCE_FRAMES, Confidence, ControllerFinding

_NATS: Sequence[tuple[float, Confidence]] = (
    (math.log(100_000), "high"),
    (math.log(1_000), "medium"),
    (math.log(100), "low"),
)
"""How unlikely something has to be by chance for each of the words. A weekend has some 5,000 games of two players, with
seven checks each. If the chance of an event is 1 in 100,000, we expect it less than once there, and with 1 in 100, it
is common."""
_MAX_NATS = math.log(1e12)


def confidence_of(nats: float) -> Confidence | None:
    """Return the word for the negative natural logarithm of a probability by chance, or `None` if the event is
    likely.
    """
    return next((word for bound, word in _NATS if nats >= bound), None)


def poisson_nats(count: int, mean: float) -> float:
    """Return the negative natural logarithm of the probability of `count` or more events, if we expect `mean` of
    them.
    """
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
    """Return the negative natural logarithm of the probability of `count` or fewer events, if we expect `mean` of
    them.
    """
    if count >= mean:
        return 0.0
    logarithms = [-mean + k * math.log(mean) - math.lgamma(k + 1) for k in range(count + 1)]
    top = max(logarithms)
    return min(-(top + math.log(sum(math.exp(each - top) for each in logarithms))), _MAX_NATS)


def chance(nats: float) -> str:
    """Return a probability in words, given its negative natural logarithm."""
    return f"1 in {math.exp(min(nats, _MAX_NATS)):,.0f}" if nats < _MAX_NATS else "less than 1 in 1,000,000,000,000"


def at_most(confidence: Confidence, limit: Confidence) -> Confidence:
    """Return the weaker one of two words."""
    order: Sequence[Confidence] = ("low", "medium", "high")
    return order[min(order.index(confidence), order.index(limit))]


def evidence(frames: Iterable[int]) -> list[int]:
    """Return the first frames in the evidence for a finding, in order."""
    return sorted(set(frames))[:MAX_EVIDENCE_FRAMES]


def strongest(findings: Iterable[ControllerFinding]) -> list[ControllerFinding]:
    """Return the findings in the order in which people should look at them."""
    order = {"high": 0, "medium": 1, "low": 2}
    return sorted(findings, key=lambda each: (order[each.confidence], each.check, each.part))
