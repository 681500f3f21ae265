"""Reads what other programs have written: JSON, MessagePack and text, from files, sockets, HTTP and a broker.

Other programs can send anything: undocumented types, other encodings, thousands of nested lists, values of any size.
All of these raise the error that the caller chooses, with a short reason, and nothing else. JSON nests at most
`MAX_DEPTH` levels once it has been read, so code that follows its levels may recurse.

`tests/test_foreign_data.py` finds any other place that decodes such bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

MAX_DEPTH = 64
"""More levels than any program that slpstream talks with uses, and far fewer than Python's recursion limit."""
MAX_BYTES = 64 << 20

Failure = Callable[[str], Exception]
"""Returns the error to raise, given the reason."""
T = TypeVar("T")

_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_TOO_DEEP = f"nested too deeply: more than {MAX_DEPTH} lists and objects in each other"


class _Unreadable(Exception):
    """The error of `json_or_none`, which nobody else sees."""


def read_json(
    data: bytes, kind: type[T] | msgspec.json.Decoder[T], failure: Failure, *, max_bytes: int = MAX_BYTES
) -> T:
    """Decode JSON as a type, or by a decoder of one. Raises what `failure` makes."""
    if len(data) > max_bytes:
        raise failure(f"more than {max_bytes} bytes")
    decode = kind.decode if isinstance(kind, msgspec.json.Decoder) else partial(msgspec.json.decode, type=kind)
    found: T = _decoded(decode, data, failure)
    if _is_too_deep(data):
        raise failure(_TOO_DEEP)
    return found


def json_or_none(data: bytes, kind: type[T] | msgspec.json.Decoder[T]) -> T | None:
    """Decode JSON as a type; `None` for anything that is not JSON of this type."""
    try:
        return read_json(data, kind, _Unreadable)
    except _Unreadable:
        return None


def read_messagepack(data: bytes, failure: Failure) -> Any:
    """Decode MessagePack. Raises what `failure` makes. Unlike JSON, it may nest up to Python's recursion limit."""
    return _decoded(msgspec.msgpack.decode, data, failure)


def converted(value: Any, kind: type[T], failure: Failure, *, strict: bool = True) -> T:
    """Convert a value of decoded JSON to a type. Raises what `failure` makes.

    Without `strict`, texts are taken for the numbers, booleans or null that they contain.
    """
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise failure(str(error)) from None


def read_text(data: bytes, failure: Failure) -> str:
    """Decode UTF-8. Raises what `failure` makes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise failure("not UTF-8") from None


def whole_number(text: str) -> int | None:
    """The number that a text of decimal digits stands for; `None` for any other text, and for more than 18 digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _decoded(decode: Callable[[bytes], T], data: bytes, failure: Failure) -> T:
    """Call a function of msgspec. Raises what `failure` makes for each way in which that can fail."""
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
    if len(brackets) <= 2 * MAX_DEPTH:  # as in almost all that is read
        return False
    brackets = _STRING.sub(b"", data).translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")  # the innermost level
        if not brackets:
            return False
    return True
