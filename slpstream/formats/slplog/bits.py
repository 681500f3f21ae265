"""A stream of bits, and a byte stream around it. The parts of a replay log are made of these.

`BitPacker` writes bits, beginning with the most significant one. A boolean takes one bit, an integer n, and a small
delta just a few. `MemoryStream` writes integers as varints, and byte strings. To read them again, use `BitUnpacker` and
the `read_` methods of the stream.
"""

from __future__ import annotations

from slpstream.model.errors import FieldError

_FLUSH_BITS = 4096
_MAX_PREFIX = 40
"""Maximum number of leading zeros in an Exp-Golomb code; no longer codes are written."""
_VARINT_BITS = 7
_MAX_VARINT_BYTES = 10


class BitPacker:
    """Writes values bit by bit.

    To make this fast, it collects bits in a single Python integer, so that a put is just a shift and an addition. Every
    4,096 bits, they are flushed to bytes.
    """

    def __init__(self) -> None:
        self._done = bytearray()
        self._pending = 0
        self._count = 0

    def __len__(self) -> int:
        """The number of bits that have been put."""
        return 8 * len(self._done) + self._count

    def put_bit(self, value: bool) -> None:
        """Put one bit."""
        self.put(int(value), 1)

    def put(self, value: int, bits: int) -> None:
        """Put an unsigned integer of `bits` bits. If it doesn't fit, this raises `ValueError`."""
        if value < 0 or value >> bits:
            raise ValueError(f"{value} does not fit {bits} bits")
        self._pending = self._pending << bits | value
        self._count += bits
        if self._count >= _FLUSH_BITS:
            self._flush()

    def put_number(self, value: int, shift: int = 0) -> None:
        """Put a number that isn't negative, in Exp-Golomb code of order `shift`.

        The smaller a number is, the fewer bits it takes. For example, 0 takes `1 + shift` bits.
        """
        value += 1 << shift
        width = value.bit_length()
        self.put(value, 2 * width - shift - 1)

    def put_delta(self, value: int, shift: int = 0) -> None:
        """Put a signed number.

        To do this, we use the `put_number` code of its zigzag number, which is short for numbers close to 0.
        """
        self.put_number(2 * value if value >= 0 else -2 * value - 1, shift)

    def to_bytes(self) -> bytes:
        """Return all bits. If the last byte isn't complete, it is filled with zeros."""
        self._flush()
        tail = (self._pending << (8 - self._count)).to_bytes(1, "big") if self._count else b""
        return bytes(self._done) + tail

    def _flush(self) -> None:
        rest = self._count & 7
        self._done += (self._pending >> rest).to_bytes((self._count - rest) // 8, "big")
        self._pending &= (1 << rest) - 1
        self._count = rest


class BitUnpacker:
    """Reads the output of a `BitPacker`. At the end of the data, each method raises `FieldError`.

    `offset` is where `data` is in its file, and is used for errors.
    """

    def __init__(self, data: bytes, *, offset: int = 0) -> None:
        self._data = data
        self._offset = offset
        self._size = 8 * len(data)
        self.at = 0
        """The position of the next bit."""

    @property
    def left(self) -> int:
        """The number of bits that have not been read."""
        return self._size - self.at

    def take_bit(self) -> bool:
        """Read one bit."""
        at = self.at
        if at >= self._size:
            raise self._end()
        self.at = at + 1
        return bool(self._data[at >> 3] >> (7 - (at & 7)) & 1)

    def take(self, bits: int) -> int:
        """Read an unsigned integer of `bits` bits."""
        at = self.at
        end = at + bits
        if end > self._size:
            raise self._end()
        self.at = end
        last = (end + 7) >> 3
        window = int.from_bytes(self._data[at >> 3 : last], "big")
        return window >> (8 * last - end) & ((1 << bits) - 1)

    def take_number(self, shift: int = 0) -> int:
        """The inverse of `put_number`."""
        zeros = 0
        while not self.take_bit():
            zeros += 1
            if zeros > _MAX_PREFIX:
                raise FieldError("a number of the bit stream is too long", offset=self._offset + (self.at >> 3))
        return (1 << (zeros + shift) | self.take(zeros + shift)) - (1 << shift)

    def take_delta(self, shift: int = 0) -> int:
        """The inverse of `put_delta`."""
        value = self.take_number(shift)
        return value >> 1 if not value & 1 else -(value + 1) >> 1

    def _end(self) -> FieldError:
        return FieldError("the bit stream ends too early", offset=self._offset + len(self._data))


class MemoryStream:
    """Typed values in bytes. You write at the end, and read from `at` on. Integers are varints.

    If you try to read past the end, you get a `FieldError`.
    """

    def __init__(self, data: bytes = b"", *, offset: int = 0) -> None:
        """`offset` is where `data` is in its file. It is only used for errors."""
        self._data = bytearray(data)
        self._offset = offset
        self.at = 0

    def __len__(self) -> int:
        return len(self._data)

    @property
    def left(self) -> int:
        """The number of bytes that have not been read."""
        return len(self._data) - self.at

    def to_bytes(self) -> bytes:
        """Return the whole stream."""
        return bytes(self._data)

    def write_number(self, value: int) -> None:
        """Write an integer that isn't negative.

        Each byte contains 7 bits, beginning with the lowest, and all but the last have the high bit set.
        """
        if value < 0:
            raise ValueError(f"{value} is negative")
        while value >> _VARINT_BITS:
            self._data.append(value & 0x7F | 0x80)
            value >>= _VARINT_BITS
        self._data.append(value)

    def write_signed(self, value: int) -> None:
        """Write an integer as its zigzag number."""
        self.write_number(2 * value if value >= 0 else -2 * value - 1)

    def write_octets(self, value: bytes) -> None:
        """Write how many bytes there are, and then the bytes."""
        self.write_number(len(value))
        self._data += value

    def write_bits(self, packer: BitPacker) -> None:
        """Write the bits of a bit packer in the same way as `write_octets`."""
        self.write_octets(packer.to_bytes())

    def read_number(self, max_value: int | None = None) -> int:
        """Read a number that was written by `write_number`. If it is above `max_value`, this raises `FieldError`."""
        value, shift = 0, 0
        while True:
            byte = self.read_raw(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += _VARINT_BITS
            if shift >= _VARINT_BITS * _MAX_VARINT_BYTES:
                raise FieldError("a number is too long", offset=self._offset + self.at)
        if max_value is not None and value > max_value:
            raise FieldError(f"the number {value} is larger than {max_value}", offset=self._offset + self.at)
        return value

    def read_signed(self) -> int:
        """The inverse of `write_signed`."""
        value = self.read_number()
        return value >> 1 if not value & 1 else -(value + 1) >> 1

    def read_octets(self, max_bytes: int | None = None) -> bytes:
        """Read bytes that were written by `write_octets`.

        If there are more than `max_bytes`, this raises `FieldError`.
        """
        return self.read_raw(self.read_number(max_bytes))

    def read_bits(self) -> BitUnpacker:
        """The inverse of `write_bits`."""
        data = self.read_octets()
        return BitUnpacker(data, offset=self._offset + self.at - len(data))

    def read_raw(self, count: int) -> bytes:
        """Read `count` bytes."""
        if count > self.left:
            raise FieldError("the stream ends too early", offset=self._offset + len(self._data))
        at = self.at
        self.at = at + count
        return bytes(self._data[at : self.at])
