"""Struct types that several threads may decode at once.

msgspec finds out what it has to know of a struct type when it first decodes one or converts to it. Two threads that do
this at the same moment end the process (msgspec 0.22.0). So it is done once, while the module of the type is imported.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


def prepared(struct: type[T]) -> type[T]:
    """Decorates a struct type that is decoded or converted to. Types of its fields are prepared with it."""
    msgspec.json.Decoder(struct)
    return struct
