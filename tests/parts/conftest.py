"""Virtual time without worker threads, a store, a record of replaced files, and the fixtures of browsers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import MockClock

from tests.browsers.fixtures import (
    browser,
    drawing_browser,
    empty_daemon,
    folder,
    headless_browser,
    page,
    playwright,
    watched,
)
from tests.marks import require_parts
from tests.store.conftest import database
from tests.virtual_time import inline

if TYPE_CHECKING:
    from slpstream.parts.deliveries.store import DeliveryStore

__all__ = [
    "browser",
    "database",
    "drawing_browser",
    "empty_daemon",
    "folder",
    "headless_browser",
    "page",
    "playwright",
    "watched",
]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MockClock:
    """A virtual clock. It does not wait for threads."""
    monkeypatch.setattr(trio.to_thread, "run_sync", inline)
    return MockClock(autojump_threshold=0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DeliveryStore]:
    require_parts("deliveries")
    from slpstream.parts.deliveries.store import DeliveryStore

    with closing(DeliveryStore(tmp_path / "deliveries.sqlite3")) as opened:
        yield opened


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files replaced during the test."""
    done: list[str] = []
    real = Path.replace

    def replace(path: Path, target: Path) -> Path:
        done.append(Path(target).name)
        return real(path, target)

    monkeypatch.setattr(Path, "replace", replace)
    return done
