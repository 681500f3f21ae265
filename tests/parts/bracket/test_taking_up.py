"""Sets that were played while slpstream did not run, or before the bracket was configured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio

from slpstream.config import Config
from slpstream.daemon.sets import StationSets
from slpstream.daemon.stations import RunningStations
from slpstream.parts.bracket.configured import ConfiguredBracket
from slpstream.parts.bracket.desk import entries
from slpstream.parts.bracket.desk.desk import BracketDesk
from slpstream.parts.bracket.desk.entries import StationSet
from slpstream.parts.bracket.part import Bracket
from slpstream.parts.bracket.reports import ReportStore
from slpstream.sets.scores import SetScore, SetSide
from slpstream.store import GameIndex
from tests.daemons.hosts import host_of
from tests.parts.bracket.desks import event, play, played, reports, running, until
from tests.virtual_time import now

LATE = "it was over before slpstream saw it"
MINUTE_MS = 60_000


class History:
    """The sets of a station in the index, each with the time of its last game."""

    def __init__(self) -> None:
        self.sets: list[tuple[int, dict[str, Any]]] = []

    def add(self, name: str, winners: str, minutes_ago: float = 0) -> dict[str, Any]:
        payload = {**played(winners), "setId": name * 32}
        self.sets.append((int(now() * 1000 - minutes_ago * MINUTE_MS), payload))
        return payload

    def __call__(self, station: str | None, since_ms: int) -> Sequence[StationSet]:
        return [("setup-1", payload) for at_ms, payload in self.sets if at_ms >= since_ms]


def states(desk: BracketDesk) -> dict[str, tuple[str, str]]:
    return {entry.played_id[0]: (entry.state, entry.why) for entry in desk.entries}


async def test_set_from_before_the_bracket_needs_confirmation(tmp_path: Path) -> None:
    """Also after restarts, which are common while a bracket is being set up. Earlier sets are ignored."""
    double, history = event(), History()
    history.add("x", "00", minutes_ago=40)
    payload = history.add("a", "00", minutes_ago=20)
    for _ in range(3):
        async with running(double, tmp_path, history=history) as desk:
            desk.intake.set_changed("setup-1", payload)
            await trio.sleep(100)
            assert states(desk) == {"a": ("confirm", LATE)}
    assert reports(double) == []


async def test_set_that_ended_while_no_daemon_ran_is_reported(tmp_path: Path) -> None:
    double, history = event(), History()
    async with running(double, tmp_path, history=history):
        pass
    await trio.sleep(3 * 3600)
    history.add("a", "00", minutes_ago=60)
    newest = history.add("b", "")
    async with running(double, tmp_path, history=history) as desk:
        desk.intake.set_changed("setup-1", newest)
        await until(lambda: states(desk).get("a") == ("done", ""))
    assert double.sets["one"].winner == 1


async def test_sets_whose_games_are_read_later_do_not_damage_the_current_set(tmp_path: Path) -> None:
    double, history = event(), History()
    async with running(double, tmp_path, history=history):
        pass
    await trio.sleep(600)
    async with running(double, tmp_path, history=history) as desk:
        newest = {**played("0"), "setId": "b" * 32}
        desk.intake.set_changed("setup-1", newest)
        await trio.sleep(60)
        older = history.add("a", "0")
        history.add("b", "0")
        older["players"] = [{**player, "name": f"{player['name']}'s friend"} for player in older["players"]]
        await desk.intake.catch_up()
        await until(lambda: len(desk.entries) == 2)
        found = {entry.played_id[0]: entry for entry in desk.entries}
        assert (found["a"].left_behind, found["b"].left_behind) == (True, False)
        desk.intake.set_changed("setup-1", {**played("00"), "setId": "b" * 32})
        await until(lambda: double.sets["one"].state == 3)


async def test_clock_that_was_set_back_hides_no_set(tmp_path: Path) -> None:
    double, history = event(), History()
    store = ReportStore(tmp_path / "reports.sqlite3")
    store.note_alive("start.gg", int(now() * 1000) - 60 * MINUTE_MS)
    store.note_alive("start.gg", int(now() * 1000) + 10_000 * MINUTE_MS)
    store.close()
    history.add("a", "00", minutes_ago=5)
    async with running(double, tmp_path, history=history) as desk:
        await until(lambda: states(desk) == {"a": ("done", "")})


async def test_sets_of_the_last_day_need_confirmation_after_damage_to_the_queue(tmp_path: Path) -> None:
    double, history = event(), History()
    history.add("x", "00", minutes_ago=25 * 60)
    history.add("a", "00", minutes_ago=23 * 60)
    async with running(double, tmp_path, history=history, damaged=True) as desk:
        await trio.sleep(100)
        assert states(desk) == {"a": ("confirm", LATE)}
        assert reports(double) == []
        await desk.decisions.confirm(("setup-1", "a" * 32))
        await until(lambda: double.sets["one"].state == 3)


async def test_result_from_a_dry_run_needs_confirmation_afterwards(tmp_path: Path) -> None:
    double, history = event(), History()
    async with running(double, tmp_path, dry_run=True, history=history) as desk:
        await play(desk, played("00"))
        await until(lambda: states(desk)["a"][0] == "confirm")
    async with running(double, tmp_path, history=history) as desk:
        desk.intake.set_changed("setup-1", played("00"))
        await trio.sleep(100)
        assert states(desk) == {"a": ("confirm", "it was played in a dry run")}
    assert reports(double) == []


async def test_finished_sets_are_forgotten_in_memory_and_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "MAX_FINISHED", 3)
    double = event()
    async with running(double, tmp_path, confirm=True) as desk:
        await play(desk, played("00"))
        for number in range(6):
            friendly = played("00", named=False)
            await play(desk, {**friendly, "setId": f"{number}" * 32}, "setup-2")
        await trio.sleep(100)
        kept = sorted(states(desk))
    assert kept == ["3", "4", "5", "a"]
    async with running(double, tmp_path, confirm=True) as desk:
        assert sorted(states(desk)) == kept


class Sets:
    """The sets of a daemon that has read all games."""

    async def score(self, station: str) -> SetScore:
        await trio.lowlevel.checkpoint()
        sides = [SetSide(score=score, won=score, players=[side]) for side, score in enumerate((2, 1))]
        return SetScore(
            set_id="b" * 32, state="over", best_of=3, wins_needed=2, players=[], score=[], sides=sides, games=[]
        )

    async def scores_since(self, station: str, since_ms: int) -> list[SetScore]:
        return [await self.score(station)]


async def test_incomplete_sets_are_ignored_while_old_files_are_read(tmp_path: Path) -> None:
    index = SimpleNamespace(waiting_files=2)
    station = SimpleNamespace(id="setup-1", name="Setup 1", starting=False)
    host = host_of(Config(parts={"bracket": [Bracket(kind="webhook", url="http://127.0.0.1:9/")]}))
    host.sets = cast(StationSets, Sets())
    host.stations = cast(RunningStations, SimpleNamespace(stations=[station], lasting_stations=[station]))
    host.index, host.state_folder = cast(GameIndex, index), tmp_path
    bracket = ConfiguredBracket(host)
    bracket.open()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bracket.run)
        await trio.sleep(10)
        bracket.set_changed("setup-1", {**played("0"), "setId": "a" * 32})  # the only game that was read
        await trio.sleep(10)
        assert bracket.state().queue == []
        index.waiting_files = 0
        await until(lambda: bracket.desk is not None and len(bracket.desk.entries) > 0)
        assert bracket.desk is not None
        assert [(entry.played_id, entry.played.score) for entry in bracket.desk.entries] == [("b" * 32, (2, 1))]
        nursery.cancel_scope.cancel()
    bracket.close()
