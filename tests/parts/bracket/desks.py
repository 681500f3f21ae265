"""A desk at work on one set of Alice and Bob."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from slpstream.parts.bracket.desk.desk import BracketDesk, Surroundings
from slpstream.parts.bracket.desk.entries import StationSet
from slpstream.parts.bracket.desk.policy import Policy
from slpstream.parts.bracket.interface import BracketSet
from slpstream.parts.bracket.queue import Rules
from slpstream.parts.bracket.reports import ReportStore
from slpstream.parts.bracket.startgg.client import StartggBracket
from tests.parts.bracket.startgg_double import DoubleSet, Entrant, Player, StartggDouble
from tests.parts.bracket.venue import PlayedGame, set_payload
from tests.virtual_time import now

ALICE, BOB = Player("Alice", "TSM"), Player("Bob", code="BOB#123")
KEY = ("setup-1", "a" * 32)
NAMES = {f"setup-{number}": f"Setup {number}" for number in (1, 2, 3)}


def policy(*, dry_run: bool = False, confirm: bool = False, hold_seconds: float = 0.0, **more: Any) -> Policy:
    """The policy of a desk that reports automatically and without delay, unless the arguments change that."""
    return Policy(dry_run=dry_run, rules=Rules(confirm=confirm), hold_seconds=hold_seconds, **more)


def event(**changes: Any) -> StartggDouble:
    """An event with one set of Bob and Alice, which feeds a final."""
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
    """The set of Alice, who is the first side, and Bob."""
    return set_payload(KEY[1], [[ALICE], [BOB]], games(winners), best_of=best_of, named=named)


@asynccontextmanager
async def at_work(
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
    **settings: Any,
) -> AsyncIterator[BracketDesk]:
    """A desk at work, with `settings` of its policy. `history` returns the sets of stations since a time.

    The block begins after `settle_seconds`, in which the desk reads the bracket.
    """

    async def sets_since(station: str | None, since_ms: int) -> Sequence[StationSet]:
        await trio.lowlevel.checkpoint()
        return history(station, since_ms)

    store = ReportStore(folder / "reports.sqlite3")
    around = Surroundings(lambda: names, sets_since, describe)
    desk = BracketDesk(kind, reporting, reading, store, policy(**settings), around, wall_clock=now, damaged=damaged)
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
    """A desk at work for an event of start.gg, with options of `at_work`."""
    bracket = StartggBracket(double.connection(token=token))
    async with at_work("start.gg", bracket, bracket, folder, **options) as desk:
        yield desk


async def until(condition: Callable[[], bool], seconds: float = 600) -> None:
    with trio.fail_after(seconds):
        while not condition():
            await trio.sleep(0.5)


async def play(desk: BracketDesk, payload: Mapping[str, Any], station: str = "setup-1") -> None:
    """Play a set whose beginning slpstream observes."""
    sides = [{**side, "score": 0, "won": 0} for side in payload["sides"]]
    desk.intake.set_changed(station, {**payload, "state": "running", "winner": None, "games": [], "sides": sides})
    await trio.sleep(0.5)
    desk.intake.set_changed(station, payload)


def reports(double: StartggDouble) -> list[Mapping[str, Any]]:
    return [variables for operation, variables in double.requests if operation == "Report"]
