"""Answers of a daemon to commands. Another server can be at its address, so anything can come."""

from __future__ import annotations

from typing import Protocol, TypeVar

from slpstream.model.foreign_data import MAX_BYTES, read_json

T = TypeVar("T")


class Readable(Protocol):
    """The body of a response."""

    def read(self, size: int, /) -> bytes:
        """Read at most `size` bytes."""


def answer(response: Readable, kind: type[T]) -> T:
    """The answer in a body of JSON. Raises `ValueError` for anything else."""
    return decoded(response.read(MAX_BYTES + 1), kind)


def decoded(body: bytes, kind: type[T]) -> T:
    """The answer in JSON. Raises `ValueError` for anything else."""
    return read_json(body, kind, not_an_answer)


def not_an_answer(what: str) -> ValueError:
    """The error for anything else."""
    return ValueError(f"not an answer of slpstream: {what}")
