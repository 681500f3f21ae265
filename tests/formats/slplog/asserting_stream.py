"""A memory stream with an assert mode: the calls that wrote a state compare it with another one."""

from __future__ import annotations

import struct
from typing import Any

from slpstream.formats.slplog.bits import MemoryStream
from slpstream.model.errors import FormatError


class Difference(FormatError):
    """An asserted value is not the stored one."""

    code = "difference"

    def __init__(self, name: str, stored: Any, found: Any, offset: int) -> None:
        super().__init__(f"{name}: {stored!r} is stored, {found!r} was found", offset=offset)


class AssertingStream(MemoryStream):
    """Adds floats, and an `assert_` method for each `read_` method that raises `Difference` for another value."""

    def write_float(self, value: float) -> None:
        """Write eight bytes, bit-exact."""
        self._data += struct.pack(">d", value)

    def read_float(self) -> float:
        """The inverse of `write_float`."""
        value: float = struct.unpack(">d", self.read_raw(8))[0]
        return value

    def assert_number(self, name: str, value: int) -> None:
        """Read a number, which must be `value`."""
        self._compare(name, self.read_number(), value)

    def assert_signed(self, name: str, value: int) -> None:
        """Read a signed number, which must be `value`."""
        self._compare(name, self.read_signed(), value)

    def assert_float(self, name: str, value: float) -> None:
        """Read a float, which must be `value` bit by bit: a NaN equals itself, and 0.0 is not -0.0."""
        stored = self.read_float()
        if struct.pack(">d", stored) != struct.pack(">d", value):
            raise Difference(name, stored, value, self.at - 8)

    def assert_octets(self, name: str, value: bytes) -> None:
        """Read bytes, which must be `value`."""
        self._compare(name, self.read_octets(), value)

    def _compare(self, name: str, stored: Any, found: Any) -> None:
        if stored != found:
            raise Difference(name, stored, found, self.at)
