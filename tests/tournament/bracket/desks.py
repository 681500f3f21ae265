"""A running desk with one set between Alice and Bob."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from slpstream.store.reports import ReportStore
from slpstream.tournament.bracket.desk import BracketDesk, StationSet, Surroundings, Wishes
from slpstream.tournament.bracket.interface import BracketSet
from slpstream.tournament.bracket.queue import Rules
from slpstream.tournament.bracket.startgg.client import StartggBracket
from tests.tournament.bracket.startgg_double import DoubleSet, Entrant, Player, StartggDouble
from tests.tournament.bracket.venue import PlayedGame, set_payload
from tests.virtual_time import now

ALICE, BOB = Player("Alice", "TSM"), Player("Bob", code="BOB#123")
KEY = ("setup-1", "a" * 32)
NAMES = {f"setup-{number}": f"Setup {number}" for number in (1, 2, 3)}


def wishes(*, dry_run: bool = False, confirm: bool = False, hold_seconds: float = 0.0, **more: Any) -> Wishes:
    """The configuration of a desk that reports automatically and immediately, unless overridden."""
    return Wishes(dry_run=dry_run, rules=Rules(confirm=confirm), hold_seconds=hold_seconds, **more)


def event(**changes: Any) -> StartggDouble:
    """An event with one set between Bob and Alice, whose winner reaches the final."""
    double = StartggDouble(now)
    double.stations[501] = (1, "Setup 1")
    double.add(DoubleSet("final", "preview_4_2", 4, [None, None], round="Final"))
    one = DoubleSet("one", "preview_4_1", 4, [Entrant(11, [BOB]), Entrant(12, [ALICE])], feeds=[("final", 0)])
    for name, value in changes.items():
        setattr(one, name, value)
    double.add(one)
    return double


def games(winners: str) -> list[PlayedGame]:
    return [PlayedGame(random.Random(number), int(winner)) for number, winner in enumerate(winners)]


def played(winners: str, *, named: bool = True, best_of: int = 3) -> dict[str, Any]:
    """The set between Alice, the first side, and Bob."""
    return set_payload(KEY[1], [[ALICE], [BOB]], games(winners), best_of=best_of, named=named)


@asynccontextmanager
async def running_desk(
    kind: str,
    reporting: Any,
    reading: StartggBracket | None,
    folder: Path,
    *,
    names: Mapping[str, str] = NAMES,
    history: Callable[[str | None, int], Sequence[StationSet]] = lambda station, since_ms: (),
    describe: Callable[[str, str, BracketSet], Any] | None = None,
    damaged: bool = False,
    settle_seconds: float = 20.0,
    **wished: Any,
) -> AsyncIterator[BracketDesk]:
    """A running desk with the configuration `wished`. `history` returns the sets of stations since a time.

    The block begins after the desk has had time to read the bracket.
    """

    async def sets_since(station: str | None, since_ms: int) -> Sequence[StationSet]:
        await trio.lowlevel.checkpoint()
        return history(station, since_ms)

    store = ReportStore(folder / "reports.sqlite3")
    around = Surroundings(lambda: names, sets_since, describe)
    desk = BracketDesk(kind, reporting, reading, store, wishes(**wished), around, wall_clock=now, damaged=damaged)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.run)
        await trio.sleep(settle_seconds)
        yield desk
        nursery.cancel_scope.cancel()
    store.close()


@asynccontextmanager
async def running(
    double: StartggDouble, folder: Path, *, token: str = "a-token", **options: Any
) -> AsyncIterator[BracketDesk]:
    """A running desk for an event of start.gg, with options of `running_desk`."""
    bracket = StartggBracket(double.connection(token=token))
    async with running_desk("start.gg", bracket, bracket, folder, **options) as desk:
        yield desk


async def until(condition: Callable[[], bool], seconds: float = 600) -> None:
    with trio.fail_after(seconds):
        while not condition():
            await trio.sleep(0.5)


async def play(desk: BracketDesk, payload: Mapping[str, Any], station: str = "setup-1") -> None:
    """Play a set whose beginning slpstream has seen."""
    sides = [{**side, "score": 0, "won": 0} for side in payload["sides"]]
    desk.set_changed(station, {**payload, "state": "running", "winner": None, "games": [], "sides": sides})
    await trio.sleep(0.5)
    desk.set_changed(station, payload)


def reports(double: StartggDouble) -> list[Mapping[str, Any]]:
    return [variables for operation, variables in double.requests if operation == "Report"]
