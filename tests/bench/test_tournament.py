"""The correctness of the tournament: with fifty stations and reconnecting lossless clients, no message is lost or
duplicated. With `SLPSTREAM_TOURNAMENT_SECONDS=20`, each station plays two games and a part of a third, and every client
reconnects about four times. Times are not checked.
"""

from __future__ import annotations

import os
import sys

import pytest

from tests.bench.tournament import RECONNECTS_PER_SECOND, STATIONS, measure

_SECONDS = float(os.environ.get("SLPSTREAM_TOURNAMENT_SECONDS", "8"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the benchmarks read /proc")
def test_reconnecting_clients_neither_lose_nor_duplicate_messages() -> None:
    measured = measure(_SECONDS)
    assert measured.differences == []
    assert measured.messages > 50 * STATIONS * _SECONDS, "most messages are frames, sixty per second"
    assert measured.games > STATIONS
    assert measured.reconnects_per_second > RECONNECTS_PER_SECOND / 5
    assert len(measured.latencies) > 0.7 * 60 * STATIONS * _SECONDS
