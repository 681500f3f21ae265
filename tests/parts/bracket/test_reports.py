"""The queue of a bracket on disk."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from pathlib import Path

import pytest

from slpstream.model.errors import SinkError
from slpstream.parts.bracket.reports import FILE_NAME, MIGRATIONS, ReportEntry, ReportStore
from slpstream.store.opening import prepare


@pytest.fixture
def store(tmp_path: Path) -> ReportStore:
    return ReportStore(tmp_path / FILE_NAME)


def test_entry_replaces_the_previous_one(store: ReportStore, tmp_path: Path) -> None:
    store.keep("x", [ReportEntry("a", "1", True, b"one"), ReportEntry("a", "2", True, b"two")], 1)
    store.keep("x", [ReportEntry("a", "1", False, b"three")], 2)
    store.keep("y", [ReportEntry("a", "1", True, b"other")], 2)
    store.note_alive("x", 12)
    store.note_alive("x", 17)
    store.close()
    again = ReportStore(tmp_path / FILE_NAME)
    assert again.entries("x") == [b"three", b"two"]
    assert again.entries("y") == [b"other"]
    assert (again.at_work("x"), again.at_work("y")) == ((12, 17), None)
    if sys.platform != "win32":  # it has no permission bits
        assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600
    again.close()


def test_only_finished_entries_are_removed(store: ReportStore) -> None:
    store.keep("x", [ReportEntry("a", str(n), n % 2 == 0, b"%d" % n) for n in range(10)], 1)
    assert store.remove_finished("x", 2) == 3
    assert store.entries("x") == [b"0", b"2", b"4", b"6", b"7", b"8", b"9"]
    assert store.remove_finished("x", 2) == 0
    store.close()


def test_damaged_queue_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"this is no database" * 100)
    told: list[Path] = []
    store = ReportStore(path, on_damage=lambda aside, what: told.append(aside))
    assert store.entries("x") == []
    assert len(told) == 1
    assert told[0].read_bytes().startswith(b"this is no database")
    store.close()


def test_errors_name_the_reports(store: ReportStore, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
        connection.execute("DROP TABLE entries")
    with pytest.raises(SinkError, match="reports: no such table"):
        store.entries("x")
    store.close()


def test_queue_from_before_the_first_activity_was_stored(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    prepare(path, MIGRATIONS[:1], on_damage=lambda aside, what: None)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO alive (bracket, at_ms) VALUES ('x', 17)")
    store = ReportStore(path)
    assert store.at_work("x") == (0, 17)
    store.close()
