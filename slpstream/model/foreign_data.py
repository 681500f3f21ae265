"""Reads what other programs have written: JSON, MessagePack and text, from files, sockets, HTTP and a broker.

Other programs can send anything: other types than they document, other encodings, thousands of nested lists, values of
any size. Each of these raises the error that the caller has chosen, with the reason in a few words, and nothing else.
JSON that was read nests at most `MAX_DEPTH` levels, so code that follows its levels may recurse.

`tests/test_foreign_data.py` finds any other place that decodes such bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

MAX_DEPTH = 64
"""More levels than any program that slpstream talks with uses, and far fewer than Python's recursion limit."""
MAX_BYTES = 64 << 20

Failure = Callable[[str], Exception]
"""Makes the error to raise of the reason."""
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
    try:
        found: T = kind.decode(data) if isinstance(kind, msgspec.json.Decoder) else msgspec.json.decode(data, type=kind)
    except UnicodeDecodeError:
        raise failure("not UTF-8") from None
    except msgspec.DecodeError as error:
        raise failure(str(error)) from None
    except RecursionError:
        raise failure(_TOO_DEEP) from None
    if _is_too_deep(data):
        raise failure(_TOO_DEEP)
    return found


def json_or_none(data: bytes, kind: type[T] | msgspec.json.Decoder[T]) -> T | None:
    """The same; `None` for JSON that cannot be read as this type, and for anything that is not JSON."""
    try:
        return read_json(data, kind, _Unreadable)
    except _Unreadable:
        return None


def read_messagepack(data: bytes, failure: Failure) -> Any:
    """Decode MessagePack. Raises what `failure` makes. Unlike JSON, it may nest up to Python's recursion limit."""
    try:
        return msgspec.msgpack.decode(data)
    except UnicodeDecodeError:
        raise failure("not UTF-8") from None
    except msgspec.DecodeError as error:
        raise failure(str(error)) from None
    except RecursionError:
        raise failure(_TOO_DEEP) from None


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
