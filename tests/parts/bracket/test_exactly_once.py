"""50 stations, 200 sets, 50 kills of the daemon: each set is reported once, with its winner and games."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import trio
import trio.testing

from slpstream.parts.bracket.desk.desk import BracketDesk
from slpstream.parts.bracket.startgg.variables import ids
from tests.parts.bracket.desks import running
from tests.parts.bracket.startgg_double import Entrant, StartggDouble, Trouble
from tests.parts.bracket.venue import PlayedGame, Venue
from tests.virtual_time import START, now

SEED = 2
STATIONS, SETS, KILLS = 50, 200, 50
RUN_SECONDS = 150.0
"""Mean duration of a run before it is killed."""
SILENT_FROM_SECONDS, SILENT_TO_SECONDS = 1800, 5400
TROUBLES: tuple[Trouble, ...] = (
    "429", "500", "html", "half", "unknown", "null", "lost_before", "lost_after", "repeat",
)  # fmt: skip


def is_silent() -> bool:
    return SILENT_FROM_SECONDS <= now() - START < SILENT_TO_SECONDS


def troubled(rng: random.Random) -> Callable[[str], Trouble]:
    """Every tenth request fails in some way, and all requests fail for an hour."""

    def trouble(operation: str) -> Trouble:
        if is_silent():
            return "unreachable"
        return rng.choice(TROUBLES) if rng.random() < 0.1 else ""

    return trouble


@asynccontextmanager
async def daemon(venue: Venue, folder: Path) -> AsyncIterator[BracketDesk]:
    """One run, which is killed at the end of the block. `folder` has the files of the run before."""
    options: dict[str, Any] = {
        "names": venue.names,
        "history": venue.sets_since,
        "settle_seconds": 0.0,
        "hold_seconds": 20.0,
    }
    async with running(venue.double, folder, start=True, assign=True, **options) as desk:
        venue.listener = desk.intake.set_changed
        venue.publish_newest()
        yield desk
        venue.listener = None


@pytest.mark.slow
def test_each_set_is_reported_once(tmp_path: Path) -> None:
    rng = random.Random(SEED)

    async def main() -> None:
        double = StartggDouble(now)
        venue = Venue(double, random.Random(SEED), STATIONS)
        double.trouble = troubled(random.Random(SEED + 1))
        open_at_kills: list[int] = []
        waited: list[int] = []

        async def look_at_the_end_of_the_silence() -> None:
            await trio.sleep(SILENT_TO_SECONDS - 1)
            waited.append(sum(not double.sets[key].completions for key in venue.expected))

        def done(desk: BracketDesk) -> bool:
            played = len(venue.expected) == len(double.sets)
            return (
                played
                and len(desk.entries) == len(double.sets)
                and not desk.waiting
                and all(entry.state == "done" for entry in desk.entries)
            )

        with trio.move_on_after(8 * 3600) as day:
            async with trio.open_nursery() as nursery:
                for station in venue.names:
                    nursery.start_soon(venue.play, station)
                nursery.start_soon(look_at_the_end_of_the_silence)
                (tmp_path / "0").mkdir()
                for kill in range(KILLS):
                    async with daemon(venue, tmp_path / str(kill)):
                        await trio.sleep(rng.expovariate(1 / RUN_SECONDS))
                        # The files at that moment, none of which was closed.
                        copytree(tmp_path / str(kill), tmp_path / str(kill + 1))
                    open_at_kills.append(sum(not each.completions for each in double.sets.values()))
                    await trio.sleep(rng.choice([0, 0, 1, 30]))
                async with daemon(venue, tmp_path / str(KILLS)) as desk:
                    while not done(desk):
                        await trio.sleep(5)
        left = [f"{e.station} {e.state} {e.why} {e.set_id}" for e in desk.entries if e.state != "done"]
        assert not day.cancelled_caught, left
        assert len(double.sets) == SETS
        assert min(open_at_kills) > 0, "all kills came before the last report"
        assert waited[0] > STATIONS // 2, "results waited while nothing was answered"
        assert double.throttled == 0
        for key, (winner, games, swapped) in venue.expected.items():
            check_set(double, key, winner, games, swapped)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def check_set(double: StartggDouble, key: str, winner: Entrant, games: Sequence[PlayedGame], swapped: bool) -> None:
    """The set was completed once, with its winner and games."""
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
