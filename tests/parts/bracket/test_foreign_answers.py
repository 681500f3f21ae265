"""Arbitrary answers of start.gg raise the error for it, and the client continues to work."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import pytest
from trio.testing import MockClock

from slpstream.parts.bracket.interface import HttpAnswer, Refused
from slpstream.parts.bracket.startgg.answers import bracket_set_of
from slpstream.parts.bracket.startgg.client import StartggBracket
from tests.foreign_answers import damaged
from tests.parts.bracket.pools import pools

ROUNDS = 150


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
