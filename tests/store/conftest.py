"""A new database for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from slpstream.store import FILE_NAME, Database, open_database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(tmp_path / FILE_NAME)) as database:
        yield database
