"""A daemon that the tests of scenes share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.marks import require_parts

if TYPE_CHECKING:
    from tests.daemons.process import DaemonProcess


@pytest.fixture(scope="package")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A daemon with a finished set of five games, which the bundled matches form. It ends 3-2."""
    require_parts("demo")
    from tests.sets.bundled_set import GAMES, add_game, best_of_five

    folder = tmp_path_factory.mktemp("boards")
    with best_of_five(folder) as (daemon, station):
        for play in range(1, GAMES + 1):
            add_game(station, play)
        daemon.until(lambda: daemon.get("/v1/stations/station/set").get("state") == "over")
        yield daemon
