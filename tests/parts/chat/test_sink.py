"""Each result is posted once, even across restarts, and results of old replays are never posted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import pytest
import trio
from trio.testing import MockClock

from slpstream.parts.chat.messages import Templates
from slpstream.parts.chat.part import CHAT_PLACEHOLDERS
from slpstream.parts.chat.sink import ChatEvent, ChatSink, discord_post
from slpstream.parts.chat.template import Template
from slpstream.parts.deliveries.deliverer import Deliverer
from slpstream.parts.deliveries.store import DeliveryStore
from slpstream.parts.services import Meetings, Receiver
from slpstream.system.http_client import Post, PostResponse
from slpstream.system.internal_errors import InternalErrors
from tests.parts.chat.discord_double import DiscordDouble, answer
from tests.sets.played_sets import Station, game, player
from tests.stream.fakes import FakeLog, FakeStation
from tests.virtual_time import now

pytestmark = pytest.mark.trio
VIXEN, ALTEA = player(0, "Vixen"), player(1, "Altea")
ALL: frozenset[ChatEvent] = frozenset({"game_end", "set_end"})
TEMPLATES = Templates(
    game=Template("game {game}: {winner}", CHAT_PLACEHOLDERS["game_message"]),
    start=Template("{first}-{second}: {first_games}-{second_games}", CHAT_PLACEHOLDERS["start_message"]),
    set=Template("set: {winner} {winner_score}-{loser_score}", CHAT_PLACEHOLDERS["set_message"]),
    link=Template("", ()),
)


def fail(*_: object) -> NoReturn:
    raise KeyError("a bug")


class Room:
    """One run of a chat sink, and the station whose results it posts."""

    def __init__(
        self,
        store: DeliveryStore,
        double: DiscordDouble,
        events: frozenset[ChatEvent] = ALL,
        *,
        post: Post | None = None,
    ) -> None:
        receiver = Receiver("chat", "discord.com", "http://discord.com/api/webhooks/1/x", b"", 10.0, 6 * 3600.0, "x")
        self.deliverer = deliverer = Deliverer(
            receiver, store, post=discord_post(post or double), wall_clock=now, rng=random.Random(1)
        )
        self.sink = ChatSink(
            deliverer, store, id="chat", name="discord.com", templates=TEMPLATES, events=events, stations=None,
            meetings=self._meetings, wall_clock=now,
        )  # fmt: skip
        self.meetings: Meetings | None = None
        self.station = FakeStation("main")

    async def _meetings(self, station: str) -> Meetings | None:
        return self.meetings

    def begin(self, number: int) -> None:
        """Begin a game with these messages in the station's log."""
        log = FakeLog(number, batches=0)
        self.station.write(self.station.begin(log))

    async def show(self, payload: dict[str, Any], seconds: float = 5.0) -> None:
        self.sink.set_changed("main", payload)
        await trio.sleep(seconds)


@asynccontextmanager
async def room(*arguments: Any) -> AsyncIterator[Room]:
    here = Room(*arguments)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(here.sink.run)
        nursery.start_soon(here.sink.follow, here.station.channel)
        await trio.testing.wait_all_tasks_blocked()
        yield here
        nursery.cancel_scope.cancel()


async def test_games_and_sets_are_posted_once(store: DeliveryStore, clock: MockClock) -> None:
    double, station = DiscordDouble(), Station()
    async with room(store, double) as here:
        here.begin(1)
        await here.show(station.play(game(1, VIXEN, ALTEA)))
        assert double.contents == []
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[1])))
        await here.show(station.correct(names={"0": "Vix"}))
        assert double.contents == ["game 1: Altea"]
        here.begin(2)
        await here.show(station.play(game(2, VIXEN, ALTEA, winners=[1])))
        assert double.contents == ["game 1: Altea", "game 2: Altea", "set: Altea 2-0"]
        await here.show(station.correct(names={"1": "A. Tea"}))
        assert len(double.contents) == 3
        await here.show(station.correct(score={"0": 1}))
        assert double.contents[3:] == [r"set: A. Tea 2-1"]


async def test_only_configured_events_are_posted(store: DeliveryStore, clock: MockClock) -> None:
    double, station = DiscordDouble(), Station()
    async with room(store, double, frozenset({"set_end"})) as here:
        here.begin(1)
        here.begin(2)
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[1]), game(2, VIXEN, ALTEA, winners=[1])))
    assert double.contents == ["set: Altea 2-0"]


async def test_earlier_games_are_posted_once_in_the_first_game(store: DeliveryStore, clock: MockClock) -> None:
    double, station = DiscordDouble(), Station()
    wanted: frozenset[ChatEvent] = frozenset({"set_start", "set_end"})
    async with room(store, double, wanted) as here:
        here.begin(1)
        await here.show(station.play(game(1, VIXEN, ALTEA)))
        here.meetings = Meetings("another set", ["Vixen", "Altea"], [1, 0], [2, 0], None)
        await here.show(station.correct(names={"0": "Vix"}))
        assert double.contents == []  # nothing is known about this set yet
        here.meetings = here.meetings._replace(set_id=station.payload["setId"])
        await here.show(station.correct(names={"0": "Vixen"}))
        await here.show(station.correct(round="Pools"))
        assert double.contents == ["Vixen-Altea: 2-0"]
    async with room(store, double, wanted) as here:
        here.meetings = Meetings(station.payload["setId"], ["Vixen", "Altea"], [1, 0], [2, 0], None)
        await here.show(station.payload)
        here.begin(2)
        await here.show(station.play(game(2, VIXEN, ALTEA, match="next")))
        assert double.contents == ["Vixen-Altea: 2-0"]  # these are the earlier games of the other set
        here.meetings = here.meetings._replace(set_id=station.payload["setId"])
        await here.show(station.play(game(2, VIXEN, ALTEA, winners=[1], match="next")))
        assert double.contents == ["Vixen-Altea: 2-0"]  # the first game is over


async def test_results_of_old_replays_are_not_posted(store: DeliveryStore, clock: MockClock) -> None:
    double, station = DiscordDouble(), Station()
    async with room(store, double) as here:
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[1])))
        await here.show(station.play(game(2, VIXEN, ALTEA, winners=[1])))
        assert double.contents == []
        here.begin(3)
        await here.show(station.play(game(3, VIXEN, ALTEA, winners=[0], match="next")))
        assert double.contents == ["game 1: Vixen"]


async def test_results_during_a_restart_are_posted_once(store: DeliveryStore, clock: MockClock) -> None:
    double, station = DiscordDouble(), Station()
    async with room(store, double) as here:
        here.begin(1)
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[1]), game(2, VIXEN, ALTEA)))
    async with room(store, double) as here:
        await here.show(station.payload)
        assert double.contents == ["game 1: Altea"]
        await here.show(station.play(game(2, VIXEN, ALTEA, winners=[1])))
    async with room(store, double) as here:
        await here.show(station.payload)
    assert double.contents == ["game 1: Altea", "game 2: Altea", "set: Altea 2-0"]


@pytest.mark.parametrize("times", [1, 3])
async def test_chat_recovers_from_bugs(times: int, store: DeliveryStore, clock: MockClock) -> None:
    double, station, failures = DiscordDouble(), Station(), [KeyError("a bug")] * times

    async def post(*arguments: Any) -> PostResponse:
        if failures:
            raise failures.pop()
        return await double(*arguments)

    here = Room(store, double, post=post)
    errors = InternalErrors(strict=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(errors.keep_running, "chat", here.sink.run)
        nursery.start_soon(here.sink.follow, here.station.channel)
        await trio.testing.wait_all_tasks_blocked()
        here.begin(1)
        await here.show(station.play(game(1, VIXEN, ALTEA, winners=[1])), seconds=60.0)
        assert double.contents == ["game 1: Altea"]
        here.begin(2)
        await here.show(station.play(game(2, VIXEN, ALTEA, winners=[1])))
        assert double.contents[1:] == ["game 2: Altea", "set: Altea 2-0"]
        nursery.cancel_scope.cancel()


async def test_bug_while_composing_loses_no_messages(
    store: DeliveryStore, clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    double, station = DiscordDouble(), Station()
    here = Room(store, double)
    errors = InternalErrors(strict=False)
    with monkeypatch.context() as patch:
        patch.setattr(DeliveryStore, "last_of_set", fail)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(errors.keep_running, "chat", here.sink.run)
            nursery.start_soon(here.sink.follow, here.station.channel)
            await trio.testing.wait_all_tasks_blocked()
            here.begin(1)
            await here.show(station.play(game(1, VIXEN, ALTEA, winners=[1])))
            assert double.contents == []
            patch.undo()
            await trio.sleep(60)
            assert double.contents == ["game 1: Altea"]
            nursery.cancel_scope.cancel()


async def test_permanently_failing_message_does_not_block_others(
    store: DeliveryStore, clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each failure cancels the posts in progress, which would then be posted again and again."""
    double, station = DiscordDouble(), Station()
    last_of_set = DeliveryStore.last_of_set

    def failing(self: DeliveryStore, id: str, station: str, set_id: str) -> tuple[str, str] | None:
        return fail() if station == "broken" else last_of_set(self, id, station, set_id)

    async def slow(*arguments: Any) -> PostResponse:
        response = await double(*arguments)
        await trio.sleep(4)
        return response

    monkeypatch.setattr(DeliveryStore, "last_of_set", failing)
    here, failures = Room(store, double, post=slow), Counter[str]()
    errors = InternalErrors(lambda part: failures.update([part]), strict=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(errors.keep_running, "chat", here.sink.run)
        nursery.start_soon(here.sink.follow, here.station.channel)
        await trio.testing.wait_all_tasks_blocked()
        here.begin(1)
        payload = station.play(game(1, VIXEN, ALTEA, winners=[1]))
        here.sink.set_changed("broken", payload)
        await here.show(payload, seconds=3600)
        assert (failures, here.deliverer.waiting) == ({"chat": 5}, 0)
        nursery.cancel_scope.cancel()
    assert set(double.contents) == {"game 1: Altea"}


@pytest.mark.parametrize(
    ("response", "status", "retry_after"),
    [
        (answer(429, {"retry_after": 0.2}), 429, "1"),
        (answer(429, {"retry_after": -1}), 429, "0"),
        (PostResponse(429, "7", b"<html>"), 429, "7"),
        (PostResponse(429, "7", b'{"retry_after": 1e999}'), 429, "7"),
        (PostResponse(429, "7", b'{"retry_after": "soon"}'), 429, "7"),
        (answer(401, {"code": 50027}), 410, ""),
        (answer(404, {"code": 0}), 404, ""),
        (answer(200, {"code": 10015}), 200, ""),
    ],
)
async def test_answers_of_discord(response: PostResponse, status: int, retry_after: str, clock: MockClock) -> None:
    async def send(*_: Any) -> PostResponse:
        return response

    sent: Callable[..., Any] = discord_post(send)
    found = await sent(None, [], b"", None, 1.0)
    assert (found.status, found.retry_after) == (status, retry_after)
