"""Callbacks for what the server's owner counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Observer(NamedTuple):
    """Called as things happen. The callbacks return at once."""

    on_request: Callable[[int], None]
    """An HTTP request was answered with this status."""
    on_lagged: Callable[[], None]
    """A conflating subscriber missed a message."""
    on_closed: Callable[[int], None]
    """The server closed a websocket with this code."""
    on_dropped: Callable[[str], None]
    """A connection was dropped without a response or a close code, for one of `system.metrics.DROP_REASONS`."""
