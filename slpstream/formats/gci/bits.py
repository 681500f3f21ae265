"""Reading and writing the bit stream of a replay body.

Each byte is used from its least significant bit up, while the first bit of a field is its most significant one. With
the bits of every byte reversed this is an ordinary stream, so the reader reverses the whole buffer once. It then reads
windows of 8 bytes: a field of up to 57 bits lies in the window that begins at its first byte, whatever bit it begins
at. With one big integer instead, each field would cost time proportional to the length of the file.
"""

from __future__ import annotations

from slpstream.model.errors import FramingError

REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Every byte with its bits reversed, for `bytes.translate`."""

_WINDOW_BYTES = 8


class OutOfBits(FramingError):
    """The stream ends inside a field."""

    code = "truncated"


class BitReader:
    """Reads fields one after another. `at` is the position of the next one, in bits from the start of `data`.

    `file_offset` is the offset of `data` in its file, for errors.
    """

    def __init__(self, data: bytes, *, file_offset: int = 0) -> None:
        self._buffer = data.translate(REVERSED_BITS) + bytes(_WINDOW_BYTES)
        self._file_offset = file_offset
        self.size_bits = 8 * len(data)
        self.at = 0

    @property
    def left_bits(self) -> int:
        """The number of bits that have not been read."""
        return self.size_bits - self.at

    def need(self, bits: int, name: str) -> None:
        """Raise `OutOfBits` when fewer than `bits` are left. `name` is the part they are for, in the error's text."""
        if bits > self.left_bits:
            raise OutOfBits(
                f"the file ends inside {name}: {bits} bits are needed, {self.left_bits} are left",
                offset=self._file_offset + self.size_bits // 8,
            )

    def take(self, bits: int, name: str = "a field") -> int:
        """Read the next field, of 0 to 57 bits, as an unsigned integer."""
        self.need(bits, name)
        at = self.at
        self.at = at + bits
        first = at >> 3
        window = int.from_bytes(self._buffer[first : first + _WINDOW_BYTES], "big")
        return window >> (8 * _WINDOW_BYTES - bits - (at & 7)) & ((1 << bits) - 1)

    def take_each(self, bits: int, count: int, name: str = "fields") -> list[int]:
        """Read `count` fields of the same width, which is faster than one at a time."""
        self.need(bits * count, name)
        buffer, from_bytes = self._buffer, int.from_bytes
        shift, mask = 8 * _WINDOW_BYTES - bits, (1 << bits) - 1
        start, stop = self.at, self.at + bits * count
        self.at = stop
        return [
            from_bytes(buffer[at >> 3 : (at >> 3) + _WINDOW_BYTES], "big") >> (shift - (at & 7)) & mask
            for at in range(start, stop, bits)
        ]

    def take_octets(self, count: int, name: str = "bytes") -> bytes:
        """Read `count` fields of 8 bits as bytes."""
        self.need(8 * count, name)
        first, shift = self.at >> 3, self.at & 7
        self.at += 8 * count
        # One shift of these bytes and the next one. After the last byte of data come the zeros of the window.
        wide = int.from_bytes(self._buffer[first : first + count + 1], "big")
        return (wide >> (8 - shift) & ((1 << 8 * count) - 1)).to_bytes(count, "big")

    def rest(self) -> bytes:
        """Return the unread bytes in the file's own bit order, without trailing zeros.

        The first one is the byte of the next bit; bits of it that were already read are cleared.
        """
        left = bytearray(self._buffer[self.at >> 3 : self.size_bits >> 3])
        if left:
            left[0] &= 0xFF >> (self.at & 7)
        return bytes(left).translate(REVERSED_BITS).rstrip(b"\0")


class BitWriter:
    """Writes fields one after another; the inverse of `BitReader`."""

    def __init__(self) -> None:
        self._done = bytearray()
        self._pending = 0
        self._pending_bits = 0

    @property
    def at(self) -> int:
        """The number of bits written."""
        return 8 * len(self._done) + self._pending_bits

    def put(self, value: int, bits: int, name: str = "a field") -> None:
        """Write an unsigned integer as a field of `bits` bits. Raises `ValueError` when it does not fit."""
        if value < 0 or value >> bits:
            raise ValueError(f"{name}: {value} does not fit {bits} bits")
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
