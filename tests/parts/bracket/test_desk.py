"""The desk against a misbehaving start.gg, in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from slpstream.model.errors import ActRefused
from slpstream.parts.bracket.interface import BracketSet, Refused
from slpstream.parts.bracket.startgg.client import StartggBracket
from tests.parts.bracket.desks import (
    KEY,
    event,
    games,
    play,
    played,
    reports,
    running,
    until,
)
from tests.parts.bracket.startgg_double import EVENT, DoubleSet, Entrant, Player, StartggDouble, Trouble
from tests.parts.bracket.venue import set_payload
from tests.parts.handover.validator import STARTGG
from tests.virtual_time import now


async def test_each_game_and_then_the_set_is_reported(tmp_path: Path) -> None:
    double = event()
    async with running(double, tmp_path) as desk:
        for winners in ("", "0", "01", "011"):
            desk.intake.set_changed("setup-1", played(winners))
            await until(lambda: len(double.sets["one"].games) == len(winners))  # noqa: B023 -- waits inside the loop
        await until(lambda: desk.entries and not desk.waiting)  # type: ignore[arg-type, return-value]
        assert [entry.state for entry in desk.entries] == ["done"]
    assert [sent.get("winnerId") for sent in reports(double)] == [None, None, "11"]
    assert [[game["winnerId"] for game in sent["gameData"]] for sent in reports(double)][-1] == ["12", "11", "11"]
    assert double.sets["one"].completions[0][0] == 0
    assert double.sets["final"].entrants[0] is not None


async def test_dry_run_shows_requests_and_sends_none(tmp_path: Path) -> None:
    double = event(station=501, state=6)
    async with running(double, tmp_path, dry_run=True, start=True, assign=True, call=True) as desk:
        await play(desk, played("00"))
        await trio.sleep(300)
        (entry,) = desk.entries
        assert entry.state == "confirm"
        assert (desk.rendered(entry) or {})["winnerId"] == "12"
        await desk.decisions.confirm(KEY)
        await trio.sleep(300)
        with pytest.raises(ActRefused, match="dry run"):
            await desk.decisions.change_set("call", str(double.sets["one"].id))
    assert not [operation for operation, _ in double.requests if operation in ("Report", "Call", "Start", "Assign")]


async def test_confirmation_covers_only_the_confirmed_result(tmp_path: Path) -> None:
    double = event()
    async with running(double, tmp_path, confirm=True) as desk:
        desk.intake.set_changed("setup-1", played("0"))
        desk.intake.set_changed("setup-1", played("00"))
        await until(lambda: [entry.state for entry in desk.entries] == ["confirm"])
        await trio.sleep(120)
        assert reports(double) == []
        double.trouble = lambda operation: "unreachable"
        await desk.decisions.confirm(KEY)
        await trio.sleep(60)
        desk.intake.set_changed("setup-1", played("11"))
        await trio.sleep(60)
        double.trouble = lambda operation: ""
        await trio.sleep(300)
        assert reports(double) == [], "the confirmed result was different"
        await desk.decisions.confirm(KEY)
        await until(lambda: double.sets["one"].state == 3)
    assert double.sets["one"].winner == 0


@pytest.mark.parametrize("fault", ["wrong token", "no rights"])
async def test_refused_token_pauses_all_requests(tmp_path: Path, fault: str) -> None:
    double = event()
    double.admin = fault != "no rights"
    token = "wrong" if fault == "wrong token" else "a-token"
    async with running(double, tmp_path, token=token) as desk:
        await play(desk, played("00"))
        await trio.sleep(300)
        assert desk.link.trouble is not None
        assert desk.link.trouble.startswith("refuses the token: ")
        assert len(double.requests) < 20
        if fault == "no rights":
            double.admin = True
            await until(lambda: [entry.state for entry in desk.entries] == ["done"], 1200)


@pytest.mark.parametrize(("winner", "state"), [(1, "done"), (0, "conflict")])
async def test_set_that_another_person_reported(tmp_path: Path, winner: int, state: str) -> None:
    double = event()
    async with running(double, tmp_path) as desk:
        desk.intake.set_changed("setup-1", played("0"))
        await until(lambda: len(double.sets["one"].games) == 1)
        ids = ["11", "12"]
        entered = [{"gameNum": n, "winnerId": ids[winner]} for n in (1, 2)]
        double.complete_by_hand("one", winner, entered, [2 * (winner == 0), 2 * (winner == 1)])
        desk.intake.set_changed("setup-1", played("00"))
        await until(lambda: [entry.state for entry in desk.entries] == [state])
        await trio.sleep(300)
        assert len(double.sets["one"].completions) == 1
        if state == "done":
            return
        (entry,) = desk.entries
        assert "Bob won" in entry.why
        await desk.decisions.correct(KEY, reset_dependents=False)
        await until(lambda: [entry.state for entry in desk.entries] == ["done"])
    found = double.sets["one"]
    assert (found.winner, found.resets, len(found.completions)) == (1, 1, 2)


async def test_correction_that_resets_later_sets_needs_a_second_decision(tmp_path: Path) -> None:
    double = event()
    async with running(double, tmp_path) as desk:
        await play(desk, played("00"))
        await until(lambda: [entry.state for entry in desk.entries] == ["done"])
        double.sets["final"].state = 3
        desk.intake.set_changed("setup-1", played("11"))
        await until(lambda: any(entry.changed for entry in desk.entries))
        await trio.sleep(300)
        assert double.sets["one"].winner == 1, "only a person corrects"
        await desk.decisions.correct(KEY, reset_dependents=False)
        await until(lambda: [entry.state for entry in desk.entries] == ["conflict"])
        assert "dependent sets" in next(iter(desk.entries)).why
        await desk.decisions.correct(KEY, reset_dependents=True)
        await until(lambda: double.sets["one"].winner == 0)
        await until(lambda: [entry.state for entry in desk.entries] == ["done"])
    assert double.sets["one"].resets == 1


async def test_games_of_a_reported_set_are_corrected_without_a_reset(tmp_path: Path) -> None:
    double = event()
    async with running(double, tmp_path) as desk:
        await play(desk, played("010"))
        await until(lambda: [entry.state for entry in desk.entries] == ["done"])
        desk.intake.set_changed("setup-1", played("100"))
        await until(lambda: any(entry.changed for entry in desk.entries))
        await desk.decisions.correct(KEY, reset_dependents=False)
        await until(lambda: not any(entry.changed for entry in desk.entries))
    found = double.sets["one"]
    assert [game["winnerId"] for game in found.games] == ["11", "12", "12"]
    assert found.resets == 0


async def test_games_that_another_person_enters_during_the_set_are_a_conflict(tmp_path: Path) -> None:
    double = event()
    async with running(double, tmp_path) as desk:
        double.sets["one"].games = [{"gameNum": 1, "winnerId": "11"}]
        desk.intake.set_changed("setup-1", played("0"))
        await until(lambda: [entry.state for entry in desk.entries] == ["conflict"])
        desk.intake.set_changed("setup-1", played("00"))
        await trio.sleep(100)
        assert reports(double) == []
        await desk.decisions.correct(KEY, reset_dependents=False)
        await until(lambda: [entry.state for entry in desk.entries] == ["done"])
    assert double.sets["one"].winner == 1


async def test_set_of_players_without_names_needs_a_decision(tmp_path: Path) -> None:
    double = event(station=501, state=6)
    async with running(double, tmp_path) as desk:
        await play(desk, played("00", named=False))
        await until(lambda: [entry.state for entry in desk.entries] == ["ask"])
        (entry,) = desk.entries
        assert entry.candidates == (str(double.sets["one"].id),)
        with pytest.raises(ActRefused, match="no set 5"):
            await desk.decisions.assign(KEY, "5", swapped=False)
        await desk.decisions.assign(KEY, entry.candidates[0], swapped=True)
        await until(lambda: [entry.state for entry in desk.entries] == ["done"])
    assert double.sets["one"].winner == 1


async def test_friendlies_are_not_matched_with_a_later_set(tmp_path: Path) -> None:
    double = event()
    both = list(double.sets["one"].entrants)
    double.sets["one"].entrants = [None, None]
    async with running(double, tmp_path) as desk:
        await play(desk, played("00"))
        await trio.sleep(120)
        double.sets["one"].entrants = both
        double.sets["one"].updated_at = int(now())
        await trio.sleep(300)
        assert [entry.state for entry in desk.entries] == ["aside"]
    assert reports(double) == []


async def test_result_of_a_set_that_is_longer_in_the_bracket_needs_confirmation(tmp_path: Path) -> None:
    double = event(total_games=5)
    async with running(double, tmp_path) as desk:
        await play(desk, played("00"))
        await until(lambda: [entry.state for entry in desk.entries] == ["confirm"])
        assert "best of 5" in next(iter(desk.entries)).why
        await trio.sleep(100)
        assert all("winnerId" not in sent for sent in reports(double))


async def test_unfinished_set_needs_confirmation_after_the_next_one_began(tmp_path: Path) -> None:
    double = event(total_games=5)
    async with running(double, tmp_path) as desk:
        desk.intake.set_changed("setup-1", played("00", best_of=5))
        await until(lambda: len(double.sets["one"].games) == 2)
        desk.intake.set_changed("setup-1", {**played("0"), "setId": "b" * 32})
        await until(lambda: any(entry.state == "confirm" for entry in desk.entries))
        await desk.decisions.confirm(KEY)
        await until(lambda: double.sets["one"].state == 3)
    assert double.sets["one"].winner == 1


async def test_sets_are_assigned_called_and_started(tmp_path: Path) -> None:
    double = event()
    double.stations[502] = (2, "Setup 2")
    double.add(DoubleSet("two", 77, 5, [Entrant(21, [Player("C")]), Entrant(22, [Player("D")])], station=502))
    async with running(double, tmp_path, call=True, start=True, assign=True) as desk:
        desk.intake.set_changed("setup-1", played(""))
        await until(lambda: double.sets["one"].state == 2)
        assert double.sets["one"].station == 501
        await until(lambda: double.sets["two"].state == 6)
        assert [player.name for player in desk.expected("setup-2")] == ["C", "D"]
        assert [(player.name, player.sponsor) for player in desk.expected("setup-1")] == [
            ("Bob", None),
            ("Alice", "TSM"),
        ]
        assert {each.id for each in desk.sets} == {str(each.id) for each in double.sets.values()}, "no preview ids"
        await desk.decisions.change_set("start", "77")
        assert double.sets["two"].state == 2
        await desk.decisions.change_set("assign", "77", "setup-1")
        assert double.sets["two"].station == 501
        with pytest.raises(ActRefused):
            await desk.decisions.change_set("assign", "77", "nowhere")


async def test_next_set_of_a_stream_queue_is_expected_at_its_station(tmp_path: Path) -> None:
    double = event()
    for number, key in enumerate(("two", "three"), 2):
        pair = [Entrant(10 * number + side, [Player(f"{key} {side}")]) for side in (1, 2)]
        double.add(DoubleSet(key, 70 + number, 5, list(pair), stream="BTSmelee"))
    double.queue = {"Other": ["one"], "BTSmelee": ["final", "two", "three"]}
    async with running(double, tmp_path, streams={"btsmelee": "setup-2"}) as desk:
        assert [player.name for player in desk.expected("setup-2")] == ["two 1", "two 2"]
        assert not desk.expected("setup-1")
        double.complete_by_hand("two", 0, [], [2, 0])
        await until(lambda: [player.name for player in desk.expected("setup-2")] == ["three 1", "three 2"])
        double.sets["one"].station = 502
        double.stations[502] = (2, "Setup 2")
        double.sets["one"].state, double.sets["one"].updated_at = 6, int(now())
        await until(lambda: [player.name for player in desk.expected("setup-2")] == ["Bob", "Alice"], 2000)


async def test_refused_stream_queue_does_not_stop_reports(tmp_path: Path) -> None:
    double = event()

    refusal = 200, b'{"errors": [{"message": "You do not see stream queues"}], "data": null}'
    double.instead = lambda operation, variables: refusal if operation == "StreamQueue" else None
    async with running(double, tmp_path, streams={"BTSmelee": "setup-2"}) as desk:
        desk.intake.set_changed("setup-1", played("0"))
        await trio.sleep(1)
        desk.intake.set_changed("setup-1", played("00"))
        await until(lambda: double.sets["one"].state == 3)
        assert desk.link.connected


async def test_long_lists_and_doubles(tmp_path: Path) -> None:
    """400 sets in doubles are read in pages, of which start.gg refuses those that are too large."""
    double = StartggDouble(now)
    for number in range(400):
        pair = [
            Entrant(10 * number + side, [Player(f"P{number} {side} {n}", code=f"P{number}{side}{n}#1") for n in (0, 1)])
            for side in (1, 2)
        ]
        double.add(DoubleSet(f"{number}", 1000 + number, 4, list(pair), station=None))
    entrants = double.sets["7"].entrants
    teams = [entrant.players[::-1] for entrant in entrants if entrant is not None]
    async with running(double, tmp_path) as desk:
        await until(lambda: len(desk.sets) == 400)
        await play(desk, set_payload(KEY[1], teams, games("00")))
        await until(lambda: double.sets["7"].state == 3)
    assert double.throttled == 0


async def test_open_sets_are_all_found_while_others_are_completed() -> None:
    """They move forward in the list, possibly to a page that was read already."""
    double = StartggDouble(now)
    for number in range(100):
        entrants = [Entrant(number * 2 + side, [Player(f"Player {number}-{side}")]) for side in (0, 1)]
        double.add(DoubleSet(f"set-{number}", number, 400, [*entrants]))
    open_before = [str(each.id) for each in double.sets.values()]

    def complete_first(operation: str) -> Trouble:
        if operation == "Sets" and any(asked == "Sets" for asked, _ in double.requests):
            for each in [each for each in double.sets.values() if each.state == 1][:3]:
                each.state = 3
        return ""

    double.trouble = complete_first
    found = [each.id for each in await StartggBracket(double.connection()).open_sets()]
    still_open = {str(each.id) for each in double.sets.values() if each.state == 1}
    assert 0 < len(still_open) < 100
    assert still_open <= set(found) <= set(open_before)
    assert len(found) == len(set(found))


async def test_station_gets_details_once(tmp_path: Path) -> None:
    double = event()
    given: list[tuple[str, str, str, int | None]] = []

    async def describe(station: str, played_id: str, found: BracketSet) -> None:
        given.append((station, played_id, found.event, found.best_of))

    async with running(double, tmp_path, describe=describe) as desk:
        for winners in ("", "0", "01"):
            desk.intake.set_changed("setup-1", played(winners))
            await trio.sleep(60)
    assert given == [(*KEY, "Melee Singles", 3)]


async def test_error_names_the_unknown_event() -> None:
    bracket = StartggBracket(event().connection(("tournament/other/event/x",)))
    with pytest.raises(Refused, match="no event tournament/other/event/x"):
        await bracket.check()


async def test_context_of_a_set_has_all_facts_that_readers_of_replays_need(tmp_path: Path) -> None:
    double = event(stream="BTSmelee")
    async with running(double, tmp_path) as desk:
        assert desk.context_of(*KEY) is None
        desk.intake.set_changed(KEY[0], played("0"))
        await until(lambda: desk.context_of(*KEY) is not None)
        desk.intake.set_changed(KEY[0], played("00"))
        await until(lambda: double.sets["one"].state == 3)
        context = desk.context_of(*KEY)
    assert context is not None
    assert context.swapped, "Alice, who is the first side, is the second entrant"
    about = context.members["startgg"]
    assert [path for path in STARTGG if about.get(path[0], {}).get(path[1]) in (None, "")] == []
    assert about["event"]["slug"] == EVENT
    assert about["phaseGroup"]["bracketType"] == 2
    assert [about[part]["hasSiblings"] for part in ("event", "phase", "phaseGroup")] == [True, True, False]
    assert isinstance(about["set"]["id"], int)
    assert about["set"]["stream"] == {"id": 9, "domain": "twitch", "path": "BTSmelee"}

    double.trouble = lambda operation: "unreachable"
    async with running(double, tmp_path) as desk:  # after a restart, without an answer
        await until(lambda: desk.link.trouble is not None)
        assert desk.context_of(*KEY) == context


async def test_result_of_a_crew_battle_is_reported_without_games(tmp_path: Path) -> None:
    """Its players change, and its score is the number of stocks left, independent of the length of the set."""
    double = event(entrants=[Entrant(11, [Player("b1"), Player("b2")]), Entrant(12, [Player("r1"), Player("r2")])])
    red, blue = (entrant.name for entrant in reversed(double.sets["one"].entrants) if entrant is not None)

    def crews(names: tuple[str, str], stocks: tuple[int, int]) -> dict[str, Any]:
        payload = set_payload(KEY[1], [[Player(name)] for name in names], games("0"))
        over = {"state": "over", "winner": 0} if stocks[1] == 0 else {"state": "running"}
        sides = [{"name": name, "score": left} for name, left in zip((red, blue), stocks, strict=True)]
        return {**payload, **over, "sides": sides, "crewBattle": {"crews": []}}

    async with running(double, tmp_path) as desk:
        desk.intake.set_changed("setup-1", crews(("r1", "b1"), (8, 8)))
        await until(lambda: [entry.state for entry in desk.entries] == ["following"])
        desk.intake.set_changed("setup-1", crews(("r1", "b2"), (7, 3)))
        await trio.sleep(60)
        desk.intake.set_changed("setup-1", crews(("r2", "b2"), (5, 0)))
        await until(lambda: double.sets["one"].state == 3)
    assert double.sets["one"].winner == 1
    assert ["gameData" in sent for sent in reports(double)] == [False]


async def test_single_phase_has_no_siblings_and_unknown_phases_leave_it_out() -> None:
    double = event()
    bracket = StartggBracket(double.connection())
    double.phases = [1]
    about = (await bracket.read("preview_4_1")).context["startgg"]
    assert about["phase"]["hasSiblings"] is False
    double.phases = None
    about = (await bracket.read("preview_4_1")).context["startgg"]
    assert "hasSiblings" not in about["phase"]
