"""The texts of messages about games and sets."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.parts.chat.messages import Templates, earlier_games, game_results, message, set_result
from slpstream.parts.chat.part import CHAT_PLACEHOLDERS, Chat
from slpstream.parts.chat.template import Template
from slpstream.parts.services import LastMeeting, Meetings
from tests.parts.chat.discord_double import valid
from tests.sets.played_sets import FALCO, FOX, MARTH, Station, game, player

VIXEN, ALTEA = player(0, "Vixen", FOX), player(1, "Altea", MARTH)
SUMMARY = GameSummary(
    place=Thing(kind="stage", id=31, name="Battlefield"),
    players=[PlayerSummary(index=0, character=Thing(name="Fox")), PlayerSummary(index=1, character=Thing(name="Roy"))],
)


def templates(**keys: Any) -> Templates:
    chat = Chat(url_file="", **keys)
    return Templates(
        game=Template(chat.game_message, CHAT_PLACEHOLDERS["game_message"]),
        set=Template(chat.set_message, CHAT_PLACEHOLDERS["set_message"]),
        start=Template(chat.start_message, CHAT_PLACEHOLDERS["start_message"]),
        link=Template(chat.link, CHAT_PLACEHOLDERS["link"]),
        username=chat.username,
        avatar_url=chat.avatar_url,
    )


def texts(payload: dict[str, Any], used: Templates, summaries: dict[str, GameSummary] | None = None) -> list[str]:
    """The texts about the games of a set, and about the set once it is over."""
    bodies = [message(used, used.game, "tv 1", each) for each in game_results(payload, summaries or {}).values()]
    over = set_result(payload)
    if over is not None:
        bodies.append(message(used, used.set, "tv 1", over))
    decoded = [json.loads(body) for body in bodies if body is not None]
    assert all(valid(each) for each in decoded)
    return [each["content"] for each in decoded]


def test_default_messages() -> None:
    station = Station()
    payload = station.play(game(1, VIXEN, ALTEA, winners=[0]), game(2, VIXEN, player(1, "Altea", FALCO), winners=[1]))
    known = {f"{1:032x}": SUMMARY}
    assert texts(payload, templates(), known) == [
        "Game 1: **Vixen** (Fox) beats Altea (Roy) on Battlefield. 1–0",
        "Game 2: **Altea** (Falco) beats Vixen (Fox). 1–1",
    ]
    station.play(game(3, VIXEN, ALTEA, winners=[1]))
    payload = station.correct(round="Losers Final", names={"1": "A. Tea"})
    used = templates(link="https://example.org/#game/{game_id}")
    assert texts(payload, used)[-1] == (
        f"Losers Final: **A. Tea** wins 2–1 against Vixen. https://example.org/#game/{3:032x}"
    )


def test_earlier_games() -> None:
    station = Station()
    station.play(game(1, VIXEN, ALTEA))
    payload = station.correct(round="Losers Final")
    noon = datetime(2026, 11, 12, 12).astimezone().isoformat()
    used = templates()
    for score, last in (
        ((1, 2), "; last: Al\\*ea 2–1, 2026-11-12"),
        ((3, 0), "; last: Vixen 3–0, 2026-11-12"),
        ((1, 1), ""),
    ):
        meetings = Meetings(payload["setId"], ["Vixen", "Al*ea"], [3, 1], [8, 5], LastMeeting(noon, score))
        body = message(used, used.start, "tv 1", earlier_games(payload, meetings))
        assert body is not None
        assert json.loads(body)["content"] == (
            f"Losers Final: **Vixen** – **Al\\*ea**: 3–1 in sets, 8–5 in games{last}"
        )


def test_own_templates_with_all_values() -> None:
    station = Station()
    station.play(game(1, VIXEN, ALTEA, winners=[0]))
    payload = station.correct(event="Local 7", round="Pools", bestOf=1)
    template = "|".join(f"{name}={{{name}}}" for name in CHAT_PLACEHOLDERS["game_message"])
    used = templates(game_message=template, set_message="{event}", link="http://x/{station}")
    everything, event = texts(payload, used, {f"{1:032x}": SUMMARY})
    assert event == "Local 7"
    assert everything == (
        "winner=Vixen|loser=Altea|winner_score=1|loser_score=0|best_of=1|round=Pools|event=Local 7|station=tv 1|"
        "link=http://x/tv%201|game=1|stage=Battlefield|winner_character=Fox|loser_character=Roy|stocks=1|duration=2:00"
    )


def test_games_that_do_not_count_have_no_message() -> None:
    station = Station()
    station.play(game(1, VIXEN, ALTEA, winners=[0]), game(2, VIXEN, ALTEA))
    payload = station.correct(games={f"{1:032x}": {"counts": False}})
    assert texts(payload, templates()) == []


def test_names_are_escaped_and_doubles_are_joined() -> None:
    team = (player(0, "*A*", team=0), player(1, "@here", team=0), player(2, team=1), player(3, code="D#1", team=1))
    payload = Station().play(game(1, *team, winners=[0, 1]))
    used = templates(game_message="{winner} > {loser}", username="Scores", avatar_url="https://x/y.png")
    assert texts(payload, used) == [r"\*A\* & \@here > Player 3 & D\#1"]


def test_message_without_text_is_not_sent() -> None:
    payload = Station().play(game(1, VIXEN, ALTEA, winners=[0]))
    assert texts(payload, templates(game_message="[[{round}]]")) == []


@given(
    st.text(max_size=60), st.text(max_size=60), st.sampled_from(["{winner}", "{winner}" * 60, "\N{PILE OF POO}" * 1500])
)
def test_messages_stay_within_the_limits(first: str, second: str, template: str) -> None:
    payload = Station().play(game(1, player(0, first), player(1, second), winners=[0]))
    texts(payload, templates(game_message=template))
