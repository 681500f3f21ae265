"""The own replays match the code that makes them, cover the layouts of all versions, and have the intended faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from slpstream.formats.slippi.commands import GECKO_LIST, TABLES
from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.framing import read_event_payloads
from slpstream.formats.slippi.game_start import FIELDS, PLAYER_FIELDS
from slpstream.model.fields import parse_version
from tests.formats.slippi.logs import logs_of
from tests.formats.slippi.writer import sizes_at
from tests.marks import slow
from tests.replays import own_replays, replay
from tests.replays.record import OWN

DEFAULT = ("singles_0.1", "time_mode_2.0", "rollbacks_items_3.7", "crashed_3.18", "unknown_event_3.18")


def test_all_own_replays_are_recorded() -> None:
    assert [path.stem for path in own_replays()] == sorted(OWN)


@pytest.mark.parametrize("name", [*DEFAULT, *slow(*(name for name in OWN if name not in DEFAULT))])
def test_recorded_bytes_are_reproducible(name: str) -> None:
    """After an intended change of the synthetic matches, run `python -m tests.replays.record`."""
    assert OWN[name]() == replay(name)


DIAGNOSED = {
    "crashed_2.1": ["truncated"],
    "crashed_3.18": ["truncated", "frame_without_bookend"],
    "duplicate_game_end_3.18": ["duplicate_game_end"],
}


@pytest.mark.parametrize("path", own_replays(), ids=lambda path: path.stem)
def test_faults_match_the_name(path: Path) -> None:
    logs = logs_of([path.read_bytes()])
    assert [message["code"] for message in logs.of_type("diagnostic")] == DIAGNOSED.get(path.stem, [])


def test_every_layout_has_a_replay() -> None:
    fields = [*FIELDS, *PLAYER_FIELDS, *(field for table in TABLES.values() for field in table.fields)]
    layouts = {tuple(sorted(sizes_at(parse_version(field.since)).items())) for field in fields}
    found = set()
    for path in own_replays():
        data = path.read_bytes()
        payloads = data[HEADER_BYTES : HEADER_BYTES + 1 + data[HEADER_BYTES + 1]]
        sizes = read_event_payloads(payloads).sizes
        if GECKO_LIST in sizes:
            sizes[GECKO_LIST] = 0  # the size of the codes
        found.add(tuple(sorted(sizes.items())))
    assert layouts <= found
