"""The callbacks that tell the owner of the web server about its events, so that they can be counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Observer(NamedTuple):
    """Callbacks for the events of the web server. They must not block."""

    on_request: Callable[[int], None]
    """Called with the status of each HTTP response."""
    on_lagged: Callable[[], None]
    """Called when a conflating subscriber misses a message."""
    on_closed: Callable[[int], None]
    """Called with the close code when the server closes a websocket."""
    on_dropped: Callable[[str], None]
    """Called with one of `system.metrics.DROP_REASONS` when a connection is dropped without a response or a close
    code."""
