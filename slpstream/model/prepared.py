"""Make it safe to decode a struct type in several threads at the same time.

msgspec analyses a struct type when you first decode it or convert a value to it. If two threads happen to do this at
the same time, the whole process crashes (msgspec 0.22.0). We avoid this by running the analysis once, while the module
that defines the type is imported.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


def prepared(struct: type[T]) -> type[T]:
    """Decorate a struct type that you decode or convert values to. This also prepares the types of its fields."""
    msgspec.json.Decoder(struct)
    return struct
