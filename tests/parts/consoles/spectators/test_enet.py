"""The server side of ENet without sockets: lost, repeated and reordered datagrams, hostile ones, and many clients.

Determinism: the clock is a number that the tests advance, and the network is a list.
"""

from __future__ import annotations

import gc
import random
import struct
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.parts.consoles.spectators.enet import (
    MAX_QUEUED_BYTES,
    MAX_UNFINISHED,
    UNFINISHED_SECONDS,
    Connected,
    Disconnected,
    Drained,
    EnetServer,
    Event,
    Peer,
    Received,
)
from slpstream.parts.consoles.spectators.transmission import DEAD_SECONDS
from tests.parts.consoles.spectators.enet_client import EnetClient, connect_datagram

ADDRESS = ("10.0.0.9", 50000)
MAX_BEARABLE_LOSS = 0.1
"""With at most this share of lost datagrams, no peer counts as gone."""
STEP_SECONDS = 0.01


class Network:
    """One server and one client, with a network that may lose, repeat and delay datagrams."""

    def __init__(
        self, client: EnetClient | None = None, seed: int = 0, lost: float = 0.0, doubled: float = 0.0
    ) -> None:
        self.rng = random.Random(seed)
        self.server = EnetServer(4, self.rng.getrandbits)
        self.client = client or EnetClient()
        self.lost, self.doubled = lost, doubled
        self.max_delay_steps = 0
        self.now = 1000.0
        self.events: list[Event] = []
        self.sent_bytes = 0
        self._underway: list[tuple[float, float, Callable[[bytes], object], bytes]] = []

    @property
    def peer(self) -> Peer:
        return next(event.peer for event in self.events if isinstance(event, Connected))

    def _transmit(self, receive: Callable[[bytes], object], data: bytes) -> None:
        copies = (self.rng.random() >= self.lost) + (self.rng.random() < self.doubled)
        for _ in range(copies):
            due = self.now + STEP_SECONDS * self.rng.randint(0, self.max_delay_steps)
            self._underway.append((due, self.rng.random() if self.max_delay_steps else 0.0, receive, data))

    def step(self) -> None:
        self.now += STEP_SECONDS
        for data in self.client.send_due(self.now):
            self._transmit(self._to_server, data)
        datagrams, events = self.server.poll(self.now)
        self.events += events
        deadline = self.server.deadline()
        assert deadline is None or deadline > self.now, "the server would not rest"
        for data, address in datagrams:
            assert address == ADDRESS
            self.sent_bytes += len(data)
            self._transmit(self.client.receive, data)
        due = [entry for entry in self._underway if entry[0] <= self.now]
        self._underway = [entry for entry in self._underway if entry[0] > self.now]
        for _, _, receive, data in sorted(due, key=lambda entry: entry[1]):
            receive(data)

    def _to_server(self, data: bytes) -> None:
        self.events += self.server.receive(data, ADDRESS, self.now)

    def run(self, until: Callable[[], object], max_seconds: float = 60.0) -> None:
        end = self.now + max_seconds
        while not until():
            assert self.now < end, "nothing more happens"
            self.step()

    def connect(self) -> Peer:
        self.run(lambda: self.server.peers)
        return self.peer


def packets_of(seed: int, count: int) -> list[bytes]:
    rng = random.Random(seed)
    return [rng.randbytes(rng.choice((1, 700, 1382, 1383, 5000, 40_000))) for _ in range(count)]


@pytest.mark.parametrize("mtu", [576, 1392, 4096])
def test_packets_of_every_size(mtu: int) -> None:
    network = Network(EnetClient(mtu))
    peer = network.connect()
    sent = [bytes([n % 251]) * n for n in (0, 1, 540, 566, 567, 1382, 1383, 5000, 100_000)]
    for data in sent:
        peer.send(data)
    network.run(lambda: len(network.client.packets) == len(sent))
    assert network.client.packets == sent
    assert network.client.largest_datagram <= min(mtu, 1392)
    network.run(lambda: not peer.queued_bytes)
    assert network.server.resent_packets == 0


@given(seed=st.integers(0, 1 << 32), lost=st.floats(0, 0.4), doubled=st.floats(0, 0.3), delay=st.integers(0, 20))
@settings(max_examples=25)
def test_everything_arrives_over_a_bad_network(seed: int, lost: float, doubled: float, delay: int) -> None:
    """Each packet arrives once, in order, including the client's request.

    If many datagrams are lost, one may be lost at each try for 30 seconds, after which the peer counts as gone.
    """
    network = Network(seed=seed, lost=lost, doubled=doubled)
    network.max_delay_steps = delay
    network.client.send(b"request")
    sent = packets_of(seed, 12)
    network.run(lambda: any(isinstance(event, Received) for event in network.events), 200)
    for data in sent:
        network.peer.send(data)
    network.run(lambda: len(network.client.packets) == len(sent) or not network.server.peers, 200)
    if network.server.peers or lost <= MAX_BEARABLE_LOSS:
        assert network.client.packets == sent
        network.run(lambda: not network.server.peers or not network.peer.queued_bytes, 200)
    assert network.client.packets == sent[: len(network.client.packets)]
    assert [event.data for event in network.events if isinstance(event, Received)] == [b"request"]
    assert sum(isinstance(event, Connected) for event in network.events) == 1


@pytest.mark.slow
def test_numbers_wrap_around() -> None:
    network = Network(lost=0.0005)
    peer = network.connect()
    count = 66_000
    sent = 0
    while len(network.client.packets) < count:
        while sent < count and peer.queued_bytes < MAX_QUEUED_BYTES:
            peer.send(sent.to_bytes(4, "big"))
            sent += 1
        network.step()
    assert network.client.packets == [n.to_bytes(4, "big") for n in range(count)]


def test_window_limits_unacknowledged_bytes() -> None:
    """A client that does not acknowledge gets no more than a window, and the queue shows when there is room again."""
    network = Network()
    peer = network.connect()
    network.run(lambda: network.client.packets == [] and network.now > 1001)
    before = network.sent_bytes
    for _ in range(200):
        peer.send(bytes(1000))
    assert peer.queued_bytes > MAX_QUEUED_BYTES
    datagrams, _ = network.server.poll(network.now)
    assert sum(len(data) for data, _ in datagrams) <= 65536 * 1.1
    for data, _ in datagrams:
        network.client.receive(data)
    network.run(lambda: len(network.client.packets) == 200)
    assert sum(isinstance(event, Drained) for event in network.events) == 1
    assert network.sent_bytes - before < 230_000


def test_bandwidth_of_the_client_limits_the_window() -> None:
    network = Network()
    peer = network.connect()
    limit = struct.pack(">BBHII", 0x8A, 0xFF, 9, 65536, 0)
    head = network.client.header(5)
    assert network.server.receive(head + limit, ADDRESS, network.now) == []
    for _ in range(40):
        peer.send(bytes(1000))
    while len(network.client.packets) < 40:
        before = network.sent_bytes
        network.step()
        assert network.sent_bytes - before <= max(4096, 16 * 1024) + 2000
    assert network.server.resent_packets == 0


def test_silent_client_times_out() -> None:
    """Also one that had acknowledged everything. The server pings it regularly."""
    network = Network()
    network.connect()
    network.run(lambda: network.now > 1005)
    assert network.server.peers
    network.lost = 1.0
    began = network.now
    network.run(lambda: not network.server.peers)
    assert DEAD_SECONDS - 2 < network.now - began <= DEAD_SECONDS + 0.1
    assert isinstance(network.events[-1], Disconnected)
    assert network.events[-1].reason == "the client does not answer"
    assert network.server.deadline() is None


def test_idle_connection_stays() -> None:
    network = Network()
    network.connect()
    network.run(lambda: network.now > 1000 + 3 * DEAD_SECONDS, 4 * DEAD_SECONDS)
    assert network.server.peers
    assert network.sent_bytes < 6000


@given(st.floats(0, 1e6))
@settings(max_examples=50)
def test_server_rests_after_each_deadline(start: float) -> None:
    """A server with work left at its deadline, because of rounding, would run without a pause."""
    network = Network()
    network.now = start
    network.connect()
    network.lost = 1.0
    while (deadline := network.server.deadline()) is not None:
        network.now = deadline
        network.server.poll(deadline)
        assert (network.server.deadline() or deadline + 1) > deadline


def test_client_leaves() -> None:
    """The acknowledgement confirms its departure."""
    network = Network()
    peer = network.connect()
    goodbye = struct.pack(">BBHI", 0x84, 0xFF, 3, 0)
    head = network.client.header(99)
    events = network.server.receive(head + goodbye, ADDRESS, network.now)
    assert events == [Disconnected(peer, "the client has left")]
    [(answer, _)], _ = network.server.poll(network.now)
    assert answer[4:] == struct.pack(">BBHHH", 1, 0xFF, 3, 3, 99)
    peer.send(b"too late")
    assert network.server.poll(network.now) == ([], [])
    assert peer.queued_bytes == 0


def test_client_that_connects_again_replaces_its_old_connection() -> None:
    network = Network()
    first = network.connect()
    network.client = EnetClient(connect_id=b"\x09\x09\x09\x09")
    network.run(lambda: any(isinstance(event, Disconnected) for event in network.events))
    assert Disconnected(first, "the client has connected again") in network.events
    network.run(lambda: len(network.server.peers) == 1)
    assert network.server.peers[0] is not first


def test_limit_of_connections() -> None:
    server = EnetServer(2)
    for port in range(5):
        client = EnetClient()
        for _ in range(3):
            for data in client.send_due(float(port)):
                server.receive(data, ("10.0.0.9", port), 0.0)
            for data, address in server.poll(0.0)[0]:
                assert address == ("10.0.0.9", port)
                client.receive(data)
        assert client.connected == (port < 2)
    assert len(server.peers) == 2
    assert server.refused == 3


def test_forged_addresses_get_no_more_than_they_send() -> None:
    """Each request has at most one answer, which is smaller, and nothing is sent again later."""

    def peers() -> int:
        return sum(type(found) is Peer for found in gc.get_objects())

    gc.collect()
    server, before = EnetServer(4), peers()
    received = sent = 0
    for i in range(2000):
        address = (f"10.0.{i % 7}.1", i)
        datagram = connect_datagram(connect_id=(i % 50).to_bytes(4, "big"))
        server.receive(datagram, address, i * 0.001)
        received += len(datagram)
        datagrams, events = server.poll(i * 0.001)
        assert events == []
        sent += sum(len(data) for data, _ in datagrams)
    assert sent < received
    assert peers() - before <= MAX_UNFINISHED
    assert server.poll(1000.0) == ([], [])
    assert server.deadline() is None
    server.receive(connect_datagram(), ADDRESS, 1000.0 + UNFINISHED_SECONDS)
    assert peers() - before == 1


def test_connection_needs_the_answer() -> None:
    """A sender that cannot see the answer has 44 bits to guess, and a wrong guess starts nothing."""
    server = EnetServer(4, random.Random(3).getrandbits)
    server.receive(connect_datagram(), ADDRESS, 0.0)
    [(answer, _)], _ = server.poll(0.0)
    _, nonce = struct.unpack_from(">HH", answer)
    number, id = struct.unpack_from(">HH", answer, 6)
    session = answer[11]
    head = struct.pack(">HH", id | session << 12 | 0x8000, 1)

    def acknowledgement(number: int, nonce: int) -> bytes:
        return head + struct.pack(">BBHHH", 1, 0xFF, number, number, nonce)

    for wrong in (acknowledgement(number ^ 1, nonce), acknowledgement(number, nonce ^ 1), head):
        assert server.receive(wrong, ADDRESS, 0.0) == []
        assert len(server.poll(0.0)[0]) <= 1
    assert server.receive(acknowledgement(number, nonce), ("10.0.0.8", 50000), 0.0) == []
    assert server.peers == ()
    [event] = server.receive(acknowledgement(number, nonce), ADDRESS, 0.0)
    assert isinstance(event, Connected)


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=200), st.integers(0, 40)), max_size=30), st.data())
@settings(max_examples=150)
def test_hostile_datagrams(datagrams: list[tuple[bool, bytes, int]], data: st.DataObject) -> None:
    """Any bytes, also after the header of a connection: no exception, and bounded answers and memory."""
    network = Network(seed=1)
    peer = network.connect()
    peer.send(bytes(3000))
    head = network.client.header()
    for with_header, noise, seconds in datagrams:
        start = head + bytes([data.draw(st.integers(0, 255))]) if with_header else b""
        network.now += seconds / 10
        network.server.receive(start + noise, ADDRESS, network.now)
        sent, _ = network.server.poll(network.now)
        assert sum(len(sent_data) for sent_data, _ in sent) <= 10_000
        assert peer.queued_bytes < 10_000
    deadline = network.server.deadline()
    assert deadline is None or deadline > network.now, "the server would not rest"


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"\x8f",
        b"\x8f\xff",
        connect_datagram()[:-1],
        connect_datagram(channels=0),
        connect_datagram(channels=256),
        connect_datagram(peer_id=0x1000),
        b"\xcf" + connect_datagram()[1:],
        b"\x80\x00\x00\x00\x82\xff\x00\x01" + connect_datagram()[8:],
        connect_datagram() + bytes(5000),
    ],
)
def test_invalid_requests_have_no_answer(datagram: bytes) -> None:
    server = EnetServer(4)
    assert server.receive(datagram, ADDRESS, 0.0) == []
    assert server.poll(0.0) == ([], [])


def test_fragments_from_a_client_end_its_connection() -> None:
    """They would have to be kept until the last one arrives."""
    network = Network()
    peer = network.connect()
    head = network.client.header()
    fragment = struct.pack(">BBHHHIIII", 0x88, 0, 1, 1, 4, 1 << 20, 0, 1 << 30, 0) + b"data"
    assert network.server.receive(head + fragment, ADDRESS, network.now) == [
        Disconnected(peer, "the client sends more than a request")
    ]
    network.step()
    assert network.client.disconnected


def test_packets_out_of_order_wait_for_their_turn() -> None:
    """One that arrives too early is not acknowledged, so that the client sends it again."""
    network = Network()
    network.connect()
    head = network.client.header()

    def packet(number: int) -> list[Event]:
        command = struct.pack(">BBHH", 0x86, 0, number, 1) + bytes([number])
        return network.server.receive(head + command, ADDRESS, network.now)

    assert packet(2) == []
    assert network.server.poll(network.now)[0] == []
    assert [event.data for event in packet(1) if isinstance(event, Received)] == [b"\1"]
    assert [event.data for event in packet(2) if isinstance(event, Received)] == [b"\2"]
    assert packet(2) == []
    assert sum(len(data) for data, _ in network.server.poll(network.now)[0]) == 4 + 3 * 8


@pytest.mark.parametrize("number", [7, 9])
def test_unreliable_packets_are_accepted(number: int) -> None:
    """libmelee sends its request in an unreliable packet."""
    network = Network()
    peer = network.connect()
    head = network.client.header()
    command = struct.pack(">BBHHH", number | (0x40 if number == 9 else 0), 0, 0, 1, 5) + b"hello"
    assert network.server.receive(head + command, ADDRESS, network.now) == [Received(peer, b"hello")]
