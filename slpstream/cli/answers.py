"""The answers of a daemon to commands.

They can contain anything, because there may be another server at the address.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from slpstream.model.foreign_data import MAX_BYTES, read_json

T = TypeVar("T")


class Readable(Protocol):
    """The body of a response."""

    def read(self, size: int, /) -> bytes:
        """Read at most `size` bytes."""


def answer(response: Readable, kind: type[T]) -> T:
    """Return the answer in a JSON body. Raises `ValueError` if it contains anything else."""
    return decoded(response.read(MAX_BYTES + 1), kind)


def decoded(body: bytes, kind: type[T]) -> T:
    """Return the answer in JSON. Raises `ValueError` if it contains anything else."""
    return read_json(body, kind, not_an_answer)


def not_an_answer(what: str) -> ValueError:
    """Return the error for a body that isn't an answer of slpstream."""
    return ValueError(f"not an answer of slpstream: {what}")
