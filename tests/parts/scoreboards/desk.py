"""A scoreboard in a double of TournamentStreamHelper that follows one station."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from slpstream.parts.scoreboards.followed_station import FollowedStation
from slpstream.parts.scoreboards.scoreboard import Scoreboard
from slpstream.parts.scoreboards.tournament_stream_helper import CHECK_SECONDS, TournamentStreamHelper
from tests.parts.scoreboards.helper_double import HelperDouble

SETTLED = 4 * CHECK_SECONDS


class Desk:
    """A scoreboard that follows one station."""

    def __init__(self, double: HelperDouble) -> None:
        self.followed = FollowedStation("main")
        helper = TournamentStreamHelper("http://127.0.0.1:5000", double.number, send=double)
        self.outcomes: list[str] = []
        self.board = Scoreboard(
            "tsh", self.followed, helper.update, check_seconds=CHECK_SECONDS, on_outcome=self.outcomes.append
        )

    async def show(self, payload: dict[str, Any]) -> None:
        """Publish a set, and wait until everything has happened."""
        self.followed.set_changed("main", payload)
        await trio.sleep(SETTLED)


@asynccontextmanager
async def desk(double: HelperDouble) -> AsyncIterator[Desk]:
    async with trio.open_nursery() as nursery:
        here = Desk(double)
        nursery.start_soon(here.board.run)
        yield here
        nursery.cancel_scope.cancel()
