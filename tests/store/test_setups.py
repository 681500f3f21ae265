"""Facts about setups in the index: codes once for each build, and the pacing of games."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import msgspec
import pytest

from slpstream.model.setup import Code, CodeList, CodeSet, Pacing
from slpstream.parts.audit.indexed_setups import newest_setups
from slpstream.store import Database
from tests.store import samples

CODES = CodeList(
    fingerprint="ab" * 16,
    count=1,
    sets=[CodeSet(name="UCF 0.84", family="ucf")],
    codes=[Code(type="C2", address="800C9A44", bytes=24)],
)
OTHER = msgspec.structs.replace(CODES, fingerprint="cd" * 16)
PACING = Pacing(frames_per_second=59.9, stutters=2, late_milliseconds=10, seconds=180.0)


@pytest.fixture(autouse=True)
def _three_games(database: Database) -> None:
    database.games.add([samples.entry(number) for number in range(3)])


def lists(database: Database) -> int:
    with closing(sqlite3.connect(database.path)) as connection:
        count: int = connection.execute("SELECT count(*) FROM code_lists").fetchone()[0]
        return count


def test_codes_of_one_build_are_kept_once(database: Database) -> None:
    for number in range(2):
        database.setups.keep_codes(samples.game_id(number), CODES)
    database.setups.keep_codes(samples.game_id(2), None)
    assert lists(database) == 1
    assert database.setups.codes(CODES.fingerprint) == CODES
    assert database.setups.codes(OTHER.fingerprint) is None
    assert [row.codes for row in newest_setups(database, "main", 5)] == ["", CODES.fingerprint, CODES.fingerprint]
    found = database.games.get(samples.game_id(0))
    assert found is not None
    assert found.codes == CODES.fingerprint


def test_codes_that_were_not_read_yet_are_not_known(database: Database) -> None:
    assert [row.codes for row in newest_setups(database, "main", 5)] == [None] * 3
    database.setups.keep_codes(samples.game_id(9), CODES)
    assert lists(database) == 0


def test_codes_survive_another_read_of_the_file(database: Database) -> None:
    database.setups.keep_codes(samples.game_id(0), CODES)
    database.games.add([samples.entry(0)])
    assert newest_setups(database, "main", 5)[-1].codes == CODES.fingerprint


def test_pacing_is_kept_with_the_codes(database: Database) -> None:
    entry = samples.entry(1)
    entry.pacing = PACING
    database.games.add([entry])
    database.setups.keep_codes(samples.game_id(1), CODES)
    database.games.add([samples.entry(1)])
    row = newest_setups(database, "main", 5)[1]
    assert (row.codes, msgspec.json.decode(row.pacing or "", type=Pacing)) == (CODES.fingerprint, PACING)


def test_lists_are_removed_with_their_last_game(database: Database) -> None:
    database.setups.keep_codes(samples.game_id(0), CODES)
    database.setups.keep_codes(samples.game_id(1), CODES)
    database.setups.keep_codes(samples.game_id(2), OTHER)
    database.games.remove_files([samples.entry(0).path])
    assert lists(database) == 2
    database.games.expire(before_ms=1000 * (samples.DAY_ONE + 61), max_bytes=None)
    assert lists(database) == 1
    assert [row.codes for row in newest_setups(database, "main", 5)] == [OTHER.fingerprint]


def test_only_the_newest_games_of_the_station(database: Database) -> None:
    database.games.add([samples.entry(7, station="other")])
    assert [row.game_id for row in newest_setups(database, "main", 2)] == [samples.game_id(2), samples.game_id(1)]
    assert [row.game_id for row in newest_setups(database, "other", 2)] == [samples.game_id(7)]


def test_later_report_keeps_the_pacing() -> None:
    first = samples.entry(1)
    first.pacing = PACING
    assert first.updated(samples.entry(1)).pacing == PACING
