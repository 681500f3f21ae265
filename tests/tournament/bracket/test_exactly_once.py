"""50 stations, 200 sets, 50 kills of the daemon: each set is reported once, with its winner and games."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import trio
import trio.testing

from slpstream.store.reports import open_reports
from slpstream.tournament.bracket.desk import BracketDesk, Surroundings, Wishes
from slpstream.tournament.bracket.queue import Rules
from slpstream.tournament.bracket.startgg.client import StartggBracket
from slpstream.tournament.bracket.startgg.variables import ids
from tests.tournament.bracket.startgg_double import StartggDouble, Trouble
from tests.tournament.bracket.venue import Venue

T = TypeVar("T")
START = 1_700_000_000.0
KILLS = 50
TROUBLES: tuple[Trouble, ...] = (
    "429", "500", "html", "half", "unknown", "null", "lost_before", "lost_after", "repeat",
)  # fmt: skip


def now() -> float:
    return START + trio.current_time()


def troubled(rng: random.Random) -> Callable[[str], Trouble]:
    """Every tenth request fails in some way, and nothing is answered for the second hour."""

    def trouble(operation: str) -> Trouble:
        if 3600 <= now() - START < 7200:
            return "unreachable"
        return rng.choice(TROUBLES) if rng.random() < 0.1 else ""

    return trouble


async def run_desk(
    folder: Path, venue: Venue, seconds: float, done: Callable[[BracketDesk], bool]
) -> tuple[bool, list[str]]:
    """Run a desk until it is killed. Returns whether it was done before, and what was left."""
    store = open_reports(folder / "reports.sqlite3")
    finished = False
    with trio.move_on_after(seconds):
        bracket = StartggBracket(venue.double.connection())
        desk = BracketDesk(
            "start.gg",
            bracket,
            bracket,
            store,
            Wishes(dry_run=False, rules=Rules(confirm=False), start=True, assign=True),
            Surroundings(lambda: venue.names, venue.sets_since),
            wall_clock=now,
        )
        venue.listener = desk.set_changed
        venue.tell_newest()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.run)
            while not done(desk):
                await trio.sleep(5)
            finished = True
            nursery.cancel_scope.cancel()
    venue.listener = None
    store.close()
    unfinished = [f"{e.station} {e.state} {e.why} {e.set_id}" for e in desk.entries if e.state != "done"]
    return finished, unfinished


async def in_the_event_loop(
    operation: Callable[..., T], *arguments: Any, limiter: trio.CapacityLimiter | None = None
) -> T:
    """In place of a thread, during which virtual time would jump."""
    await trio.lowlevel.checkpoint()
    return operation(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_each_set_is_reported_once(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trio.to_thread, "run_sync", in_the_event_loop)
    rng = random.Random(seed)
    made: list[StartggDouble] = []

    async def main() -> None:
        double = StartggDouble(now)
        made.append(double)
        venue = Venue(double, random.Random(seed), 50)
        double.trouble = troubled(random.Random(seed + 1))
        deadline = START + 24 * 3600

        def done(desk: BracketDesk) -> bool:
            played = len(venue.expected) == len(double.sets)
            return (
                played
                and len(desk.entries) == len(double.sets)
                and not desk.waiting
                and all(entry.state == "done" for entry in desk.entries)
            )

        async with trio.open_nursery() as nursery:
            for station in venue.names:
                nursery.start_soon(venue.play, station)
            for kill in range(KILLS + 1):
                seconds = rng.expovariate(1 / 150) if kill < KILLS else deadline - now()
                finished, left = await run_desk(tmp_path, venue, seconds, done)
                if kill < KILLS:
                    await trio.sleep(rng.choice([0, 0, 1, 30]))
        assert finished, left
        for key, (winner, games, swapped) in venue.expected.items():
            found = double.sets[key]
            assert found.resets == 0
            assert len(found.completions) == 1, key
            entrants = [entrant for entrant in found.entrants if entrant is not None]
            place, data = found.completions[0]
            assert entrants[place].id == winner.id
            order = (1, 0) if swapped else (0, 1)
            sides = [entrants[order[0]], entrants[order[1]]]
            if key.endswith("final"):  # the places in the bracket depend on which set was reported first
                sides = sorted(entrants, key=lambda e: e.id != winner.id)
                sides = sides if games[-1].winner == 0 else sides[::-1]
            for number, (game, sent) in enumerate(zip(games, data, strict=True)):
                assert sent["gameNum"] == number + 1
                assert sent["winnerId"] == str(sides[game.winner].id)
                assert sent["stageId"] == ids("stages")[game.stage]
                stocks = [sent["entrant1Score"], sent["entrant2Score"]]
                assert stocks[entrants.index(sides[0])] == game.stocks[0]
                picked = {pick["entrantId"]: pick["characterId"] for pick in sent["selections"]}
                for side in (0, 1):
                    assert picked[str(sides[side].id)] == ids("characters")[game.characters[side]]
        assert double.throttled == 0

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
