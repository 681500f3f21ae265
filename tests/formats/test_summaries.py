"""The summary of a game, in the same terms for every format."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from slpstream.formats.registry import describe, formats, of_name
from slpstream.formats.slippi.result import GameEndPayload, Placement
from slpstream.game.described import DescribedGame
from slpstream.model.events import Event, GameEnd, GameStart, Metadata, first_of
from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from tests.formats.games import games
from tests.formats.mk8 import built as mk8
from tests.synthetic.match import synthetic_match

SLIPPI = {
    "slpVersion": "3.8.0",
    "stageId": 31,
    "gameMode": 8,
    "isTeams": False,
    "players": [
        {"playerIndex": 0, "port": 1, "characterId": 2, "characterColor": 1, "teamId": 0, "startStocks": 4},
        {
            "playerIndex": 3,
            "port": 4,
            "characterId": 9,
            "teamId": 2,
            "nametag": "BOB",
            "connectCode": "BOB#1",
            "type": 1,
        },
    ],
    "matchInfo": {"sessionId": "mode.ranked-2023"},
}


def slippi(**settings: Any) -> GameStart:
    return GameStart(1, "slippi", "0" * 32, {**SLIPPI, **settings}, (60, 1))


def slippi_end(method: int | None = 2, **values: Any) -> GameEnd:
    return GameEnd(2, "game_end", None if method is None else GameEndPayload(method, -1), **values)


def read(name: str, data: bytes) -> list[Event]:
    reader = of_name(name, data[:0x500], len(data)).new_reader(name)
    events = [*reader.feed(data), *reader.finish()]
    while reader.pending:
        events += reader.more(1000)
    return events


def test_summary_of_a_melee_game() -> None:
    summary = describe(slippi())
    assert summary == GameSummary(
        version="3.8.0",
        place=Thing(kind="stage", id=31, name="Battlefield"),
        players=[
            PlayerSummary(
                index=0,
                port=1,
                character=Thing(kind="character", id=2, name="Fox"),
                color=1,
                team=0,
                start_stocks=4,
                setup={"character": 2, "color": 1, "team": 0},
            ),
            PlayerSummary(
                index=3,
                port=4,
                tag="BOB",
                code="BOB#1",
                character=Thing(kind="character", id=9, name="Marth"),
                team=2,
                human=False,
                setup={"character": 9, "team": 2},
            ),
        ],
        versus=True,
        match_id="mode.ranked-2023",
        setup={"stageId": 31, "gameMode": 8, "isTeams": False},
    )
    assert [player.shown_name for player in summary.players] == ["", "BOB"]


def test_summary_with_the_end_of_a_melee_game() -> None:
    end = slippi_end(7, winners=[Placement(0, 0)])
    end.game_end = msgspec.structs.replace(end.game_end, lras_initiator_index=3)
    summary = describe(slippi(), end)
    assert (summary.ending, summary.quitter, summary.winners) == ("quit", 3, [0])


@pytest.mark.parametrize(
    ("method", "ending"), [(None, None), (0, "quit"), (1, "time"), (2, "finished"), (3, "finished"), (7, "quit")]
)
def test_ending_of_melee_games(method: int | None, ending: str | None) -> None:
    summary = describe(slippi(), slippi_end(method))
    assert (summary.ending, summary.quitter) == (ending, None)


SUDDEN_PLAYERS = [
    {"playerIndex": index, "startStocks": 1, "damageSpawn": 300, "characterId": index} for index in range(2)
]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"gameMode": 2, "scene": 3}, True),
        ({"gameMode": 2, "scene": 3, "timerType": 0, "players": SUDDEN_PLAYERS}, True),
        ({"gameMode": 2, "scene": 2, "timerType": 0, "players": SUDDEN_PLAYERS}, False),
        ({"gameMode": 8, "scene": 3}, False),
        ({"gameMode": None, "timerType": 0, "players": SUDDEN_PLAYERS}, True),
        ({"gameMode": None, "timerType": 2, "players": SUDDEN_PLAYERS}, False),
        ({"gameMode": None, "timerType": 0}, False),
    ],
)
def test_sudden_death_is_recognised(settings: dict[str, Any], expected: bool) -> None:
    summary = describe(slippi(**settings))
    assert (summary.sudden_death, summary.rules) == (expected, "sudden death" if expected else "")


def test_metadata_names_only_players_without_a_name() -> None:
    names = {"0": {"names": {"netplay": "Ann", "code": "ANN#9"}}, "3": {"names": {"netplay": "Robert", "code": "x"}}}
    summary = describe(slippi(), None, {"startAt": "2023-11-14T22:13:20Z", "players": names})
    assert [(player.name, player.tag, player.code) for player in summary.players] == [
        ("Ann", "", "ANN#9"),
        ("", "BOB", "BOB#1"),
    ]
    assert summary.started_at == "2023-11-14T22:13:20Z"
    invalid: list[Any] = [None, [], 3, {"0": 3}, {"0": {"names": []}}, {"0": {"names": {"netplay": 3}}}]
    for players in invalid:
        assert describe(slippi(), None, {"startAt": 3, "players": players}) == describe(slippi())


def test_teams_have_colour_names() -> None:
    assert [player.team_name for player in describe(slippi(isTeams=True)).players] == ["red", "green"]


def test_unnamed_id_is_shown_as_a_number() -> None:
    summary = describe(slippi(stageId=99))
    assert (summary.place.name, summary.place.text) == ("", "stage 99")
    assert Thing().text == ""


@pytest.mark.parametrize("settings", [None, [], {"players": "none"}, {"players": [None]}, {"players": [{"port": 1}]}])
def test_malformed_settings_give_an_empty_summary(settings: Any) -> None:
    for format_ in formats():
        assert describe(GameStart(1, format_.name, "0" * 32, settings, (60, 1))) == GameSummary()


def test_missing_format_gives_an_empty_summary() -> None:
    assert describe(GameStart(1, "tap", "0" * 32, SLIPPI, (60, 1)), slippi_end()) == GameSummary()


GHOST = f"{mk8.FILE_NAME}.dat"


@pytest.mark.parametrize(
    ("name", "version", "place", "rules", "who", "setup"),
    [
        (
            "race.gci",
            "GFZE",
            Thing("course", 1, "Mute City: Twist Road"),
            "Time Attack, 3 laps",
            "Blue Falcon",
            {"course": {"id": 1, "name": "Mute City: Twist Road"}, "mode": 2, "laps": 3, "difficulty": 0},
        ),
        ("race.rpl", "new layout", Thing("track", None, "DEFAULT"), "tropical", "Corvette ZR1, manual", None),
        (GHOST, "4.1/4.2", Thing("track", 63, "Big Blue"), "150 cc", f"{mk8.NAME}: Morton in Blue Falcon", None),
    ],
)
def test_summary_of_races(
    name: str, version: str, place: Thing, rules: str, who: str, setup: dict[str, Any] | None
) -> None:
    start = first_of(GameStart, read(name, games()[name]))
    assert start is not None
    summary = describe(start)
    assert (summary.version, summary.place, summary.rules, summary.who) == (version, place, rules, who)
    assert not summary.versus
    [player] = summary.players
    assert player.human
    assert player.shown_name == (mk8.NAME if name == GHOST else "")
    if name == "race.gci":
        assert player.setup == {"character": {"id": 6, "name": "Blue Falcon"}, "color": 0, "human": True}
    assert setup is None or summary.setup == setup


def whole_logs() -> dict[str, bytes]:
    return {"match.slp": synthetic_match(seed=4, frames=200, stocks=1), **games()}


@pytest.mark.parametrize("name", whole_logs())
def test_summary_from_messages_equals_that_from_events(name: str) -> None:
    """Gateways and webhooks have only messages."""
    events = read(name, whole_logs()[name])
    start, end, metadata = first_of(GameStart, events), first_of(GameEnd, events), first_of(Metadata, events)
    assert start is not None
    assert end is not None
    described = DescribedGame.of(events)
    assert described is not None
    payloads: list[Any] = [
        {"format": start.format, "rate": start.rate, "settings": start.settings},
        {"reason": end.reason, "gameEnd": end.game_end, "winners": end.winners, **end.values},
        None if metadata is None else metadata.metadata,
    ]
    plain = msgspec.json.decode(msgspec.json.encode(payloads))
    read_back = DescribedGame.of_payloads(start.game_id, *plain)
    assert read_back.summary() == described.summary()
    assert described.summary().players
    record, record_read_back = described.record(), read_back.record()
    assert record_read_back.settings == record.settings
    assert msgspec.json.decode(msgspec.json.encode(record.summary), type=GameSummary) == record.summary
