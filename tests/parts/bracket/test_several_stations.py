"""Sets of the same players on several stations: feeders, sets that are moved, and decisions at the wrong moment."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from slpstream.model.errors import ActRefused
from tests.parts.bracket.desks import play, reports, running, until
from tests.parts.bracket.pools import ALICE, BOB, CARL, DORA, ONE, THREE, TWO, at, payload, pools
from tests.parts.bracket.startgg_double import Player


@pytest.mark.parametrize("reason", ["outage", "person"])
async def test_set_waits_for_the_reports_of_its_players_on_other_stations(tmp_path: Path, reason: str) -> None:
    double = pools()
    async with running(double, tmp_path, confirm=reason == "person") as desk:
        for key, pair in ((ONE, (ALICE, BOB)), (TWO, (CARL, DORA))):
            desk.intake.set_changed(key[0], payload(key, *pair, ""))
        await trio.sleep(30)
        if reason == "outage":
            double.trouble = lambda operation: "unreachable" if operation == "Report" else ""
        for key, pair in ((ONE, (ALICE, BOB)), (TWO, (CARL, DORA))):
            desk.intake.set_changed(key[0], payload(key, *pair, "00"))
        await trio.sleep(60)
        for winners in ("", "0", "00"):
            desk.intake.set_changed(THREE[0], payload(THREE, ALICE, CARL, winners))
            await trio.sleep(100)
        double.trouble = lambda operation: ""
        if reason == "person":
            await desk.decisions.confirm(ONE)
            await desk.decisions.confirm(TWO)
            await until(lambda: at(desk, THREE).state == "confirm")
            await desk.decisions.confirm(THREE)
        await until(lambda: double.sets["final"].state == 3)
    assert double.sets["final"].winner == 0


async def test_friendly_of_other_players_does_not_wait(tmp_path: Path) -> None:
    double = pools()
    async with running(double, tmp_path, confirm=True) as desk:
        await play(desk, payload(ONE, ALICE, BOB, "00"), ONE[0])
        await play(desk, payload(TWO, Player("X"), Player("Y"), "00"), TWO[0])
        await until(lambda: at(desk, TWO).settled)
        assert at(desk, ONE).state == "confirm"


async def test_set_moves_to_another_station(tmp_path: Path) -> None:
    double = pools()
    async with running(double, tmp_path) as desk:
        await play(desk, payload(ONE, ALICE, BOB, "0"), ONE[0])
        await until(lambda: len(double.sets["one"].games) == 1)
        for winners in ("", "1", "11"):
            desk.intake.set_changed(TWO[0], payload(TWO, ALICE, BOB, winners))
            await trio.sleep(100)
        entry = at(desk, TWO)
        assert (entry.state, entry.candidates, entry.why) == ("ask", ("1",), "it began on setup-1")
        await desk.decisions.assign(TWO, "1", swapped=False)
        entry = at(desk, TWO)
        assert (entry.state, entry.why) == ("confirm", "it began on setup-1, at 1–0")
        assert at(desk, ONE).state == "dropped"
        await desk.decisions.confirm(TWO)
        await until(lambda: double.sets["one"].state == 3)
    assert double.sets["one"].winner == 1
    assert at(desk, ONE).state == "dropped"


async def test_finished_set_does_not_move_to_another_station(tmp_path: Path) -> None:
    double = pools()
    async with running(double, tmp_path, confirm=True) as desk:
        await play(desk, payload(ONE, ALICE, BOB, "00"), ONE[0])
        await play(desk, payload(TWO, ALICE, BOB, "00"), TWO[0])
        await until(lambda: at(desk, ONE).state == "confirm")
        with pytest.raises(ActRefused, match="was played on setup-1"):
            await desk.decisions.assign(TWO, "1", swapped=False)


async def test_set_is_not_assigned_while_its_report_is_being_sent(tmp_path: Path) -> None:
    double = pools()
    async with running(double, tmp_path, confirm=True) as desk:
        await play(desk, payload(ONE, ALICE, BOB, "00"), ONE[0])
        await until(lambda: at(desk, ONE).state == "confirm")
        double.delay_seconds = 4
        await desk.decisions.confirm(ONE)
        await until(lambda: len(reports(double)) == 1)
        with pytest.raises(ActRefused, match="its report is being sent"):
            await desk.decisions.assign(ONE, "2", swapped=False)
        await until(lambda: at(desk, ONE).state == "done")
        with pytest.raises(ActRefused, match="reported already"):
            await desk.decisions.assign(ONE, "2", swapped=False)


async def test_set_dropped_while_its_report_is_being_sent_stays_dropped(tmp_path: Path) -> None:
    double = pools()
    async with running(double, tmp_path) as desk:
        double.delay_seconds = 4
        await play(desk, payload(ONE, ALICE, BOB, "00"), ONE[0])
        await until(lambda: len(reports(double)) == 1)
        await desk.decisions.drop(ONE)
        await desk.decisions.assign(ONE, "2", swapped=False)  # another set than the one that is being reported
        await until(lambda: double.sets["two"].state == 3)
        assert at(desk, ONE).set_id == "2"
        await until(lambda: at(desk, ONE).state == "done")
    assert (double.sets["one"].state, double.sets["two"].winner) == (3, 0)
