"""Decode untrusted data: JSON, MessagePack and text of other programs, from files, sockets, HTTP and a broker.

Other programs can send anything: undocumented types, other encodings, thousands of nested lists, values of any size.
These functions raise only the error that the caller chooses, with a short reason. JSON that they return nests at most
`MAX_DEPTH` levels, so code can recurse into it.

`tests/test_foreign_data.py` finds all other places that decode such data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

MAX_DEPTH = 64
"""More levels than any known peer uses, and far fewer than Python's recursion limit."""
MAX_BYTES = 64 << 20

Failure = Callable[[str], Exception]
"""Returns the error to raise, given the reason."""
T = TypeVar("T")

_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_TOO_DEEP = f"nested too deeply: more than {MAX_DEPTH} lists and objects in each other"


class _Unreadable(Exception):
    """Raised and caught within `json_or_none`."""


def read_json(
    data: bytes, kind: type[T] | msgspec.json.Decoder[T], failure: Failure, *, max_bytes: int = MAX_BYTES
) -> T:
    """Decode JSON as a type, or with a decoder of one. Raises `failure(reason)`."""
    if len(data) > max_bytes:
        raise failure(f"more than {max_bytes} bytes")
    decode = kind.decode if isinstance(kind, msgspec.json.Decoder) else partial(msgspec.json.decode, type=kind)
    found: T = _decoded(decode, data, failure)
    if _is_too_deep(data):
        raise failure(_TOO_DEEP)
    return found


def json_or_none(data: bytes, kind: type[T] | msgspec.json.Decoder[T]) -> T | None:
    """Decode JSON as a type; `None` for any other data."""
    try:
        return read_json(data, kind, _Unreadable)
    except _Unreadable:
        return None


def read_messagepack(data: bytes, failure: Failure) -> Any:
    """Decode MessagePack. Raises `failure(reason)`. Unlike JSON, it can nest up to Python's recursion limit."""
    return _decoded(msgspec.msgpack.decode, data, failure)


def converted(value: Any, kind: type[T], failure: Failure, *, strict: bool = True) -> T:
    """Convert a value of decoded JSON to a type. Raises `failure(reason)`.

    Without `strict`, strings are converted to the numbers, booleans or null that they contain.
    """
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise failure(str(error)) from None


def read_text(data: bytes, failure: Failure) -> str:
    """Decode UTF-8. Raises `failure(reason)`."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise failure("not UTF-8") from None


def whole_number(text: str) -> int | None:
    """Parse a text of decimal digits; `None` for any other text, and for more than 18 digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _decoded(decode: Callable[[bytes], T], data: bytes, failure: Failure) -> T:
    """Call a decoder of msgspec. Raises `failure(reason)` for all its errors."""
    try:
        return decode(data)
    except UnicodeDecodeError:
        raise failure("not UTF-8") from None
    except msgspec.DecodeError as error:
        raise failure(str(error)) from None
    except RecursionError:
        raise failure(_TOO_DEEP) from None


def _is_too_deep(data: bytes) -> bool:
    """Whether valid JSON nests more than `MAX_DEPTH` levels."""
    brackets = data.translate(None, _NO_BRACKETS)
    if len(brackets) <= 2 * MAX_DEPTH:  # true for nearly all data
        return False
    brackets = _STRING.sub(b"", data).translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")  # the innermost level
        if not brackets:
            return False
    return True
