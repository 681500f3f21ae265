"""A flag that one task waits for and others set."""

from __future__ import annotations

import trio


class Wakeup:
    """A `trio.Event` that can be cleared."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def set(self) -> None:
        """Set the flag, which wakes the waiting task."""
        self._event.set()

    def clear(self) -> None:
        """Clear the flag. Call it before looking for work, so that work that arrives meanwhile sets it again."""
        self._event = trio.Event()

    async def wait(self) -> None:
        """Wait until the flag is set."""
        await self._event.wait()
