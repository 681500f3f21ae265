"""The first game of a daemon need not wait for modules to be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys, trio
from slpstream.config import Config, Server, StationConfig, Store
from slpstream.daemon.daemon import Daemon

STATS = "slpstream.stats.game"

async def main(folder):
    async with trio.open_nursery() as nursery:
        daemon = Daemon(Config(server=Server(port=0), store=Store(folder=folder)), [StationConfig("setup", folder)])
        assert STATS not in sys.modules  # commands that need no stats start without them
        await nursery.start(daemon.run)
        while STATS not in sys.modules:
            await trio.sleep(0.01)
        daemon.stop()

trio.run(main, sys.argv[1])
"""


def test_stats_are_imported_once_the_daemon_runs(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], check=True, timeout=120)
