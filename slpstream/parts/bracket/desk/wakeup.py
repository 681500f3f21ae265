"""A flag that is set by other tasks, and that one task waits for."""

from __future__ import annotations

import trio


class Wakeup:
    """Like a `trio.Event`, but it's also possible to clear it."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def set(self) -> None:
        """Set the flag, which wakes the waiting task."""
        self._event.set()

    def clear(self) -> None:
        """Clear the flag.

        You should do this before you look for work. If more work arrives in the meantime, the flag is then set again.
        """
        self._event = trio.Event()

    async def wait(self) -> None:
        """Wait until the flag is set."""
        await self._event.wait()
