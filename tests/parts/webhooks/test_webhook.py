"""Webhooks: all deliveries arrive, signed, in order and once per key, despite failing receivers and kills."""

from __future__ import annotations

import random
import shutil
import ssl
import subprocess
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from slpstream.model.errors import SinkError
from slpstream.parts.deliveries.deliverer import MAX_REFUSALS, MAX_WAITING
from slpstream.parts.deliveries.store import DeliveryStore
from slpstream.parts.services import Delivery
from slpstream.system.http_client import PostResponse, post, signature, target_of
from slpstream.system.internal_errors import InternalErrors
from tests.parts.receivers import OK, SECRET, FakeReceiver, Request, real_receiver, verified
from tests.parts.webhooks.hooks import ALL, Hook, keys_of, unique
from tests.project import IN_CI
from tests.stream.fakes import FakeLog, FakeStation
from tests.virtual_time import START

pytestmark = pytest.mark.trio


async def until_accepted(receiver: FakeReceiver, count: int) -> None:
    with trio.fail_after(3600):
        while len(receiver.accepted) < count:
            await trio.sleep(1)


async def test_start_and_end_of_a_game_are_delivered(store: DeliveryStore, clock: MockClock) -> None:
    station, receiver, log = FakeStation(), FakeReceiver(), FakeLog(1)
    async with Hook(store, receiver).running(station) as hook:
        station.play(log)
        await until_accepted(receiver, 2)
        assert hook.outcomes == {"delivered": 2}
    start, end = (request.json for request in receiver.accepted)
    whole = {message.type: message for message in log.whole()}
    assert receiver.keys == keys_of(log)
    assert start["type"] == "game_start"
    assert start.items() >= {"station": "main", "gameId": log.game_id, "format": "fake"}.items()
    assert end["type"] == "game_end"
    assert end["cursor"] == whole["game_end"].cursor
    assert end["settings"] == start["settings"]
    assert end["summary"] == start["summary"] == {"rules": "fake"}
    assert end["winners"] == []
    assert start["at"].endswith("Z")
    assert all(verified(request) for request in receiver.accepted)
    assert {request.headers["x-slpstream-event"] for request in receiver.accepted} == {"game_start", "game_end"}
    assert not store.count("hook")


@pytest.mark.parametrize("times", [1, 3])
async def test_webhook_recovers_from_bugs(times: int, store: DeliveryStore, clock: MockClock) -> None:
    station, failures = FakeStation(), [KeyError("a bug")] * times

    def respond(_: Request) -> PostResponse:
        if failures:
            raise failures.pop()
        return OK

    receiver = FakeReceiver(respond)
    hook = Hook(store, receiver)
    errors = InternalErrors(strict=False)
    logs = [FakeLog(1), FakeLog(2)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(errors.keep_running, "webhook", hook.sink.run)
        nursery.start_soon(hook.sink.follow, station.channel)
        for number, log in enumerate(logs, 1):
            station.play(log)
            hook.sink.set_changed("main", {"setId": log.game_id})
            await until_accepted(receiver, 3 * number)
        nursery.cancel_scope.cancel()
    assert unique(receiver.keys) == receiver.keys
    assert set(receiver.keys) >= {key for log in logs for key in keys_of(log)}


async def test_game_end_has_the_last_stats(store: DeliveryStore, clock: MockClock) -> None:
    station, receiver = FakeStation(), FakeReceiver()
    log = FakeLog(3, batches=60)
    newest = [m for m in log.whole() if m.type == "stats"][-1]
    async with Hook(store, receiver, events=frozenset({"game_end"})).running(station):
        station.play(log)
        await until_accepted(receiver, 1)
    assert f'"n":{receiver.accepted[0].json["stats"]["n"]}}}'.encode() in newest.body


async def test_kill_at_any_step_neither_loses_nor_reorders_deliveries(store: DeliveryStore, clock: MockClock) -> None:
    for seed in range(30):
        await run_with_kills(store, seed)


async def run_with_kills(store: DeliveryStore, seed: int) -> None:
    rng = random.Random(f"killed {seed}")
    logs = [FakeLog(100 * (seed + 1) + n, batches=rng.randint(1, 6)) for n in range(6)]
    receiver = FakeReceiver(lambda request: OK if rng.random() < 0.7 else PostResponse(500, ""))
    played: list[FakeLog] = []
    for run in range(3):
        station = FakeStation(f"seed{seed}")
        station.archived(*played)
        async with Hook(store, receiver, seed=seed).running(station):
            for log in logs[2 * run : 2 * run + 2]:
                station.play(log)
                played.append(log)
                # Without stored offsets, a game played before the start is not delivered.
                await trio.sleep(1 if log is logs[0] else rng.choice((0.05, 0.2, 3)))
            for _ in range(rng.randint(0, 40)):
                await trio.lowlevel.checkpoint()
        # killed here: between storing and posting, or between the response and recording it
    station = FakeStation(f"seed{seed}")
    station.archived(*played)
    async with Hook(store, receiver, seed=seed).running(station):
        with trio.fail_after(3600):
            while unique(receiver.keys) != [key for log in logs for key in keys_of(log)]:
                await trio.sleep(1)
    bodies = {request.key: request.body for request in receiver.accepted}
    assert all(bodies[request.key] == request.body for request in receiver.accepted)
    assert all(verified(request) for request in receiver.requests)


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("120", 120),
        (formatdate(START + 200, usegmt=True), 199),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 0),
        ("Mon, 32 Jan 2026 25:00:00", 0),
        ("soon", 0),
    ],
)
async def test_retry_after(store: DeliveryStore, clock: MockClock, retry_after: str, seconds: float) -> None:
    station = FakeStation()
    receiver = FakeReceiver(lambda request: PostResponse(503, retry_after) if len(receiver.requests) == 1 else OK)
    async with Hook(store, receiver).running(station):
        station.play(FakeLog(1))
        await until_accepted(receiver, 2)
    assert seconds <= receiver.accepted[0].at - receiver.requests[0].at < max(seconds, 60) + 5


@pytest.mark.parametrize("is_given_up", [True, False])
async def test_refused_delivery_does_not_delay_other_stations(
    store: DeliveryStore, clock: MockClock, is_given_up: bool
) -> None:
    """A delivery that the receiver calls invalid is dropped after a few attempts; one that fails there is retried."""
    bad, good = FakeStation("bad"), FakeStation("good")
    logs = FakeLog(1), FakeLog(2)
    first = keys_of(logs[0])[0]
    refusal = PostResponse(422 if is_given_up else 500, "")
    receiver = FakeReceiver(lambda request: refusal if request.key == first else OK)
    async with Hook(store, receiver).running(bad, good) as hook:
        bad.play(logs[0])
        good.play(logs[1])
        await until_accepted(receiver, 2)
        assert receiver.keys == keys_of(logs[1])
        if is_given_up:
            await until_accepted(receiver, 3)
            assert hook.outcomes == {"retried": MAX_REFUSALS - 1, "rejected": 1, "delivered": 3}
            assert [request.key for request in receiver.requests].count(first) == MAX_REFUSALS
            assert receiver.keys[2:] == keys_of(logs[0])[1:]


async def test_gone_stops_the_webhook_until_the_next_start(store: DeliveryStore, clock: MockClock) -> None:
    station, log, later = FakeStation(), FakeLog(1), FakeLog(2)
    receiver = FakeReceiver(lambda request: PostResponse(410, ""))
    async with Hook(store, receiver).running(station) as hook:
        station.play(log)
        await trio.sleep(10)
        assert hook.sink.gone
        station.play(later)
        await trio.sleep(600)
        assert len(receiver.requests) == 1
    receiver.respond = lambda request: OK
    async with Hook(store, receiver).running(station):
        await until_accepted(receiver, 4)
    assert receiver.keys == keys_of(log) + keys_of(later)


async def test_deliveries_expire(store: DeliveryStore, clock: MockClock) -> None:
    station = FakeStation()
    receiver = FakeReceiver(lambda request: "Connection refused")
    async with Hook(store, receiver, keep_seconds=1000).running(station) as hook:
        station.play(FakeLog(1))
        await trio.sleep(900)
        assert store.count("hook") == hook.deliverer.waiting == 2
        assert hook.deliverer.lag_seconds > 800
        await trio.sleep(300)
        assert store.count("hook") == 0
        assert hook.outcomes["given_up"] == 2
        receiver.respond = lambda request: OK
        log = FakeLog(2)
        station.play(log)
        await until_accepted(receiver, 2)
    assert receiver.keys == keys_of(log)


async def test_changed_sets_are_delivered(store: DeliveryStore, clock: MockClock) -> None:
    station, receiver = FakeStation(), FakeReceiver()
    first = {"setId": "s1", "score": [0, 0], "players": []}
    second = {**first, "score": [1, 0]}
    async with Hook(store, receiver).running(station) as hook:
        for payload in (first, second, second, first):
            hook.sink.set_changed("main", payload)
            await trio.sleep(5)
        assert [request.json["score"] for request in receiver.accepted] == [[0, 0], [1, 0], [0, 0]]
        assert len(set(receiver.keys)) == 3  # the first state again: a new delivery
        assert all(key.startswith("s1/") for key in receiver.keys)
        assert receiver.accepted[0].json.items() >= {"type": "set", "station": "main", "setId": "s1"}.items()
        for score in range(100):
            hook.sink.set_changed("main", {**first, "score": [score, 0]})
        await trio.sleep(5)
        assert len(receiver.accepted) == 4
        assert receiver.accepted[-1].json["score"] == [99, 0]
    async with Hook(store, receiver).running(station) as hook:
        hook.sink.set_changed("main", {**first, "score": [99, 0]})  # as after a restart
        await trio.sleep(5)
        assert len(receiver.accepted) == 4
        hook.sink.set_changed("main", {"score": [0, 0], "players": []})
        await trio.sleep(5)
        assert receiver.keys[-1].startswith("upcoming/")


async def test_only_configured_events_are_delivered(store: DeliveryStore, clock: MockClock) -> None:
    station, receiver = FakeStation(), FakeReceiver()
    async with Hook(store, receiver, events=ALL - {"game_start", "set"}).running(station) as hook:
        hook.sink.set_changed("main", {"setId": "s1"})
        station.play(FakeLog(1))
        await until_accepted(receiver, 1)
        await trio.sleep(10)
    assert [request.json["type"] for request in receiver.accepted] == ["game_end"]


async def test_full_store_loses_nothing(store: DeliveryStore, clock: MockClock) -> None:
    """Deliveries that cannot be stored are postponed, and not lost."""
    full = True

    class FullStore:
        def __getattr__(self, name: str) -> object:
            def method(*args: object, **options: object) -> object:
                if full and name.startswith("store"):
                    raise SinkError("deliveries: database or disk is full")
                return getattr(store, name)(*args, **options)

            return method

    station, receiver, log = FakeStation(), FakeReceiver(), FakeLog(1)
    async with Hook(FullStore(), receiver).running(station):  # type: ignore[arg-type]
        station.play(log)
        await trio.sleep(30)
        assert not receiver.requests
        full = False
        await until_accepted(receiver, 2)
    assert receiver.keys == keys_of(log)


async def test_real_receiver_verifies_the_signature() -> None:
    with real_receiver() as receiver:
        receiver.body = b"thank you"
        target = target_of(receiver.url)
        body = b'{"type":"game_start"}'
        headers = [
            ("idempotency-key", "k"),
            ("x-slpstream-timestamp", "17"),
            ("x-slpstream-signature", signature(SECRET, 17, body)),
        ]
        assert await post(target, headers, body, None, 10) == PostResponse(204, "")
        assert verified(receiver.accepted[0])
        assert receiver.paths == ["/hook?room=1"]
        assert receiver.accepted[0].body == body
        sent = receiver.accepted[0]
        assert not verified(Request(sent.at, sent.key, sent.headers, b'{"type":"game_end"}'))
        receiver.status, receiver.headers = 429, {"retry-after": "7", "location": "http://127.0.0.1:1/elsewhere"}
        response = await post(target, headers, body, None, 10)
        assert (response.status, response.retry_after) == (429, "7")
        receiver.status = 302
        assert (await post(target, headers, body, None, 10)).status == 302  # redirects are not followed


@pytest.mark.not_on_windows("Wine has no message for a refused connection")
async def test_failures_without_a_response(nursery: trio.Nursery) -> None:
    async def reason(data: bytes, timeout_seconds: float = 10.0) -> str:
        async def serve(stream: trio.SocketStream) -> None:
            await stream.receive_some()
            await stream.send_all(data)
            if data.startswith(b"slow"):
                await trio.sleep_forever()

        listeners = await nursery.start(
            lambda task_status: trio.serve_tcp(serve, 0, host="127.0.0.1", task_status=task_status)
        )
        port = listeners[0].socket.getsockname()[1]
        target = target_of(f"http://127.0.0.1:{port}/")
        with pytest.raises(SinkError) as raised:
            await post(target, [], b"{}", None, timeout_seconds)
        return raised.value.what

    assert await reason(b"slow", 0.2) == "no answer within 0.2 s"
    assert await reason(b"SSH-2.0-OpenSSH_9.2\r\n")
    assert await reason(b"")
    closed = trio.socket.socket()
    await closed.bind(("127.0.0.1", 0))
    with closed, pytest.raises(SinkError, match="refused"):
        await post(target_of(f"http://127.0.0.1:{closed.getsockname()[1]}/"), [], b"", None, 10)
    nursery.cancel_scope.cancel()


@pytest.mark.skipif(shutil.which("openssl") is None and not IN_CI, reason="openssl is missing; only CI requires it")
async def test_https_checks_the_certificate(tmp_path: Path, nursery: trio.Nursery) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    await trio.run_process([*command, "-keyout", str(key), "-out", str(certificate)], stderr=subprocess.DEVNULL)
    ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ours.load_cert_chain(certificate, key)
    received: list[bytes] = []

    async def serve(stream: trio.SSLStream[trio.SocketStream]) -> None:
        try:
            received.append(bytes(await stream.receive_some()))
            await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        except trio.BrokenResourceError:
            pass  # a client that does not trust the server sends nothing

    listeners = await nursery.start(
        lambda task_status: trio.serve_ssl_over_tcp(
            serve, 0, ours, host="127.0.0.1", https_compatible=True, task_status=task_status
        )
    )
    port = listeners[0].transport_listener.socket.getsockname()[1]
    target = target_of(f"https://127.0.0.1:{port}/hook")
    with pytest.raises(SinkError, match=r"^certificate: self.signed certificate"):
        await post(target, [], b"{}", ssl.create_default_context(), 10)
    trusting = ssl.create_default_context(cafile=str(certificate))
    assert (await post(target, [], b"{}", trusting, 10)).status == 200
    [request] = [data for data in received if data]
    assert request.startswith(b"POST /hook HTTP/1.1\r\n")
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org",
        "example.org",
        "http://",
        "https://example.org:99999/",
        pytest.param(f"http://{chr(0xE9) * 300}/", id="a name that is too long"),
    ],
)
async def test_invalid_urls(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        target_of(url)


async def test_urls() -> None:
    assert target_of("https://user:word@example.org/a?b#c") == (True, "example.org", 443, "/a?b", "example.org")
    assert target_of("https://bücher.example/é/%C3%A9?a=b c&d=[1]")[1:4] == (
        "xn--bcher-kva.example",
        443,
        "/%C3%A9/%C3%A9?a=b%20c&d=[1]",
    )
    assert target_of("http://[::1]:8080")[3:] == ("/", "[::1]:8080")


async def test_store_is_bounded(store: DeliveryStore) -> None:
    deliveries = [Delivery(str(n), "set", b"{}") for n in range(50)]
    store.store("hook", "main", deliveries, 1000, offsets="[]", running_games="{}")
    store.store("hook", "main", deliveries[40:], 1000, offsets="[]", running_games="{}")  # already stored
    assert store.count("hook") == 50
    assert store.expire("hook", before_ms=1000, max_count=MAX_WAITING) == 0
    assert store.expire("hook", before_ms=1000, max_count=20) == 30
    assert [delivery.key for delivery in store.oldest_per_station("hook")] == ["30"]
    assert store.expire("hook", before_ms=1001, max_count=20) == 20
    for n in range(600):
        store.store_set("hook", "main", Delivery(f"{n}/x", "set", b"{}"), 9000 + n, set_id=str(n), digest="x")
    assert store.last_of_set("hook", "main", "87") is None
    assert store.last_of_set("hook", "main", "88") == ("x", "88/x")
    store.store_set("hook", "main", None, 5, set_id="after the clock was set back", digest="x")
    assert store.last_of_set("hook", "main", "after the clock was set back") is not None
    store.retain({"other"})
    assert store.count("hook") == 0
    assert store.progress("hook", "main") is None


async def test_repeated_situations_are_delivered_once(store: DeliveryStore, clock: MockClock) -> None:
    station, receiver = FakeStation(), FakeReceiver()

    def found(number: int, query: str = "kill", game_id: str = "g1") -> dict[str, Any]:
        return {"gameId": game_id, "name": "Kill", "query": query, "number": number, "frames": [number]}

    async with Hook(store, receiver).running(station) as hook:
        for number in (1, 2):
            await hook.sink.situation_found("main", found(number))
        await trio.sleep(5)
    async with Hook(store, receiver).running(station) as hook:  # as after a restart in the middle of the game
        for payload in (found(1), found(2), found(3), found(1, "hit"), found(1, game_id="g2")):
            await hook.sink.situation_found("main", payload)
        await trio.sleep(5)
    sent = [(request.json["gameId"], request.json["query"], request.json["number"]) for request in receiver.accepted]
    assert sent == [("g1", "kill", 1), ("g1", "kill", 2), ("g1", "kill", 3), ("g1", "hit", 1), ("g2", "kill", 1)]
    assert len(set(receiver.keys)) == 5
    assert receiver.accepted[0].json.items() >= {"type": "situation", "station": "main", "frames": [1]}.items()
    async with Hook(store, receiver, events=ALL - {"situation"}).running(station) as hook:
        await hook.sink.situation_found("main", found(4))
        await trio.sleep(5)
    assert len(receiver.accepted) == 5
