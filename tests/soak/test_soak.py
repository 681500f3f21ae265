"""The short form of the soak: resources are released."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from slpstream.config import StationConfig, check
from slpstream.daemon.daemon import Daemon
from tests.formats.games import games as finished_games
from tests.soak.clients import GET, UPGRADE
from tests.soak.curve import growing, table
from tests.soak.run import soak
from tests.synthetic.match import synthetic_match

SECONDS = float(os.environ.get("SLPSTREAM_SOAK_SECONDS", "16"))
"""Games run at double speed, so that as many games end as in half a minute."""


@pytest.mark.release
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resources are read from /proc")
def test_resources_of_the_daemon_do_not_grow(tmp_path: Path) -> None:
    result = soak(tmp_path, seconds=SECONDS, stations=12, clients=24, sample_seconds=0.25, speed=2)
    counts = result.counts
    assert (result.exit_code, result.tracebacks) == (0, [])
    assert counts["games"] > 10
    assert counts["watched"] > 10
    assert counts["responses"] > 10
    assert not growing(result.samples, SECONDS / 2), table(result.samples)


PACKAGES = ("slpstream", "websockets", "h11", "trio")
"""Packages whose objects live as long as a game or a client."""


@pytest.mark.trio
async def test_finished_games_and_connections_leave_no_reference_cycles(tmp_path: Path) -> None:
    """A garbage collection would stop a daemon with fifty stations for sixty milliseconds, four frames."""
    folder = tmp_path / "station"
    folder.mkdir()
    config = check({"server": {"port": 0}, "store": {"folder": str(tmp_path / "state")}})
    daemon = Daemon(config, [StationConfig(id="station", folder=str(folder))], strict=True)
    queries = (
        "delivery=conflate",
        "delivery=lossless&topics=game",
        "frames=finalized&rate=20",
        "station=nobody",
        "op=%",
    )
    games = [synthetic_match(seed=seed, frames=400, rollbacks=True, items=True) for seed in range(4)]
    games[1::2] = [data[:40_000] + bytes(3000) + data[43_000:] for data in games[1::2]]  # broken
    race = finished_games()["race.gci"]
    gc.collect()  # garbage of making the games
    async with trio.open_nursery() as nursery:
        port = await nursery.start(lambda task_status: daemon.run(handle_signals=False, task_status=task_status))
        await _play(folder, port, queries, games[:2], race)
        gc.collect()
        gc.disable()
        try:
            await _play(folder, port, queries, games[2:], race)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            found = [type(thing) for thing in gc.garbage if type(thing).__module__.partition(".")[0] in PACKAGES]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
        nursery.cancel_scope.cancel()
    assert not found


async def _play(folder: Path, port: int, queries: Sequence[str], games: Sequence[bytes], race: bytes) -> None:
    """Play games while clients come and go."""
    async with trio.open_nursery() as nursery:
        for path in ("/v1/stream", "/v1/events"):
            for query in queries:
                nursery.start_soon(_watch, port, f"{path}?station=station&{query}")
        nursery.start_soon(_watch, port, "/v1/stream", "12")  # refused
        for data in games:
            with (folder / f"{hash(data)}.slp").open("xb", buffering=0) as file:
                for start in range(0, len(data), 20_000):
                    file.write(data[start : start + 20_000])
                    await trio.sleep(0.02)
            (folder / f"{hash(data)}.gci").write_bytes(race[: 5000 + len(data) % 7])  # cut off
    await trio.sleep(3)  # until the broken files are closed


async def _watch(port: int, target: str, version: str = "13") -> None:
    request = UPGRADE.format(target=target, version=version)
    if "stream" not in target:
        request = GET.format(path=target, connection="keep-alive")
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    with trio.move_on_after(0.5):
        await stream.send_all(request.encode())
        while await stream.receive_some(65536):
            pass
    stream.socket.close()
