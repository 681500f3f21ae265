"""The own replays are those that the code makes, and have the layouts of all versions."""

from __future__ import annotations

import pytest

from slpstream.formats.slippi.commands import GECKO_LIST, TABLES
from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.framing import read_event_payloads
from slpstream.formats.slippi.game_start import FIELDS, PLAYER_FIELDS
from slpstream.model.fields import parse_version
from tests.formats.slippi.writer import sizes_at
from tests.marks import slow
from tests.replays import own_replays, replay
from tests.replays.record import OWN

DEFAULT = ("singles_0.1", "time_mode_2.0", "rollbacks_items_3.7", "crashed_3.18", "unknown_event_3.18")


def test_all_own_replays_are_recorded() -> None:
    assert [path.stem for path in own_replays()] == sorted(OWN)


@pytest.mark.parametrize("name", [*DEFAULT, *slow(*(name for name in OWN if name not in DEFAULT))])
def test_code_makes_the_recorded_bytes(name: str) -> None:
    """After an intended change of the synthetic matches, run `python -m tests.replays.record`."""
    assert OWN[name]() == replay(name)


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
