"""Struct types that several threads can decode at the same time.

msgspec analyses a struct type when it first decodes it or converts to it. If two threads do this at the same time, the
process crashes (msgspec 0.22.0). So the analysis runs once, while the module of the type is imported.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


def prepared(struct: type[T]) -> type[T]:
    """Decorate a struct type that is decoded or converted to. The types of its fields are prepared with it."""
    msgspec.json.Decoder(struct)
    return struct
