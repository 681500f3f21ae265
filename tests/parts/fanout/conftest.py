"""One broker for all tests of a module. Each test uses its own event."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.parts.fanout.redis_process import RedisProcess, redis


@pytest.fixture(scope="module")
def broker() -> Iterator[RedisProcess]:
    with redis() as server:
        yield server
