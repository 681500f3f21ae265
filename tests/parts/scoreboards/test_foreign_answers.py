"""Arbitrary answers of a scoreboard program raise the error for it, and the client continues to work."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from slpstream.model.errors import SinkError
from slpstream.parts.scoreboards.board import board_of
from slpstream.parts.scoreboards.streamcontrol import StreamControl
from slpstream.parts.scoreboards.tournament_stream_helper import TournamentStreamHelper
from slpstream.system.http_client import PostResponse
from tests.foreign_answers import damaged
from tests.parts.scoreboards.helper_double import HelperDouble
from tests.sets.played_sets import Station, game, player

ROUNDS = 150
VIXEN, ALTEA = player(0, "Vixen"), player(1, "Altea")
BOARD = board_of(Station().play(game(1, VIXEN, ALTEA, winners=[1]), game(2, VIXEN, ALTEA)))
assert BOARD is not None


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
