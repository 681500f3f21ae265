"""Arbitrary answers of other programs raise the error for that program, and the client continues to work."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from slpstream.model.errors import FormatError, SinkError
from slpstream.parts.bracket.interface import HttpAnswer, Refused
from slpstream.parts.bracket.startgg.answers import bracket_set_of
from slpstream.parts.bracket.startgg.client import StartggBracket
from slpstream.parts.chat.sink import discord_post
from slpstream.parts.consoles.spectators.dolphin import DolphinSession
from slpstream.parts.consoles.spectators.messages import read_request
from slpstream.parts.deliveries.store import DeliveryStore
from slpstream.parts.obs.session import ObsSession
from slpstream.parts.playback_dolphin.commands import mirrored
from slpstream.parts.scoreboards.board import board_of
from slpstream.parts.scoreboards.streamcontrol import StreamControl
from slpstream.parts.scoreboards.tournament_stream_helper import TournamentStreamHelper
from slpstream.system.http_client import PostResponse
from tests.foreign_answers import ODD, changed, damaged
from tests.parts.bracket.pools import pools
from tests.parts.hooks import Hook
from tests.parts.obs.obs_scene import Production
from tests.parts.receivers import OK, FakeReceiver
from tests.parts.scoreboards.helper_double import HelperDouble
from tests.parts.scoreboards.sets import Station, game, player
from tests.stream.fakes import FakeLog, FakeStation

ROUNDS = 150
VIXEN, ALTEA = player(0, "Vixen"), player(1, "Altea")
BOARD = board_of(Station().play(game(1, VIXEN, ALTEA, winners=[1]), game(2, VIXEN, ALTEA)))
assert BOARD is not None


@pytest.mark.trio
async def test_arbitrary_answers_of_obs(clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random("obs")
    production = Production()
    answer, is_odd = production.obs.answer, [True]

    def odd_answer(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = changed(answer(kind, data) or {"x": 1}, chance) if is_odd[0] else answer(kind, data)
        return found

    monkeypatch.setattr(production.obs, "answer", odd_answer)
    async with production.running() as control:
        for number in range(1, 40):
            await production.play(number)
            await trio.sleep(40)
            production.obs.emit("CurrentProgramSceneChanged", sceneName=chance.choice(ODD))
            await production.end()
            await trio.sleep(40)
        is_odd[0] = False
        await trio.sleep(60)
        await production.play(100)
        await trio.sleep(60)
        assert production.obs.program == "Game"
        assert control.not_ready() == []


def test_arbitrary_messages_of_obs() -> None:
    chance = random.Random("messages of OBS")
    valid = [
        {"op": 0, "d": {"obsWebSocketVersion": "5.5.0", "authentication": {"challenge": "a", "salt": "b"}}},
        {"op": 2, "d": {"negotiatedRpcVersion": 1}},
        {"op": 5, "d": {"eventType": "CurrentProgramSceneChanged", "eventData": {"sceneName": "A"}}},
        {"op": 7, "d": {"requestType": "x", "requestId": "1", "requestStatus": {"code": 100, "comment": "ok"}}},
        {"op": 9, "d": {"requestId": "1", "results": [{"requestType": "x", "requestStatus": {"code": 100}}]}},
    ]
    for _ in range(ROUNDS):
        session = ObsSession("secret")
        for message in valid:
            with suppress(SinkError):
                session.receive(damaged(message, chance))
        session.messages_to_send()


@pytest.mark.trio
async def test_arbitrary_answers_of_chats(clock: MockClock) -> None:
    chance = random.Random("chat")
    for _ in range(ROUNDS):
        body = damaged({"code": 10015, "retry_after": 0.5, "message": "x"}, chance)

        async def send(*_: Any, body: bytes = body) -> PostResponse:
            return PostResponse(chance.choice([200, 400, 429]), "1", body)

        found = await discord_post(send)(None, [], b"", None, 1.0)  # type: ignore[arg-type]
        assert found.status in (200, 400, 410, 429)


@pytest.mark.trio
async def test_arbitrary_retry_after(store: DeliveryStore, clock: MockClock) -> None:
    chance = random.Random("pauses")
    odd = [
        "x",
        "-1",
        "1" * 5000,
        "²",
        "Wed, 99 Foo 2026 99:99:99 GMT",
        "Wed, 21 Oct 99999 07:28:00 GMT",
        ",,, ",
        "\xe9",
    ]
    odd += ["".join(chance.choices("WedOct ,:0123456789GMT+-", k=20)) for _ in range(100)]
    odd += ["Wed, 21 Oct 2026 07:28:00 +99999999999", "1 Jan 0001 00:00:00 GMT", "21 Oct 2026"]
    receiver = FakeReceiver(lambda _: PostResponse(503, odd.pop()) if odd else OK)
    station = FakeStation()
    async with Hook(store, receiver).running(station):
        station.play(FakeLog(1))
        while len(receiver.accepted) < 2:
            await trio.sleep(600)


@pytest.mark.trio
async def test_arbitrary_answers_of_tournament_stream_helper(clock: MockClock) -> None:
    chance = random.Random("TSH")
    double, is_odd = HelperDouble(), True

    async def send(method: str, path: str, body: bytes) -> PostResponse:
        response = await double(method, path, body)
        if not is_odd or chance.random() < 0.3:
            return response
        with suppress(ValueError):
            return response._replace(body=damaged(json.loads(response.body), chance))
        return response._replace(body=chance.randbytes(5))

    helper = TournamentStreamHelper("http://127.0.0.1:5000", send=send)
    for _ in range(ROUNDS):
        with suppress(SinkError):
            await helper.update(BOARD)
    is_odd = False
    await helper.update(BOARD)
    await trio.sleep(10)
    assert BOARD is not None
    assert double.names == [[each.shown_name for each in side.players] for side in BOARD.sides]


def test_arbitrary_file_of_streamcontrol(tmp_path: Path) -> None:
    chance, path = random.Random("StreamControl"), tmp_path / "streamcontrol.json"
    board = StreamControl(path, {"pName1": "name1"})
    for _ in range(ROUNDS):
        path.write_bytes(damaged({"pName1": "A", "timestamp": "1700000000", "more": [{"x": 1}]}, chance))
        with suppress(SinkError):
            board.update(BOARD)
    path.write_bytes(b'{"pName1": "A", "more": 5}')
    assert board.update(BOARD)
    assert json.loads(path.read_bytes())["more"] == 5


def test_arbitrary_file_of_playback_dolphin() -> None:
    chance = random.Random("Playback Dolphin")
    content = {"mode": "mirror", "replay": "/a.slp", "gameStation": "x", "queue": [{"path": "/b.slp"}]}
    for _ in range(ROUNDS):
        mirrored(damaged(content, chance))
    assert mirrored(json.dumps(content).encode()) is not None


def test_arbitrary_packets_of_dolphin_and_its_clients() -> None:
    chance = random.Random("Dolphin")
    valid = [
        {"type": "connect_reply", "cursor": 0, "nick": "x", "version": "1"},
        {"type": "start_game", "cursor": 0, "next_cursor": 1},
        {"type": "game_event", "cursor": 1, "next_cursor": 2, "payload": "NQ=="},
        {"type": "end_game", "cursor": 2, "next_cursor": 3, "dolphin_closed": False},
    ]
    for _ in range(ROUNDS):
        session = DolphinSession()
        session.connect()
        for message in valid:
            with suppress(FormatError):
                session.receive(damaged(message, chance) if chance.random() < 0.5 else json.dumps(message).encode())
        read_request(damaged({"type": "connect_request", "cursor": 5}, chance))


@pytest.mark.trio
async def test_arbitrary_answers_of_startgg(autojump_clock: MockClock) -> None:
    chance = random.Random("start.gg")
    double, is_odd = pools(), True
    connection = double.connection()

    async def request(*arguments: Any) -> HttpAnswer:
        found = await connection.request(*arguments)
        if not is_odd or chance.random() < 0.5:
            return found
        return found._replace(body=damaged(json.loads(found.body), chance))

    for number in range(ROUNDS):
        bracket = StartggBracket(connection._replace(request=request))
        for ask in (
            bracket.check, bracket.stations, bracket.open_sets, bracket.stream_queues,
            lambda bracket=bracket: bracket.changed_sets(0), lambda bracket=bracket: bracket.read("1"),
            lambda bracket=bracket: bracket.call("1"),
        ):  # fmt: skip
            with suppress(Refused):
                await ask()
        if number == ROUNDS - 2:
            is_odd = False
    assert await bracket.stations()
    assert await bracket.open_sets()


@pytest.mark.trio
@pytest.mark.parametrize(
    ("ask", "data"),
    [
        ("stations", {"tournament": {"stations": 5}}),
        ("stations", {"tournament": {"stations": [5]}}),
        ("stations", {"tournament": {"stations": {"nodes": 5, "pageInfo": {"totalPages": "x"}}}}),
        ("check", {"currentUser": {"tournaments": {"nodes": 5}}}),
        ("check", {"currentUser": {"tournaments": {"nodes": True}}}),
        ("stream_queues", {"streamQueue": [{"sets": 5, "stream": 5}]}),
        ("open_sets", {"event": {"sets": {"nodes": [5, {"id": 1, "state": [1]}]}}}),
    ],
)
async def test_answers_of_startgg_with_other_types(ask: str, data: Any, autojump_clock: MockClock) -> None:
    double = pools()
    double.instead = lambda operation, asked: (
        None if operation == "Event" else (200, json.dumps({"data": data}).encode())
    )
    bracket = StartggBracket(double.connection())
    with suppress(Refused):
        await getattr(bracket, ask)()
    double.instead = lambda operation, asked: None
    assert await bracket.stations()
    assert await bracket.open_sets()


def test_numbers_of_any_size_from_startgg() -> None:
    node = {
        "id": "9" * 5000, "fullRoundText": "Final", "round": 1,
        "slots": [{"standing": {"stats": {"score": {"value": 1e300}}}}],
        "phaseGroup": {"id": "9" * 5000, "displayIdentifier": "1", "bracketType": 1, "phase": {"id": 1, "name": "P"}},
        "event": {"id": 1, "name": "E", "slug": "e", "tournament": {"id": 1, "name": "T", "slug": "t"}},
    }  # fmt: skip
    with pytest.raises(Refused):
        bracket_set_of(node)
    found = bracket_set_of({**node, "slots": []})
    assert found.context["startgg"]["phaseGroup"]["id"] == "9" * 5000
