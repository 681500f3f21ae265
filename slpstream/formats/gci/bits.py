"""The bit order of a replay body, both ways.

Bits are taken from the first byte on, each byte from its least significant bit up; within a field the first bit taken
is the most significant one. With the bits of every byte reversed that is an ordinary stream, so the reader reverses the
whole buffer once and then reads windows of 8 bytes: any field of up to 57 bits lies in the window that begins at its
first byte, whatever bit it begins at. One big integer would cost the length of the file for every field.
"""

from __future__ import annotations

from slpstream.model.errors import FramingError

REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Every byte with its bits in the other order, for `bytes.translate`."""

_WINDOW_BYTES = 8


class OutOfBits(FramingError):
    """The stream ends inside a field."""

    code = "truncated"


class BitReader:
    """Reads fields one after the other; `at` is the bit that comes next, counted from the first byte of `data`."""

    def __init__(self, data: bytes, *, file_offset: int = 0) -> None:
        """`file_offset`: where `data` begins in its file, for the offsets of errors."""
        self._buffer = data.translate(REVERSED_BITS) + bytes(_WINDOW_BYTES)
        self._file_offset = file_offset
        self.size_bits = 8 * len(data)
        self.at = 0

    @property
    def left_bits(self) -> int:
        """Bits that were not taken yet."""
        return self.size_bits - self.at

    def need(self, bits: int, what: str) -> None:
        """Raises `OutOfBits` when fewer than `bits` are left for `what`."""
        if bits > self.left_bits:
            raise OutOfBits(
                f"the file ends inside {what}: {bits} bits are needed, {self.left_bits} are left",
                offset=self._file_offset + self.size_bits // 8,
            )

    def take(self, bits: int, what: str = "a field") -> int:
        """The next field, 0 to 57 bits wide, as an unsigned number."""
        self.need(bits, what)
        at = self.at
        self.at = at + bits
        first = at >> 3
        window = int.from_bytes(self._buffer[first : first + _WINDOW_BYTES], "big")
        return window >> (8 * _WINDOW_BYTES - bits - (at & 7)) & ((1 << bits) - 1)

    def take_each(self, bits: int, count: int, what: str = "fields") -> list[int]:
        """`count` fields of the same width: the same as taking one by one, without the calls."""
        self.need(bits * count, what)
        buffer, from_bytes = self._buffer, int.from_bytes
        shift, mask = 8 * _WINDOW_BYTES - bits, (1 << bits) - 1
        start, stop = self.at, self.at + bits * count
        self.at = stop
        return [
            from_bytes(buffer[at >> 3 : (at >> 3) + _WINDOW_BYTES], "big") >> (shift - (at & 7)) & mask
            for at in range(start, stop, bits)
        ]

    def take_octets(self, count: int, what: str = "bytes") -> bytes:
        """`count` fields of 8 bits, as bytes."""
        self.need(8 * count, what)
        first, shift = self.at >> 3, self.at & 7
        self.at += 8 * count
        # One shift over just these bytes and the one behind them; the window's zeros are behind the last.
        wide = int.from_bytes(self._buffer[first : first + count + 1], "big")
        return (wide >> (8 - shift) & ((1 << 8 * count) - 1)).to_bytes(count, "big")

    def rest(self) -> bytes:
        """What was not taken, in the file's own bit order: from the byte of the next bit on, the bits before it
        cleared, without zeros at the end."""
        left = bytearray(self._buffer[self.at >> 3 : self.size_bits >> 3])
        if left:
            left[0] &= 0xFF >> (self.at & 7)
        return bytes(left).translate(REVERSED_BITS).rstrip(b"\0")


class BitWriter:
    """Writes fields one after the other; the mirror of `BitReader`."""

    def __init__(self) -> None:
        self._done = bytearray()
        self._pending = 0
        self._pending_bits = 0

    @property
    def at(self) -> int:
        """How many bits were put."""
        return 8 * len(self._done) + self._pending_bits

    def put(self, value: int, bits: int, what: str = "a field") -> None:
        """Raises `ValueError` when the number does not fit the field."""
        if value < 0 or value >> bits:
            raise ValueError(f"{what}: {value} does not fit {bits} bits")
        pending_bits = self._pending_bits + bits
        pending = self._pending << bits | value
        kept = pending_bits & 7
        self._done += (pending >> kept).to_bytes((pending_bits - kept) // 8, "big")
        self._pending, self._pending_bits = pending & ((1 << kept) - 1), kept

    def finish(self) -> bytes:
        """Return all bytes in the file's bit order, the last one filled with zeros."""
        data = bytearray(self._done)
        if self._pending_bits:
            data.append(self._pending << (8 - self._pending_bits))
        return bytes(data.translate(REVERSED_BITS))
