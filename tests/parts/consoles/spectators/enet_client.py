"""A client of ENet 1.3 without a socket or a clock, written for the tests from the datagrams of the original.

It connects, acknowledges, puts fragments together, and resends unacknowledged commands.
"""

from __future__ import annotations

import struct

RESEND_SECONDS = 0.5
HEADER = struct.Struct(">HH")
CONNECT_ID = b"\x01\x02\x03\x04"


def connect_datagram(*, peer_id: int = 0, connect_id: bytes = CONNECT_ID, channels: int = 2, mtu: int = 1392) -> bytes:
    """The first datagram of a client."""
    body = struct.pack(">HBBIIIIIIII4sI", peer_id, 0xFF, 0xFF, mtu, 65536, channels, 0, 0, 5000, 2, 2, connect_id, 1337)
    return HEADER.pack(0x8FFF, 7) + struct.pack(">BBH", 0x82, 0xFF, 1) + body


class EnetClient:
    """One connection. `receive` takes datagrams, `send_due` returns those that must be sent now."""

    def __init__(self, mtu: int = 1392, connect_id: bytes = CONNECT_ID) -> None:
        self.connect = connect_datagram(mtu=mtu, connect_id=connect_id)
        self.connected = self.disconnected = False
        self.packets: list[bytes] = []
        """Reliable packets in the order of the server."""
        self.largest_datagram = 0
        self._their_id = self._session = 0
        self._acknowledgements: list[bytes] = []
        self._expected = 1
        self._early: dict[int, bytes] = {}
        self._fragments: list[bytes] = []
        self._number = 0
        self._unacknowledged: dict[tuple[int, int], bytes] = {}
        self._sent_at = -RESEND_SECONDS

    def header(self, clock: int = 3) -> bytes:
        """The header of a datagram of this connection."""
        return HEADER.pack(self._their_id | self._session << 12 | 0x8000, clock)

    def send(self, data: bytes) -> None:
        """Queue a reliable packet on channel 0."""
        self._number += 1
        head = struct.pack(">BBHH", 0x86, 0, self._number, len(data))
        self._unacknowledged[0, self._number] = head + data

    def ping(self) -> None:
        """Queue a command whose acknowledgement shows that the connection works."""
        self._unacknowledged[0xFF, 2] = struct.pack(">BBH", 0x85, 0xFF, 2)

    def receive(self, datagram: bytes) -> None:
        self.largest_datagram = max(self.largest_datagram, len(datagram))
        head, clock = HEADER.unpack_from(datagram)
        assert head & 0x4FFF == 0, "the client's id is 0, and nothing is compressed"
        at = 4
        while at < len(datagram):
            at = self._command(datagram, at, clock)
        assert at == len(datagram)

    def _command(self, datagram: bytes, at: int, clock: int) -> int:
        flags, channel, number = struct.unpack_from(">BBH", datagram, at)
        size = {1: 8, 3: 44, 4: 8, 5: 4, 6: 6, 8: 24}[flags & 15]
        end = at + size
        if flags & 15 == 1:
            self._unacknowledged.pop((channel, number), None)
            return end
        if flags & 15 == 3:
            if not self.connected:
                self._their_id, _, self._session, mtu = struct.unpack_from(">HBBI", datagram, at + 4)
                assert datagram[at + 40 : at + 44] == self.connect[44:48]
                assert mtu <= 1392
                self.connected = True
        elif flags & 15 == 4:
            self.disconnected = True
        elif flags & 15 in (6, 8):
            end += int.from_bytes(datagram[at + size - (2 if flags & 15 == 6 else 18) :][:2], "big")
            if (number - self._expected) & 0xFFFF < 0x8000:
                self._early[number] = datagram[at:end]
            while self._expected in self._early:
                self._deliver(self._early.pop(self._expected))
                self._expected = (self._expected + 1) & 0xFFFF
        if flags & 0x80:
            self._acknowledgements.append(struct.pack(">BBHHH", 1, channel, number, number, clock))
        return end

    def _deliver(self, command: bytes) -> None:
        if command[0] & 15 == 6:
            self.packets.append(command[6:])
            return
        count, index, total, offset = struct.unpack_from(">IIII", command, 8)
        assert (index, offset) == (len(self._fragments), sum(map(len, self._fragments)))
        self._fragments.append(command[24:])
        if index == count - 1:
            self.packets.append(b"".join(self._fragments))
            assert len(self.packets[-1]) == total
            self._fragments.clear()

    def send_due(self, now: float) -> list[bytes]:
        """Acknowledgements immediately, and unacknowledged commands every half second."""
        parts, self._acknowledgements = self._acknowledgements, []
        resend = now - self._sent_at >= RESEND_SECONDS
        if resend:
            self._sent_at = now
        if not self.connected:
            return [self.connect] if resend else []
        if resend:
            parts = [*parts, *self._unacknowledged.values()]
        head = self.header(int(now * 1000) & 0xFFFF)
        return [head + b"".join(parts[i : i + 32]) for i in range(0, len(parts), 32)]
