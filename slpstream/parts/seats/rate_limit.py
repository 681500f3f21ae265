"""Limit how many requests there can be. There's a token bucket for each key, and a limit for the number of keys."""

from __future__ import annotations

from collections import OrderedDict

_MAX_KEYS = 4096


class RateLimit:
    """For each key, allows `burst` acts in a row, and on average `per_minute` of them."""

    def __init__(self, per_minute: float, burst: int) -> None:
        self._per_second = per_minute / 60
        self._burst = burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Acts left and the time of that count, by key, the least recently used key first."""

    def allows(self, key: str, now_seconds: float) -> bool:
        """Whether another act is allowed now. If it is, it is counted."""
        left, at_seconds = self._left.pop(key, (float(self._burst), now_seconds))
        left = min(self._burst, left + (now_seconds - at_seconds) * self._per_second)
        allowed = left >= 1
        self._left[key] = (left - 1 if allowed else left, now_seconds)
        if len(self._left) > _MAX_KEYS:
            self._left.popitem(last=False)
        return allowed
