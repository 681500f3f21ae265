"""Answers of other programs, damaged in undocumented ways: other types, encodings and depths."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 5, 2**63 - 1, -(2**63), 2**64 - 1, 0.5, -1e300, 1e300, 1e-300),
    *("", "x", "5", "-1", "²", "1" * 5000, "null", "José", "\0", "[" * 200, [], {}, [None], [[1]], ["x", 5]),
    *({"id": 5}, {"": {}}, [[[[[[[[[[]]]]]]]]]]),
)
"""Replacements for values."""


def changed(value: Any, chance: random.Random, count: int = 1) -> Any:
    """A copy of a JSON value in which some values are replaced or missing."""
    root: Any = [copy.deepcopy(value)]
    for _ in range(count):
        container, key = root, 0
        while isinstance(container[key], dict | list) and container[key] and chance.random() < 0.7:
            container = container[key]
            key = chance.choice(list(container) if isinstance(container, dict) else range(len(container)))
        if isinstance(container, dict) and chance.random() < 0.2:
            del container[key]
        else:
            container[key] = copy.deepcopy(chance.choice(ODD))
    return root[0]


def damaged(value: Any, chance: random.Random) -> bytes:
    """A JSON value as bytes, possibly in another encoding, nested thousands of times, truncated, or noise."""
    data = json.dumps(changed(value, chance, chance.randint(1, 3)), ensure_ascii=False).encode()
    kind = chance.randrange(8)
    if kind == 0:
        return b'{"data":' + b"[" * 5000 + b"]" * 5000 + b"}"
    if kind == 1:
        return data[:-1] + ',"José":"José"}'.encode("latin-1")
    if kind == 2:
        return data[: chance.randrange(len(data) + 1)]
    if kind == 3:
        return chance.randbytes(chance.randrange(40))
    return data
