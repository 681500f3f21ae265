"""Nothing runs in threads here, during which virtual time would jump."""

from __future__ import annotations

import pytest
import trio

from tests.tournament.bracket.virtual_time import in_the_event_loop


@pytest.fixture(autouse=True)
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trio.to_thread, "run_sync", in_the_event_loop)
