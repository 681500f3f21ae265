"""TournamentStreamHelper shows the set of a station, in every version and after a restart."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from slpstream.model.errors import SinkError
from slpstream.parts.scoreboards.followed_station import FollowedStation
from slpstream.parts.scoreboards.scoreboard import Scoreboard
from slpstream.parts.scoreboards.tournament_stream_helper import TournamentStreamHelper
from slpstream.system.http_client import PostResponse
from tests.parts.scoreboards.desk import SETTLED, desk
from tests.parts.scoreboards.helper_double import VERSIONS, HelperDouble, Version
from tests.sets.played_sets import FALCO, FOX, MARTH, PEACH, SHEIK, Station, game, player

pytestmark = pytest.mark.trio
VIXEN, ALTEA = player(0, "Vixen", FOX, 1), player(1, "Altea", MARTH, 0)


def trouble(board: Scoreboard) -> str:
    return board.trouble or ""


@pytest.mark.parametrize("version", VERSIONS)
async def test_singles_with_a_character_change(version: Version, clock: MockClock) -> None:
    double, station = HelperDouble(version), Station()
    async with desk(double) as here:
        await here.show(station.play(game(1, VIXEN, ALTEA)))
        assert double.names == [["Vixen"], ["Altea"]]
        assert double.characters == [[("Fox", 1)], [("Marth", 0)]]
        assert double.score == [0, 0]
        assert double.state["best_of"] == 3
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[1]), game(2, VIXEN, player(1, "Altea", SHEIK, 3))))
        assert double.score == [0, 1]
        assert double.characters == [[("Fox", 1)], [("Sheik", 3)]]
        sent = len(double.requests)
        await trio.sleep(SETTLED)
        assert len(double.requests) == sent, "nothing has changed"
        double.away = True
        await trio.sleep(SETTLED)
        assert trouble(here.board) == "Connection refused"


@pytest.mark.parametrize("version", VERSIONS)
async def test_doubles_and_singles_after_them(version: Version, clock: MockClock) -> None:
    double, station = HelperDouble(version), Station()
    team = (
        player(0, "A", FOX, 1, team=0),
        player(1, "B", MARTH, 1, team=0),
        player(2, "C", FALCO, 2, team=1),
        player(3, "D", PEACH, 2, team=1),
    )
    async with desk(double) as here:
        await here.show(station.play(game(1, *team, winners=[0, 1]), game(2, *team)))
        assert double.names == [["A", "B"], ["C", "D"]]
        assert double.characters == [[("Fox", 1), ("Marth", 1)], [("Falco", 2), ("Peach", 2)]]
        assert double.score == [1, 0]
        await here.show(station.play(game(2, *team, winners=[0, 1]), game(3, VIXEN, ALTEA, winners=[0])))
        assert double.names == [["Vixen"], ["Altea"]]
        assert double.score == [1, 0]


async def test_operator_corrects_names_score_and_sides(clock: MockClock) -> None:
    double, station = HelperDouble(), Station()
    async with desk(double) as here:
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[0])))
        await here.show(station.correct(names={"0": "Vix"}, score={"0": 2, "1": 1}, round="Winners Final"))
        assert (double.names, double.score) == ([["Vix"], ["Altea"]], [2, 1])
        assert double.state["match"] == "Winners Final"
        await here.show(station.correct(players={"0": {"sponsor": "TSM"}}))
        assert double.state["team"]["1"]["player"]["1"]["team"] == "TSM"
        await here.show(station.correct(swapped=True))
        assert (double.names, double.score) == ([["Altea"], ["Vix"]], [1, 2])
        assert double.characters == [[("Marth", 0)], [("Fox", 1)]]


async def test_names_from_a_bracket_stay_and_decide_the_sides(clock: MockClock) -> None:
    double, station = HelperDouble(), Station()
    double.name(1, "ALTEA")
    double.name(2, "Vixen the Great")
    double.state["best_of"], double.state["match"] = 5, "Losers Final"
    async with desk(double) as here:
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[0])))
        await here.show(station.correct(bestOf=3, round="Pools"))
        assert double.names == [["ALTEA"], ["Vixen the Great"]]
        assert double.score == [0, 1]
        assert double.characters == [[("Marth", 0)], [("Fox", 1)]]
        assert (double.state["best_of"], double.state["match"]) == (5, "Losers Final")


async def test_name_typed_over_ours_stays(clock: MockClock) -> None:
    double, station = HelperDouble(), Station()
    async with desk(double) as here:
        await here.show(station.play(game(1, VIXEN, ALTEA)))
        double.name(1, "The Vixen")
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[0])))
        await here.show(station.correct(names={"0": "Vix"}))
        assert (double.names, double.score) == ([["The Vixen"], ["Altea"]], [1, 0])


async def test_score_changed_by_hand_stays_until_the_next_change(clock: MockClock) -> None:
    double, station = HelperDouble(), Station()
    async with desk(double) as here:
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[0])))
        double.state["team"]["2"]["score"] = 3
        await trio.sleep(SETTLED)
        assert double.score == [1, 3]
        await here.show(station.play(game(2, VIXEN, ALTEA, winners=[0])))
        assert double.score == [2, 0]


async def test_half_written_state_is_read_again(clock: MockClock) -> None:
    double, station = HelperDouble("unnumbered"), Station()
    double.half_reads = 3
    async with desk(double) as here:
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[0])))
        assert here.outcomes == ["updated"]
        assert double.score == [1, 0]


@pytest.mark.parametrize(
    ("status", "body", "what"),
    [
        (404, b"", "status 404"),
        (200, b"[]", "no scoreboard 2"),
        (200, b"{", "no scoreboard 2"),
        (200, b'{"score": {"1": {"team": {}}}}', "no scoreboard 2"),
        (200, b'{"score": {"2": {"team": {"1": {"score": "x"}}}}}', "no scoreboard 2"),
    ],
)
async def test_malformed_states_are_refused(status: int, body: bytes, what: str, clock: MockClock) -> None:
    async def send(method: str, path: str, _: bytes) -> PostResponse:
        return PostResponse(404, "") if path.endswith("-get") else PostResponse(status, "", body)

    with pytest.raises(SinkError, match=what):
        await TournamentStreamHelper("http://127.0.0.1:5000", 2, send=send).update(None)


async def test_score_that_is_not_shown_is_an_error(clock: MockClock) -> None:
    """TSH can be configured to refuse changes of the score by other programs."""
    double, station = HelperDouble(), Station()

    async def send(method: str, path: str, body: bytes) -> PostResponse:
        return PostResponse(200, "", b"OK") if path == "/score" else await double(method, path, body)

    followed = FollowedStation("main")
    followed.set_changed("main", station.play(game(1, VIXEN, ALTEA, winners=[0])))
    with pytest.raises(SinkError, match="does not show the score"):
        await TournamentStreamHelper("http://127.0.0.1:5000", send=send).update(followed.board)
