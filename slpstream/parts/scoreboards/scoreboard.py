"""Keep one scoreboard up to date. This updates it when the board changes and, if that fails, again until it works."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Literal

import trio

from slpstream.model.errors import SinkError
from slpstream.parts.scoreboards.board import Board
from slpstream.parts.scoreboards.followed_station import FollowedStation
from slpstream.system.logs import get_logger

Outcome = Literal["updated", "failed"]
Update = Callable[[Board | None], Awaitable[bool]]
"""Makes a scoreboard show a board, or leaves it as it is for `None`. Returns whether there was anything to change.

Called again with the same board, it writes any missing values. Raises `SinkError`."""

RETRY_SECONDS = 2.0
_COLLECT_SECONDS = 0.1


class Scoreboard:
    """One scoreboard. You should call `run` in exactly one task. If a bug has ended it, call it again."""

    def __init__(
        self,
        name: str,
        followed: FollowedStation,
        update: Update,
        *,
        check_seconds: float = math.inf,
        on_outcome: Callable[[Outcome], None] = lambda outcome: None,
    ) -> None:
        """`name` is used for logs and metrics. `on_outcome` is called when an update has changed something, and when
        one has failed.

        `check_seconds` is how often we call `update` even if nothing has changed, to find out whether someone has
        started the tool again.
        """
        self.name = name
        self._followed = followed
        self._update = update
        self._check_seconds = check_seconds
        self._on_outcome = on_outcome
        self.trouble: str | None = None
        """Why the scoreboard cannot be updated, or `None` while it can."""
        self._log = get_logger()

    async def run(self) -> None:
        """Keep the scoreboard up to date until cancelled."""
        while True:
            board = self._followed.board
            try:
                changed = await self._update(board)
            except SinkError as error:
                self._failed(error.what)
                await trio.sleep(RETRY_SECONDS)
                continue
            self._worked(changed=changed)
            if self._followed.board is board:
                with trio.move_on_after(self._check_seconds):
                    await self._followed.changed()
                await trio.sleep(_COLLECT_SECONDS)

    def _failed(self, what: str) -> None:
        if self.trouble is None:
            self._log.error("scoreboard cannot be updated; trying again", scoreboard=self.name, what=what)
        self.trouble = what
        self._on_outcome("failed")

    def _worked(self, *, changed: bool) -> None:
        if self.trouble is not None:
            self._log.info("scoreboard is updated again", scoreboard=self.name)
        self.trouble = None
        if changed:
            self._on_outcome("updated")
