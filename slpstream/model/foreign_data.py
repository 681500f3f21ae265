"""Decode data that you can't trust: JSON, MessagePack and text of other programs, from files, sockets, HTTP and a
broker.

Another program can send anything at all, including types that no one documented, unexpected encodings, thousands of
nested lists, and values of any size. If you decode such data with the functions in this module, then the only error
that you have to handle is the one that you choose yourself. It gets a short reason. The JSON that they return is nested
at most `MAX_DEPTH` levels deep, so it is safe to use recursion on it.

There's a test (`tests/test_foreign_data.py`) that finds all other places where such data is decoded.
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
    """Raised and caught within `json_or_none`, so you never see it."""


def read_json(
    data: bytes, kind: type[T] | msgspec.json.Decoder[T], failure: Failure, *, max_bytes: int = MAX_BYTES
) -> T:
    """Decode JSON as a certain type. Instead of the type, you can also pass a decoder that was made for it.

    If that doesn't work, this raises the result of `failure(reason)`.
    """
    if len(data) > max_bytes:
        raise failure(f"more than {max_bytes} bytes")
    decode = kind.decode if isinstance(kind, msgspec.json.Decoder) else partial(msgspec.json.decode, type=kind)
    found: T = _decoded(decode, data, failure)
    if _is_too_deep(data):
        raise failure(_TOO_DEEP)
    return found


def json_or_none(data: bytes, kind: type[T] | msgspec.json.Decoder[T]) -> T | None:
    """Decode JSON as a certain type. Returns `None` if the data is anything else."""
    try:
        return read_json(data, kind, _Unreadable)
    except _Unreadable:
        return None


def read_messagepack(data: bytes, failure: Failure) -> Any:
    """Decode MessagePack. If that doesn't work, this raises the result of `failure(reason)`.

    Be careful: in contrast to JSON, the result can be nested up to Python's recursion limit.
    """
    return _decoded(msgspec.msgpack.decode, data, failure)


def converted(value: Any, kind: type[T], failure: Failure, *, strict: bool = True) -> T:
    """Convert a value from decoded JSON to a certain type. If that doesn't work, this raises the result of
    `failure(reason)`.

    If `strict` is false, a string is also accepted if it contains a number, a boolean or null.
    """
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise failure(str(error)) from None


def read_text(data: bytes, failure: Failure) -> str:
    """Decode UTF-8. If that doesn't work, this raises the result of `failure(reason)`."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise failure("not UTF-8") from None


def whole_number(text: str) -> int | None:
    """Parse a text that consists of decimal digits.

    Returns `None` for any other text. This includes texts with more than 18 digits.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _decoded(decode: Callable[[bytes], T], data: bytes, failure: Failure) -> T:
    """Call a decoder of msgspec, and turn all errors that it can raise into `failure(reason)`."""
    try:
        return decode(data)
    except UnicodeDecodeError:
        raise failure("not UTF-8") from None
    except msgspec.DecodeError as error:
        is_bad_text = "Invalid UTF-8" in str(error)  # since 0.23; before, msgspec raised `UnicodeDecodeError`
        raise failure("not UTF-8" if is_bad_text else str(error)) from None
    except RecursionError:
        raise failure(_TOO_DEEP) from None


def _is_too_deep(data: bytes) -> bool:
    """Check whether JSON, which must be valid, is nested more than `MAX_DEPTH` levels deep."""
    brackets = data.translate(None, _NO_BRACKETS)
    if len(brackets) <= 2 * MAX_DEPTH:  # true for nearly all data
        return False
    brackets = _STRING.sub(b"", data).translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")  # the innermost level
        if not brackets:
            return False
    return True
