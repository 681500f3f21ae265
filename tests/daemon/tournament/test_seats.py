"""The seats of a daemon in this process: the address in the codes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from slpstream.config import Seats as SeatsConfig
from slpstream.daemon.tournament import seats
from slpstream.daemon.tournament.seat_keys import KeyFile
from slpstream.daemon.tournament.seats import DaemonSeats
from slpstream.system.metrics import Metrics
from tests.daemon.test_sets import running_sets

STATIONS = {"main": "Main stage"}


@asynccontextmanager
async def running_seats(folder: Path, **config: Any) -> AsyncIterator[DaemonSeats]:
    """The seats of a daemon that listens everywhere."""
    async with running_sets(folder, *STATIONS) as sets:
        yield DaemonSeats(
            SeatsConfig(on=True, **config), sets.board, sets.index, KeyFile(folder), Metrics(),
            stations=lambda: STATIONS, listening=lambda: ("0.0.0.0", 5151),
        )  # fmt: skip


@pytest.mark.trio
async def test_codes_have_the_address_of_the_network_that_the_machine_is_in_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address: str | None = None
    monkeypatch.setattr(seats, "lan_address", lambda: address)
    async with running_seats(tmp_path) as running:
        codes = running.codes()
        assert (codes.address, codes.address_from) == ("http://127.0.0.1:5151", "loopback")
        address = "192.0.2.7"
        codes = running.codes()
        assert (codes.address, codes.address_from) == ("http://192.0.2.7:5151", "machine")
        assert [code.url.partition("/seats/")[0] for code in codes.codes] == ["http://192.0.2.7:5151"]
