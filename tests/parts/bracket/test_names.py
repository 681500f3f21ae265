"""Names that are corrected after the set was matched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.parts.bracket.queue import Entry
from tests.parts.bracket.desks import KEY, event, games, play, reports, running, until
from tests.parts.bracket.pools import ALICE, BOB, CARL, DORA
from tests.parts.bracket.startgg_double import DoubleSet, Entrant, Player, StartggDouble
from tests.parts.bracket.venue import set_payload


def singles() -> StartggDouble:
    """Bob against Alice, and Carl against Dora."""
    double = event(entrants=[Entrant(11, [BOB]), Entrant(12, [ALICE])])
    double.add(DoubleSet("two", 22, 5, [Entrant(13, [CARL]), Entrant(14, [DORA])]))
    return double


def played(winners: str, one: Player = ALICE, other: Player = BOB, **more: Any) -> dict[str, Any]:
    return set_payload(KEY[1], [[one], [other]], games(winners), **more)


def entry_of(entries: Sequence[Entry]) -> Entry:
    (entry,) = entries
    return entry


async def test_names_swapped_after_a_game_was_reported(tmp_path: Path) -> None:
    double = singles()
    async with running(double, tmp_path) as desk:
        await play(desk, played("0"))
        await until(lambda: [game["winnerId"] for game in double.sets["one"].games] == ["12"])
        desk.intake.set_changed("setup-1", played("0", BOB, ALICE))
        await until(lambda: [game["winnerId"] for game in double.sets["one"].games] == ["11"])
        desk.intake.set_changed("setup-1", played("00", BOB, ALICE))
        await until(lambda: double.sets["one"].state == 3)
    assert double.sets["one"].winner == 0, "Bob is the first entrant"


@pytest.mark.parametrize(("one", "other", "winner"), [(BOB, ALICE, 0), (CARL, DORA, 1)])
async def test_names_changed_after_the_report_need_a_decision(
    tmp_path: Path, one: Player, other: Player, winner: int
) -> None:
    double = singles()
    async with running(double, tmp_path) as desk:
        await play(desk, played("00"))
        await until(lambda: double.sets["one"].winner == 1)
        await until(lambda: not desk.waiting)
        for _ in range(2):  # a further payload takes nothing back
            desk.intake.set_changed("setup-1", played("00", one, other))
            await trio.sleep(60)
        assert entry_of([*desk.entries]).changed
        assert double.sets["one"].winner == 1
        await desk.decisions.correct(KEY, reset_dependents=False)
        await until(lambda: double.sets["one"].winner == winner)
        await until(lambda: not entry_of([*desk.entries]).changed)


async def test_names_of_other_players_need_a_decision(tmp_path: Path) -> None:
    double = singles()
    async with running(double, tmp_path) as desk:
        await play(desk, played("0"))
        await until(lambda: len(double.sets["one"].games) == 1)
        desk.intake.set_changed("setup-1", played("0", CARL, DORA))
        await trio.sleep(60)
        desk.intake.set_changed("setup-1", played("00", CARL, DORA))
        await trio.sleep(120)
        entry = entry_of([*desk.entries])
        assert (entry.state, entry.why) == ("ask", "the names have changed since, to those of other players")
        assert (double.sets["one"].state, double.sets["two"].state) == (2, 1)
        await desk.decisions.assign(KEY, "22", swapped=False)
        await until(lambda: double.sets["two"].state == 3)
    assert double.sets["two"].winner == 0


async def test_names_removed_after_a_game_need_a_decision(tmp_path: Path) -> None:
    double = singles()
    async with running(double, tmp_path) as desk:
        await play(desk, played("0"))
        await until(lambda: len(double.sets["one"].games) == 1)
        desk.intake.set_changed("setup-1", played("01", named=False))
        await trio.sleep(60)
        desk.intake.set_changed("setup-1", played("010", named=False))
        await until(lambda: entry_of([*desk.entries]).state == "confirm")
        assert entry_of([*desk.entries]).why == "the names have changed since"
        assert len(double.sets["one"].games) == 1, "no game is reported while it is not clear who has won it"
        desk.intake.set_changed("setup-1", played("010"))
        await until(lambda: double.sets["one"].state == 3)
    assert double.sets["one"].winner == 1


@pytest.mark.parametrize(
    ("one", "other", "state"), [(ALICE, BOB, "done"), (BOB, ALICE, "confirm"), (CARL, BOB, "confirm")]
)
async def test_names_that_contradict_a_decision_need_another_one(
    tmp_path: Path, one: Player, other: Player, state: str
) -> None:
    double = singles()
    double.sets["one"].station, double.sets["one"].state = 501, 6
    async with running(double, tmp_path) as desk:
        desk.intake.set_changed("setup-1", played("", named=False))
        await until(lambda: [each.state for each in desk.entries] == ["ask"])
        await desk.decisions.assign(KEY, entry_of([*desk.entries]).candidates[0], swapped=True)
        desk.intake.set_changed("setup-1", played("0", one, other))
        await trio.sleep(60)
        desk.intake.set_changed("setup-1", played("00", one, other))
        await until(lambda: [each.state for each in desk.entries] == [state])
        if state == "confirm":
            assert reports(double) == []
            await desk.decisions.confirm(KEY)
        await until(lambda: double.sets["one"].state == 3)
    assert double.sets["one"].winner == 1


async def test_change_of_names_voids_the_confirmation(tmp_path: Path) -> None:
    double = singles()
    async with running(double, tmp_path, confirm=True) as desk:
        await play(desk, played("00"))
        await until(lambda: [each.state for each in desk.entries] == ["confirm"])
        double.trouble = lambda operation: "unreachable" if operation == "Report" else ""
        await desk.decisions.confirm(KEY)
        await until(lambda: bool(entry_of([*desk.entries]).sent))
        desk.intake.set_changed("setup-1", played("00", named=False))
        await until(lambda: [each.state for each in desk.entries] == ["confirm"])
