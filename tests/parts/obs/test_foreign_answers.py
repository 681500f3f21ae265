"""Arbitrary answers of OBS raise the error for it, and the client continues to work."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from slpstream.model.errors import SinkError
from slpstream.parts.obs.session import ObsSession
from tests.foreign_answers import ODD, changed, damaged
from tests.parts.obs.obs_scene import Production

ROUNDS = 150


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
