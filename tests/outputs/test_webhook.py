"""Webhooks: everything arrives, signed, in order, once per key, whatever the receiver does and whenever we die."""

from __future__ import annotations

import random
import shutil
import sqlite3
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from slpstream.model.errors import SinkError
from slpstream.outputs.delivery import MAX_REFUSALS, MAX_WAITING, Delivery
from slpstream.outputs.post import Answer, post, target_of
from slpstream.store.deliveries import DeliveryStore
from tests.outputs.hooks import ALL, EPOCH, Hook, inline, open_store, order_of, told
from tests.outputs.receivers import OK, FakeReceiver, Got, real_receiver, verified
from tests.shared_data import IN_CI
from tests.stream.fakes import FakeLog, FakeStation

pytestmark = pytest.mark.trio


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DeliveryStore]:
    store = open_store(tmp_path)
    yield store
    store.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MockClock:
    """Virtual time."""
    monkeypatch.setattr(trio.to_thread, "run_sync", inline)
    return MockClock(autojump_threshold=0)


async def until_told(receiver: FakeReceiver, count: int) -> None:
    with trio.fail_after(3600):
        while len(receiver.took) < count:
            await trio.sleep(1)


async def test_start_and_end_of_a_game(store: DeliveryStore, clock: MockClock) -> None:
    station, receiver, log = FakeStation(), FakeReceiver(), FakeLog(1)
    async with Hook(store, receiver).running(station) as hook:
        station.play(log)
        await until_told(receiver, 2)
        assert hook.outcomes == {"delivered": 2}
    start, end = (got.json for got in receiver.took)
    whole = {message.type: message for message in log.whole()}
    assert receiver.keys == told(log)
    assert start["type"] == "game_start"
    assert start.items() >= {"station": "main", "gameId": log.game_id, "format": "fake"}.items()
    assert end["type"] == "game_end"
    assert end["cursor"] == whole["game_end"].cursor
    assert end["settings"] == start["settings"]
    assert end["summary"] == start["summary"] == {"rules": "fake"}
    assert end["winners"] == []
    assert start["at"].endswith("Z")
    assert all(verified(got) for got in receiver.took)
    assert {got.headers["x-slpstream-event"] for got in receiver.took} == {"game_start", "game_end"}
    assert not store.waiting("hook")


async def test_the_stats_of_the_end_are_told(store: DeliveryStore, clock: MockClock) -> None:
    station, receiver = FakeStation(), FakeReceiver()
    log = FakeLog(3, batches=60)
    newest = [m for m in log.whole() if m.type == "stats"][-1]
    async with Hook(store, receiver, events=frozenset({"game_end"})).running(station):
        station.play(log)
        await until_told(receiver, 1)
    assert f'"n":{receiver.took[0].json["stats"]["n"]}}}'.encode() in newest.body


async def test_a_receiver_that_is_down_for_a_minute(store: DeliveryStore, clock: MockClock) -> None:
    """Every delivery arrives later, once per key."""
    stations = [FakeStation(f"setup{i}") for i in range(3)]
    logs = {station: [FakeLog(10 * i + n, batches=5) for n in range(4)] for i, station in enumerate(stations)}

    def answer(got: Got) -> Answer | str:
        if got.at >= 60:
            return OK
        return chance.choice(("Connection refused", "no answer within 10 s", Answer(503, ""), Answer(302, "")))

    chance = random.Random(1)
    receiver = FakeReceiver(answer)
    async with Hook(store, receiver).running(*stations) as hook:
        for n in range(4):
            for station in stations:
                station.play(logs[station][n])
            await trio.sleep(10)
        assert trio.current_time() < 60
        assert hook.sink.waiting == 24
        assert hook.sink.lag_seconds > 20
        await until_told(receiver, 24)
        assert hook.sink.lag_seconds == 0
    assert all(got.at >= 60 for got in receiver.took)
    assert len(receiver.asked) > len(receiver.took)
    for station in stations:
        mine = [got.key for got in receiver.took if got.json["station"] == station.channel.station]
        assert mine == [key for log in logs[station] for key in told(log)]  # in order, once per key
    assert receiver.took[-1].at < 150  # who is back is found within a minute or so


async def test_killed_at_any_step_everything_arrives_in_order(store: DeliveryStore, clock: MockClock) -> None:
    for seed in range(30):
        await killed(store, seed)


async def killed(store: DeliveryStore, seed: int) -> None:
    chance = random.Random(f"killed {seed}")
    logs = [FakeLog(100 * (seed + 1) + n, batches=chance.randint(1, 6)) for n in range(6)]
    receiver = FakeReceiver(lambda got: OK if chance.random() < 0.7 else Answer(500, ""))
    played: list[FakeLog] = []
    for at in range(3):
        station = FakeStation(f"seed{seed}")
        station.archived(*played)
        async with Hook(store, receiver, seed=seed).running(station):
            for log in logs[2 * at : 2 * at + 2]:
                station.play(log)
                played.append(log)
                await trio.sleep(1 if log is logs[0] else chance.choice((0.05, 0.2, 3)))  # of no game there is no place
            for _ in range(chance.randint(0, 40)):
                await trio.lowlevel.checkpoint()
        # killed here: between storing and posting, between the answer and noting it
    station = FakeStation(f"seed{seed}")
    station.archived(*played)
    async with Hook(store, receiver, seed=seed).running(station):
        with trio.fail_after(3600):
            while order_of(receiver.keys) != [key for log in logs for key in told(log)]:
                await trio.sleep(1)
    bodies = {got.key: got.body for got in receiver.took}
    assert all(bodies[got.key] == got.body for got in receiver.took)
    assert all(verified(got) for got in receiver.asked)


async def test_retry_after_is_honoured(store: DeliveryStore, clock: MockClock) -> None:
    station = FakeStation()
    receiver = FakeReceiver(lambda got: Answer(429, "120") if len(receiver.asked) == 1 else OK)
    async with Hook(store, receiver).running(station):
        station.play(FakeLog(1))
        await until_told(receiver, 2)
    assert receiver.took[0].at - receiver.asked[0].at >= 120


async def test_retry_after_as_a_date(store: DeliveryStore, clock: MockClock) -> None:
    from email.utils import formatdate

    station = FakeStation()
    receiver = FakeReceiver(
        lambda got: Answer(503, formatdate(EPOCH + 200, usegmt=True)) if len(receiver.asked) == 1 else OK
    )
    async with Hook(store, receiver).running(station):
        station.play(FakeLog(1))
        await until_told(receiver, 2)
    assert receiver.took[0].at >= 200


@pytest.mark.parametrize("date", ["Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "soon", "Mon, 32 Jan 2026 25:00:00"])
async def test_retry_after_that_is_no_date(store: DeliveryStore, clock: MockClock, date: str) -> None:
    station = FakeStation()
    receiver = FakeReceiver(lambda got: Answer(503, date) if len(receiver.asked) == 1 else OK)
    async with Hook(store, receiver).running(station):
        station.play(FakeLog(1))
        await until_told(receiver, 2)
    assert len(receiver.took) == 2


async def test_what_is_refused_is_given_up_and_the_rest_goes_on(store: DeliveryStore, clock: MockClock) -> None:
    bad, good = FakeStation("bad"), FakeStation("good")
    logs = FakeLog(1), FakeLog(2)
    first = told(logs[0])[0]
    receiver = FakeReceiver(lambda got: Answer(422, "") if got.key == first else OK)
    async with Hook(store, receiver).running(bad, good) as hook:
        bad.play(logs[0])
        good.play(logs[1])
        await until_told(receiver, 3)
        assert hook.outcomes == {"retried": MAX_REFUSALS - 1, "rejected": 1, "delivered": 3}
    assert [got.key for got in receiver.asked].count(first) == MAX_REFUSALS
    assert receiver.keys == [*told(logs[1]), told(logs[0])[1]]  # the other station did not wait


async def test_one_that_the_receiver_chokes_on_holds_up_its_own_station_alone(
    store: DeliveryStore, clock: MockClock
) -> None:
    bad, good = FakeStation("bad"), FakeStation("good")
    logs = FakeLog(1), FakeLog(2)
    first = told(logs[0])[0]
    receiver = FakeReceiver(lambda got: Answer(500, "") if got.key == first else OK)
    async with Hook(store, receiver).running(bad, good):
        bad.play(logs[0])
        good.play(logs[1])
        await until_told(receiver, 2)
    assert receiver.keys == told(logs[1])


async def test_gone_is_gone_until_the_next_start(store: DeliveryStore, clock: MockClock) -> None:
    station, log, later = FakeStation(), FakeLog(1), FakeLog(2)
    receiver = FakeReceiver(lambda got: Answer(410, ""))
    async with Hook(store, receiver).running(station) as hook:
        station.play(log)
        await trio.sleep(10)
        assert hook.sink.gone
        station.play(later)
        await trio.sleep(600)
        assert len(receiver.asked) == 1
    receiver.answer = lambda got: OK
    async with Hook(store, receiver).running(station):
        await until_told(receiver, 4)
    assert receiver.keys == told(log) + told(later)


async def test_nobody_takes_it_for_too_long(store: DeliveryStore, clock: MockClock) -> None:
    station = FakeStation()
    receiver = FakeReceiver(lambda got: "Connection refused")
    async with Hook(store, receiver, keep_seconds=1000).running(station) as hook:
        station.play(FakeLog(1))
        await trio.sleep(900)
        assert store.waiting("hook") == 2
        await trio.sleep(300)
        assert store.waiting("hook") == 0
        assert hook.outcomes["given_up"] == 2
        receiver.answer = lambda got: OK
        log = FakeLog(2)
        station.play(log)
        await until_told(receiver, 2)
    assert receiver.keys == told(log)


async def test_sets(store: DeliveryStore, clock: MockClock) -> None:
    station, receiver = FakeStation(), FakeReceiver()
    first = {"setId": "s1", "score": [0, 0], "players": []}
    second = {**first, "score": [1, 0]}
    async with Hook(store, receiver).running(station) as hook:
        for payload in (first, second, second, first):
            hook.sink.set_changed("main", payload)
            await trio.sleep(5)
        assert [got.json["score"] for got in receiver.took] == [[0, 0], [1, 0], [0, 0]]
        assert len(set(receiver.keys)) == 3  # the first state came back: a delivery of its own
        assert all(key.startswith("s1/") for key in receiver.keys)
        assert receiver.took[0].json.items() >= {"type": "set", "station": "main", "setId": "s1"}.items()
        for score in range(100):
            hook.sink.set_changed("main", {**first, "score": [score, 0]})
        await trio.sleep(5)
        assert len(receiver.took) == 4
        assert receiver.took[-1].json["score"] == [99, 0]
    async with Hook(store, receiver).running(station) as hook:
        hook.sink.set_changed("main", {**first, "score": [99, 0]})  # as after a restart
        await trio.sleep(5)
        assert len(receiver.took) == 4
        hook.sink.set_changed("main", {"score": [0, 0], "players": []})
        await trio.sleep(5)
        assert receiver.keys[-1].startswith("upcoming/")


async def test_only_what_is_wanted(store: DeliveryStore, clock: MockClock) -> None:
    station, receiver = FakeStation(), FakeReceiver()
    async with Hook(store, receiver, events=ALL - {"game_start", "set"}).running(station) as hook:
        hook.sink.set_changed("main", {"setId": "s1"})
        station.play(FakeLog(1))
        await until_told(receiver, 1)
        await trio.sleep(10)
    assert [got.json["type"] for got in receiver.took] == ["game_end"]


async def test_a_store_that_is_full_for_a_while(store: DeliveryStore, clock: MockClock) -> None:
    """Nothing is told that is not stored, and nothing is lost."""
    full = True

    class Full:
        def __getattr__(self, name: str) -> object:
            def method(*args: object, **options: object) -> object:
                if full and name.startswith("store"):
                    raise SinkError("deliveries: database or disk is full")
                return getattr(store, name)(*args, **options)

            return method

    station, receiver, log = FakeStation(), FakeReceiver(), FakeLog(1)
    async with Hook(Full(), receiver).running(station):  # type: ignore[arg-type]
        station.play(log)
        await trio.sleep(30)
        assert not receiver.asked
        full = False
        await until_told(receiver, 2)
    assert receiver.keys == told(log)


# -- a real receiver ---------------------------------------------------------------------------------------------------


async def test_a_real_receiver_checks_the_signature() -> None:
    import slpstream.outputs.delivery as delivery

    with real_receiver() as receiver:
        receiver.body = b"thank you"
        target = target_of(receiver.url)
        body = b'{"type":"game_start"}'
        headers = [
            ("idempotency-key", "k"),
            ("x-slpstream-timestamp", "17"),
            ("x-slpstream-signature", delivery.signature(b"a secret that nobody else knows", 17, body)),
        ]
        assert await post(target, headers, body, tls=None, timeout_seconds=10) == Answer(204, "")
        assert verified(receiver.took[0])
        assert receiver.paths == ["/hook?room=1"]
        assert receiver.took[0].body == body
        assert not verified(receiver.took[0]._replace(body=b'{"type":"game_end"}'))
        receiver.status, receiver.headers = 429, {"retry-after": "7", "location": "http://127.0.0.1:1/elsewhere"}
        assert await post(target, headers, body, tls=None, timeout_seconds=10) == Answer(429, "7")
        receiver.status = 302
        assert (await post(target, headers, body, tls=None, timeout_seconds=10)).status == 302  # not followed


async def test_no_answer(nursery: trio.Nursery) -> None:
    async def talk(data: bytes, stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(data)
        if data.startswith(b"slow"):
            await trio.sleep_forever()

    async def reason(data: bytes, timeout_seconds: float = 10.0) -> str:
        async def serve(stream: trio.SocketStream) -> None:
            await talk(data, stream)

        listeners = await nursery.start(
            lambda task_status: trio.serve_tcp(serve, 0, host="127.0.0.1", task_status=task_status)
        )
        port = listeners[0].socket.getsockname()[1]
        target = target_of(f"http://127.0.0.1:{port}/")
        with pytest.raises(SinkError) as raised:
            await post(target, [], b"{}", tls=None, timeout_seconds=timeout_seconds)
        return raised.value.what

    assert await reason(b"slow", 0.2) == "no answer within 0.2 s"
    assert await reason(b"SSH-2.0-OpenSSH_9.2\r\n")
    assert await reason(b"")
    closed = trio.socket.socket()
    await closed.bind(("127.0.0.1", 0))
    with closed, pytest.raises(SinkError, match="refused"):
        await post(target_of(f"http://127.0.0.1:{closed.getsockname()[1]}/"), [], b"", tls=None, timeout_seconds=10)
    nursery.cancel_scope.cancel()


@pytest.mark.skipif(shutil.which("openssl") is None and not IN_CI, reason="there is no openssl; only CI insists")
async def test_https_and_whom_it_trusts(tmp_path: Path, nursery: trio.Nursery) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    await trio.run_process([*command, "-keyout", str(key), "-out", str(certificate)], stderr=subprocess.DEVNULL)
    ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ours.load_cert_chain(certificate, key)
    heard: list[bytes] = []

    async def serve(stream: trio.SSLStream[trio.SocketStream]) -> None:
        try:
            heard.append(bytes(await stream.receive_some()))
            await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        except trio.BrokenResourceError:
            pass  # whom we do not trust hears nothing

    listeners = await nursery.start(
        lambda task_status: trio.serve_ssl_over_tcp(
            serve, 0, ours, host="127.0.0.1", https_compatible=True, task_status=task_status
        )
    )
    port = listeners[0].transport_listener.socket.getsockname()[1]
    target = target_of(f"https://127.0.0.1:{port}/hook")
    with pytest.raises(SinkError, match=r"^certificate: self.signed certificate"):
        await post(target, [], b"{}", tls=ssl.create_default_context(), timeout_seconds=10)
    trusting = ssl.create_default_context(cafile=str(certificate))
    assert (await post(target, [], b"{}", tls=trusting, timeout_seconds=10)).status == 200
    [request] = [data for data in heard if data]
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
async def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        target_of(url)


async def test_targets() -> None:
    assert target_of("https://user:word@example.org/a?b#c") == (True, "example.org", 443, "/a?b", "example.org")
    assert target_of("https://bücher.example/é/%C3%A9?a=b c&d=[1]")[1:4] == (
        "xn--bcher-kva.example",
        443,
        "/%C3%A9/%C3%A9?a=b%20c&d=[1]",
    )
    assert target_of("http://[::1]:8080")[3:] == ("/", "[::1]:8080")


# -- the store ---------------------------------------------------------------------------------------------------------


async def test_the_store_is_bounded(store: DeliveryStore) -> None:
    made = [Delivery(str(n), "set", b"{}") for n in range(50)]
    store.store("hook", "main", made, 1000, bookmarks="[]", memory="{}")
    store.store("hook", "main", made[40:], 1000, bookmarks="[]", memory="{}")  # those are there
    assert store.waiting("hook") == 50
    assert store.expire("hook", before_ms=1000, most=MAX_WAITING) == 0
    assert store.expire("hook", before_ms=1000, most=20) == 30
    assert [head.key for head in store.heads("hook")] == ["30"]
    assert store.expire("hook", before_ms=1001, most=20) == 20
    for n in range(100):
        store.store_set("hook", "main", Delivery(f"{n}/x", "set", b"{}"), n, set_id=str(n), digest="x")
    assert store.told_set("hook", "main", "35") is None
    assert store.told_set("hook", "main", "36") == ("x", "36/x")
    store.retain({"other"})
    assert store.waiting("hook") == 0
    assert store.place("hook", "main") is None


async def test_a_damaged_store_is_set_aside(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    path = tmp_path / "deliveries.sqlite3"
    assert path.stat().st_mode & 0o077 == 0
    path.write_bytes(b"no database" * 1000)
    store = open_store(tmp_path)
    assert store.waiting("hook") == 0
    store.close()
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1


async def test_what_sqlite_says_comes_as_ours(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with sqlite3.connect(tmp_path / "deliveries.sqlite3") as other:
        other.execute("DROP TABLE places")
    other.close()
    with pytest.raises(SinkError, match="no such table"):
        store.place("hook", "main")
    store.close()
