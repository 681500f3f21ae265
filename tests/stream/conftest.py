"""Both ways in which a channel writes to its subscribers."""

from __future__ import annotations

import pytest

from tests.stream.fakes import Client


@pytest.fixture(params=["one by one", "at once"])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test twice: channels write to their subscribers one by one, and to all of them with one call."""
    monkeypatch.setattr(Client, "send_to_all", Client.send_at_once if request.param == "at once" else None)
