"""The server side of ENet 1.3, or at least that part of it which Dolphin uses: JSON texts in reliable packets. This
doesn't do any I/O itself.

ENet sends commands in UDP datagrams. A datagram begins with the id that its receiver has given to the connection, and
the low 16 bits of the sender's clock in milliseconds. Reliable commands have a number for each channel, and are
acknowledged one by one. If there's no acknowledgement, a command is sent again. If a packet is larger than a datagram,
it is sent in fragments. All numbers are big-endian. Dolphin uses neither the compression nor the checksum of ENet.

The original ENet trusts the source address of a datagram. Since its connection ids are small numbers, you could open a
connection in the name of another machine, which would then get the games. Here, a connection is only established if the
client acknowledges 44 random bits that we have sent to its address and nowhere else. Before that, we answer each
datagram at most once, and the answer is smaller than the request to connect. We also do not send anything again
unasked, and there's a limit for the number of unfinished connections.

A connection only accepts those packets that a spectator sends, which fit into one datagram and come in order. It does
not buffer any of them.

You might wonder why we have written this ourselves. There is a binding of the original (PyPI `pyenet-vladfi`), but a
server that uses it would trust addresses, has to be polled all the time, and cannot set the limits for packets that it
receives, which are 32 MiB for each connection. If we connect to a Dolphin, the connection begins on our side, and then
the binding is good enough.
"""

from __future__ import annotations

import math
import secrets
import struct
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import TypeAlias

from msgspec import Struct

from slpstream.parts.consoles.spectators.transmission import (
    DEAD_SECONDS,
    MAX_WINDOW_BYTES,
    MIN_WINDOW_BYTES,
    Transmission,
    clock_of,
)

MAX_DATAGRAM_BYTES = 4096
"""The largest datagram of ENet."""
MAX_QUEUED_BYTES = 64 * 1024
"""A connection with this many unacknowledged bytes shouldn't get any more until `Drained`."""
MAX_UNFINISHED = 64
"""The limit for connections that aren't established yet."""
UNFINISHED_SECONDS = 5.0

_CHANNELS = 2
_NO_PEER = 0xFFF
_CONNECTION_CHANNEL = 0xFF
"""The channel number of commands that are about the connection itself."""

_ACKNOWLEDGE = 1
_CONNECT = 2
_VERIFY_CONNECT = 3
_DISCONNECT = 4
_PING = 5
_SEND_RELIABLE = 6
_SEND_UNRELIABLE = 7
_SEND_FRAGMENT = 8
_SEND_UNSEQUENCED = 9
_BANDWIDTH_LIMIT = 10
_THROTTLE_CONFIGURE = 11
_SEND_UNRELIABLE_FRAGMENT = 12
_COMMAND_BYTES = (0, 8, 48, 44, 8, 4, 6, 8, 24, 8, 12, 16, 24)
"""The sizes of the commands by their number, not including the data of packets."""
_DATA_LENGTH_AT = {_SEND_RELIABLE: 4, _SEND_UNRELIABLE: 6, _SEND_UNSEQUENCED: 6}
_NUMBER_MASK = 0x0F
_ACKNOWLEDGE_FLAG = 0x80
_UNSEQUENCED_FLAG = 0x40
_SENT_TIME_FLAG = 0x8000
_COMPRESSED_FLAG = 0x4000
_MAX_COMMANDS = 32
"""The limit for the number of commands in a datagram. It is the same as in the original."""

_MAX_ACKNOWLEDGEMENTS = 256
"""The limit for acknowledgements that are waiting to be sent. If one of them is dropped, the client repeats its
command."""

_HEADER = struct.Struct(">HH")
_COMMAND = struct.Struct(">BBH")
_ACKNOWLEDGEMENT = struct.Struct(">BBHHH")
_CONNECT_BODY = struct.Struct(">HBBIIIIIIII4sI")
_VERIFY_BODY = struct.Struct(">HBBIIIIIIII4s")
_FRAGMENT = struct.Struct(">BBHHHIIII")

_MIN_MTU, _MAX_MTU = 576, 1392
"""The limits for the size of the datagrams that we send. The upper one is the default of the original, and fits into an
Ethernet frame."""
_PING_SECONDS = 1.0

Address: TypeAlias = tuple[str, int]
Datagram: TypeAlias = tuple[bytes, Address]


class Connected(Struct, frozen=True):
    """A client has proved that its address is really its own."""

    peer: Peer


class Received(Struct, frozen=True):
    """A packet from a client."""

    peer: Peer
    data: bytes


class Drained(Struct, frozen=True):
    """A connection has less than `MAX_QUEUED_BYTES` left that it might have to send again."""

    peer: Peer


class Disconnected(Struct, frozen=True):
    """A connection has ended for this reason. If the server itself ends one, you don't get this event."""

    peer: Peer
    reason: str


Event: TypeAlias = Connected | Received | Drained | Disconnected


class _Connect(Struct, frozen=True):
    """A client's request for a connection."""

    peer_id: int
    incoming_session: int
    outgoing_session: int
    mtu: int
    window_bytes: int
    channels: int
    incoming_bandwidth: int
    throttle: tuple[int, int, int]
    connect_id: bytes


class _State(Enum):
    """The state of a connection."""

    UNFINISHED = auto()
    """The client hasn't proved its address yet."""
    ESTABLISHED = auto()
    CLOSED = auto()


class Peer:
    """The connection to one client. These are made by `EnetServer`."""

    def __init__(self, address: Address, connect: _Connect, id: int, first_number: int, nonce: int) -> None:
        self.address = address
        self.connect_id = connect.connect_id
        mtu = min(max(connect.mtu, _MIN_MTU), _MAX_MTU)
        self._id = id
        self._mtu = mtu
        session = (connect.incoming_session + 1) & 3
        # A client from before ENet had sessions uses the id 0xFFF, and takes the bits of a session for bits of the id.
        has_sessions = connect.peer_id < _NO_PEER
        self._header_flags = connect.peer_id | (session << 12 if has_sessions else 0) | _SENT_TIME_FLAG
        their_session = (connect.outgoing_session + 1) & 3
        self._their_session = their_session if has_sessions else None
        """The session in the client's datagrams. `None` stands for any session."""
        self._state = _State.UNFINISHED
        self._transmission = Transmission(mtu, connect.window_bytes, connect.incoming_bandwidth)
        self._numbers = {0: 0, _CONNECTION_CHANNEL: first_number}
        self._received_numbers = [0] * _CHANNELS
        self._acknowledgements: deque[bytes] = deque(maxlen=_MAX_ACKNOWLEDGEMENTS)
        self._received_at = self._pinged_at = 0.0
        body = _VERIFY_BODY.pack(
            id,
            session,
            their_session,
            mtu,
            min(max(connect.window_bytes, MIN_WINDOW_BYTES), MAX_WINDOW_BYTES),
            min(connect.channels, _CHANNELS),
            0,
            0,
            *connect.throttle,
            self.connect_id,
        )
        command = _COMMAND.pack(_VERIFY_CONNECT | _ACKNOWLEDGE_FLAG, _CONNECTION_CHANNEL, first_number)
        self._verification = self._header(nonce) + command + body
        """The answer to the request to connect."""
        self._proof = _ACKNOWLEDGEMENT.pack(_ACKNOWLEDGE, _CONNECTION_CHANNEL, first_number, first_number, nonce)
        """The acknowledgement that only a client who has received the answer can send."""

    @property
    def queued_bytes(self) -> int:
        """How many bytes have not been acknowledged yet."""
        return self._transmission.queued_bytes

    def _header(self, clock: int) -> bytes:
        return _HEADER.pack(self._header_flags, clock)

    def send(self, data: bytes) -> None:
        """Queue a reliable packet. If the connection has ended, this does nothing."""
        if self._state is _State.CLOSED:
            return
        queue = self._transmission.queue
        room = self._mtu - _HEADER.size
        if _COMMAND_BYTES[_SEND_RELIABLE] + len(data) <= room:
            number = self._next_number(0)
            head = _COMMAND.pack(_SEND_RELIABLE | _ACKNOWLEDGE_FLAG, 0, number) + len(data).to_bytes(2, "big")
            queue(0, number, head + data)
            return
        size = room - _FRAGMENT.size
        count = -(-len(data) // size)
        start = (self._numbers[0] + 1) & 0xFFFF
        for i in range(count):
            part = data[i * size : (i + 1) * size]
            number = self._next_number(0)
            flags = _SEND_FRAGMENT | _ACKNOWLEDGE_FLAG
            queue(0, number, _FRAGMENT.pack(flags, 0, number, start, len(part), count, i, len(data), i * size) + part)

    def _next_number(self, channel: int) -> int:
        number = self._numbers[channel] = (self._numbers[channel] + 1) & 0xFFFF
        return number

    def _datagrams(self, now: float) -> Iterator[bytes]:
        """Yield the datagrams that should be sent now."""
        self._transmission.expire(now)
        if self._transmission.is_idle and now >= self._ping_at():
            self._pinged_at = now
            number = self._next_number(_CONNECTION_CHANNEL)
            ping = _COMMAND.pack(_PING | _ACKNOWLEDGE_FLAG, _CONNECTION_CHANNEL, number)
            self._transmission.queue(_CONNECTION_CHANNEL, number, ping)
        parts: list[bytes] = []
        size = _HEADER.size
        for command in self._next_commands(now):
            if len(parts) >= _MAX_COMMANDS or size + len(command) > self._mtu:
                yield self._header(clock_of(now)) + b"".join(parts)
                parts, size = [], _HEADER.size
            parts.append(command)
            size += len(command)
        if parts:
            yield self._header(clock_of(now)) + b"".join(parts)

    def _next_commands(self, now: float) -> Iterator[bytes]:
        while self._acknowledgements:
            yield self._acknowledgements.popleft()
        yield from self._transmission.next_commands(now)

    def _ping_at(self) -> float:
        return max(self._received_at, self._pinged_at) + _PING_SECONDS

    def _dies_at(self) -> float:
        oldest = self._transmission.oldest()
        return DEAD_SECONDS + (self._received_at if oldest is None else min(self._received_at, oldest.first_sent_at))

    def _deadline(self) -> float:
        """Return the latest time when you should call `poll` again."""
        ping_at = math.inf if self._transmission.unacknowledged else self._ping_at()
        return min(self._dies_at(), self._transmission.deadline(), ping_at)


class EnetServer:
    """All connections of one UDP socket. You pass datagrams to `receive`, and get others out of `poll`."""

    def __init__(self, max_peers: int, random_bits: Callable[[int], int] = secrets.randbits) -> None:
        """`random_bits` returns as many bits as you ask for. They must be impossible to predict."""
        self._max_peers = max_peers
        self._random_bits = random_bits
        self._peers: dict[int, Peer] = {}
        """The established connections, by the id that their clients use."""
        self._unfinished: OrderedDict[int, tuple[Peer, float]] = OrderedDict()
        """The connections that aren't established yet, each with the time at which we give it up."""
        self._replies: list[Datagram] = []
        self.resent_packets = 0
        """How many reliable commands were sent again."""
        self.refused = 0
        """How many requests to connect were ignored because there were already `max_peers` connections."""

    @property
    def peers(self) -> tuple[Peer, ...]:
        """All established connections."""
        return tuple(self._peers.values())

    def receive(self, datagram: bytes, address: Address, now: float) -> list[Event]:
        """Take a datagram.

        If it isn't valid, it is ignored. You can use any clock in seconds for `now`, as long as it never goes back.
        """
        if not _HEADER.size <= len(datagram) <= MAX_DATAGRAM_BYTES:
            return []
        head, sent_clock = _HEADER.unpack_from(datagram)
        if head & _COMPRESSED_FLAG:
            return []
        at = _HEADER.size if head & _SENT_TIME_FLAG else 2
        id, session = head & 0xFFF, head >> 12 & 3
        if id == _NO_PEER:
            self._connect(datagram, at, address, now)
            return []
        peer = self._peers.get(id) or self._unfinished.get(id, (None,))[0]
        if peer is None or peer.address != address or peer._their_session not in (None, session):
            return []
        events: list[Event] = []
        if peer._state is not _State.ESTABLISHED and not self._establish(peer, datagram, at, now, events):
            return events
        peer._received_at = now
        queued_bytes = peer.queued_bytes
        for number, start, end in _commands(datagram, at):
            if not self._command(peer, number, datagram[start:end], sent_clock if at == 4 else None, now, events):
                break
        if peer.queued_bytes < MAX_QUEUED_BYTES <= queued_bytes:
            events.append(Drained(peer))
        return events

    def _connect(self, datagram: bytes, at: int, address: Address, now: float) -> None:
        """Answer a request to connect. We make sure that the answer is smaller than the request."""
        connect = _read_connect(datagram, at)
        if connect is None or any(_is_from(peer, address, connect) for peer in self._peers.values()):
            return
        if len(self._peers) >= self._max_peers and not any(peer.address == address for peer in self._peers.values()):
            self.refused += 1
            return
        while self._unfinished and (
            len(self._unfinished) >= MAX_UNFINISHED or next(iter(self._unfinished.values()))[1] <= now
        ):
            self._unfinished.popitem(last=False)
        peer = next((peer for peer, _ in self._unfinished.values() if _is_from(peer, address, connect)), None)
        if peer is None:
            id = self._random_bits(12)
            while id == _NO_PEER or id in self._peers or id in self._unfinished:
                id = (id + 1) & 0xFFF
            peer = Peer(address, connect, id, self._random_bits(16), self._random_bits(16))
            self._unfinished[id] = peer, now + UNFINISHED_SECONDS
        self._reply(peer._verification, address)

    def _establish(self, peer: Peer, datagram: bytes, at: int, now: float, events: list[Event]) -> bool:
        """Whether a datagram proves that its sender has received our answer."""
        if not any(datagram[start:end] == peer._proof for _, start, end in _commands(datagram, at)):
            # The client believes that it is connected, so its acknowledgement was lost.
            self._reply(peer._verification, peer.address)
            return False
        del self._unfinished[peer._id]
        for old in [old for old in self._peers.values() if old.address == peer.address]:
            self._drop(old)
            events.append(Disconnected(old, "the client has connected again"))
        if len(self._peers) >= self._max_peers:
            self.refused += 1
            return False
        peer._state = _State.ESTABLISHED
        peer._received_at = now
        self._peers[peer._id] = peer
        events.append(Connected(peer))
        return True

    def _reply(self, datagram: bytes, address: Address) -> None:
        if len(self._replies) < MAX_UNFINISHED:
            self._replies.append((datagram, address))

    def _command(
        self, peer: Peer, number: int, command: bytes, sent_clock: int | None, now: float, events: list[Event]
    ) -> bool:
        """Execute a command. Returns whether you should read the commands after it too."""
        flags, channel, sequence = _COMMAND.unpack_from(command)
        if number == _ACKNOWLEDGE:
            _, _, _, sequence, their_clock = _ACKNOWLEDGEMENT.unpack(command)
            peer._transmission.acknowledge(channel, sequence, their_clock, now)
            return True
        if number in (_SEND_FRAGMENT, _SEND_UNRELIABLE_FRAGMENT):
            self.disconnect(peer)
            events.append(Disconnected(peer, "the client sends more than a request"))
            return False
        if number in _DATA_LENGTH_AT:
            if channel >= _CHANNELS:
                return False
            if number == _SEND_RELIABLE:
                ahead = (sequence - peer._received_numbers[channel]) & 0xFFFF
                if 1 < ahead < 0x8000:
                    return False  # an earlier packet is missing; both come again
                if ahead == 1:
                    peer._received_numbers[channel] = sequence
            if number != _SEND_RELIABLE or ahead == 1:
                events.append(Received(peer, command[_COMMAND_BYTES[number] :]))
        elif number == _BANDWIDTH_LIMIT:
            peer._transmission.limit_bandwidth(int.from_bytes(command[4:8], "big"))
        elif number not in (_PING, _THROTTLE_CONFIGURE, _DISCONNECT, _VERIFY_CONNECT):
            return False
        if flags & _ACKNOWLEDGE_FLAG and sent_clock is not None and number != _VERIFY_CONNECT:
            peer._acknowledgements.append(_ACKNOWLEDGEMENT.pack(_ACKNOWLEDGE, channel, sequence, sequence, sent_clock))
        if number == _DISCONNECT:
            if peer._acknowledgements:
                self._reply(peer._header(clock_of(now)) + peer._acknowledgements[-1], peer.address)
            self._drop(peer)
            events.append(Disconnected(peer, "the client has left"))
            return False
        return True

    def poll(self, now: float) -> tuple[list[Datagram], list[Event]]:
        """Return the datagrams that should be sent now, and the connections that have timed out.

        There is a limit for the number of datagrams that you get.
        """
        events: list[Event] = []
        datagrams, self._replies = self._replies, []
        for peer in self.peers:
            if now >= peer._dies_at():
                self._drop(peer)
                events.append(Disconnected(peer, "the client does not answer"))
            else:
                datagrams += [(data, peer.address) for data in peer._datagrams(now)]
                self.resent_packets += peer._transmission.resent
                peer._transmission.resent = 0
        return datagrams, events

    def deadline(self) -> float | None:
        """Return the latest time when you should call `poll` again if nothing else happens, or `None` if there are no
        connections.
        """
        return min((peer._deadline() for peer in self._peers.values()), default=None)

    def disconnect(self, peer: Peer) -> None:
        """End a connection. The next time you call `poll`, its client is told about it, but only once."""
        if peer._state is not _State.CLOSED:
            command = _COMMAND.pack(_DISCONNECT | _UNSEQUENCED_FLAG, _CONNECTION_CHANNEL, 0) + bytes(4)
            self._replies.append((peer._header(0) + command, peer.address))
            self._drop(peer)

    def _drop(self, peer: Peer) -> None:
        peer._state = _State.CLOSED
        self._peers.pop(peer._id, None)


def _is_from(peer: Peer, address: Address, connect: _Connect) -> bool:
    return peer.address == address and peer.connect_id == connect.connect_id


def _commands(datagram: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield the number, start and end of each whole command. If one of them is invalid, this stops there."""
    for _ in range(_MAX_COMMANDS):
        if at + _COMMAND.size > len(datagram):
            return
        number = datagram[at] & _NUMBER_MASK
        size = _COMMAND_BYTES[number] if number < len(_COMMAND_BYTES) else 0
        end = at + size
        if not size or end > len(datagram):
            return
        if number in _DATA_LENGTH_AT:
            length_at = at + _DATA_LENGTH_AT[number]
            end += int.from_bytes(datagram[length_at : length_at + 2], "big")
            if end > len(datagram):
                return
        yield number, at, end
        at = end


def _read_connect(datagram: bytes, at: int) -> _Connect | None:
    """Return the request to connect at the start of the given datagram, or `None` if there isn't one."""
    number, start, end = next(_commands(datagram, at), (0, 0, 0))
    if number != _CONNECT:
        return None
    peer_id, incoming, outgoing, mtu, window, channels, bandwidth, _, *throttle, connect_id, _ = _CONNECT_BODY.unpack(
        datagram[start + _COMMAND.size : end]
    )
    if not 1 <= channels <= 0xFF or peer_id > _NO_PEER:
        return None
    return _Connect(
        peer_id,
        incoming,
        outgoing,
        mtu,
        window,
        channels,
        bandwidth,
        (throttle[0], throttle[1], throttle[2]),
        connect_id,
    )
