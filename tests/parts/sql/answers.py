"""Answers to queries over a folder of replays, and the parts that were read for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from slpstream.cli.replay_files import find_files
from slpstream.cli.replay_work import examined
from slpstream.parts.sql.cli_reading import ReplayReader
from slpstream.parts.sql.database import open_database
from slpstream.parts.sql.scan import Scan


class Answers:
    """Answers queries. `scans` has the tables that were read, and `files` counts those with frames or conversions."""

    def __init__(self, folder: Path) -> None:
        self._reader = ReplayReader(list(find_files((folder,))), (".slp",), examined, games=None, jobs=1)
        self.scans: list[str] = []
        self.files = 0

    def __call__(self, query: str) -> list[Any]:
        self.scans.clear()
        self.files = 0
        with open_database(self._read) as opened:
            return list(opened.rows(query)[1])

    def _read(self, scan: Scan) -> Iterator[pa.Table]:
        self.scans.append(scan.table)
        for table in self._reader.read(scan):
            self.files += scan.table in ("frames", "conversions")
            yield table
