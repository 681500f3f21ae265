"""Waiting for changes, for any number of tasks."""

from __future__ import annotations

import trio


class Changing:
    """Something that tasks can wait for until it changes.

    There is no checkpoint before a task waits. So if it waits right after it has looked, it can't miss a change.
    """

    _changed: trio.Event | None = None

    async def changed(self) -> None:
        """Wait for the next change."""
        if self._changed is None:
            self._changed = trio.Event()
        await self._changed.wait()

    def notify(self) -> None:
        """Wake all tasks that are waiting in `changed`."""
        if self._changed is not None:
            self._changed.set()
            self._changed = None
