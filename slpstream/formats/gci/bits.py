"""Read and write the bit stream in the body of a replay.

Each byte is used from its least significant bit up, but the first bit of a field is its most significant one. If you
reverse the bits of every byte, you get an ordinary stream, so the reader reverses the whole buffer once. After that, it
reads windows of 8 bytes. No matter at which bit a field of up to 57 bits begins, it lies in the window that begins at
its first byte. If we used one big integer instead, then the longer the file, the more time each field would take.
"""

from __future__ import annotations

from slpstream.model.errors import FramingError

REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Every byte with its bits reversed, for `bytes.translate`."""

_WINDOW_BYTES = 8


class OutOfBits(FramingError):
    """Raised if the stream ends in the middle of a field."""

    code = "truncated"


class BitReader:
    """Reads fields one after another. `at` is where the next one begins, in bits from the start of `data`.

    `file_offset` is where `data` is in its file, and is used for errors.
    """

    def __init__(self, data: bytes, *, file_offset: int = 0) -> None:
        self._buffer = data.translate(REVERSED_BITS) + bytes(_WINDOW_BYTES)
        self._file_offset = file_offset
        self.size_bits = 8 * len(data)
        self.at = 0

    @property
    def left_bits(self) -> int:
        """How many bits are left to read."""
        return self.size_bits - self.at

    def need(self, bits: int, name: str) -> None:
        """Check that there are at least `bits` left, and raise `OutOfBits` if not.

        `name` tells the user for which part they are needed.
        """
        if bits > self.left_bits:
            raise OutOfBits(
                f"the file ends inside {name}: {bits} bits are needed, {self.left_bits} are left",
                offset=self._file_offset + self.size_bits // 8,
            )

    def take(self, bits: int, name: str = "a field") -> int:
        """Read the next field as an unsigned integer. It can have 0 to 57 bits."""
        self.need(bits, name)
        at = self.at
        self.at = at + bits
        first = at >> 3
        window = int.from_bytes(self._buffer[first : first + _WINDOW_BYTES], "big")
        return window >> (8 * _WINDOW_BYTES - bits - (at & 7)) & ((1 << bits) - 1)

    def take_each(self, bits: int, count: int, name: str = "fields") -> list[int]:
        """Read `count` fields that all have the same width. This is faster than reading them one at a time."""
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
        """Return the bytes that were not read, in the file's own bit order and without zeros at the end.

        The first of them is the byte that contains the next bit. If some of its bits were already read, they are
        cleared.
        """
        left = bytearray(self._buffer[self.at >> 3 : self.size_bits >> 3])
        if left:
            left[0] &= 0xFF >> (self.at & 7)
        return bytes(left).translate(REVERSED_BITS).rstrip(b"\0")


class BitWriter:
    """Writes fields one after another, so that you can read them with a `BitReader`."""

    def __init__(self) -> None:
        self._done = bytearray()
        self._pending = 0
        self._pending_bits = 0

    @property
    def at(self) -> int:
        """The number of bits written."""
        return 8 * len(self._done) + self._pending_bits

    def put(self, value: int, bits: int, name: str = "a field") -> None:
        """Write an unsigned integer as a field of `bits` bits. If it doesn't fit, this raises `ValueError`."""
        if value < 0 or value >> bits:
            raise ValueError(f"{name}: {value} does not fit {bits} bits")
        pending_bits = self._pending_bits + bits
        pending = self._pending << bits | value
        kept = pending_bits & 7
        self._done += (pending >> kept).to_bytes((pending_bits - kept) // 8, "big")
        self._pending, self._pending_bits = pending & ((1 << kept) - 1), kept

    def finish(self) -> bytes:
        """Return all bytes in the bit order of the file. If the last one isn't complete, it is filled with zeros."""
        data = bytearray(self._done)
        if self._pending_bits:
            data.append(self._pending << (8 - self._pending_bits))
        return bytes(data.translate(REVERSED_BITS))
