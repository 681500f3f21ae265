"""`as_another_game` on damaged replays. `tests/parts/demo` plays whole ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from slpstream.formats.slippi.another_game import as_another_game
from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.model.errors import FramingError
from tests.synthetic.match import synthetic_match


def test_a_replay_without_game_start_is_refused() -> None:
    data = synthetic_match(frames=5)
    at = HEADER_BYTES + 1 + data[HEADER_BYTES + 1]
    started_at = datetime(2026, 11, 22, tzinfo=UTC)
    with pytest.raises(FramingError, match="expected Game Start, found 0x37"):
        as_another_game(data[:at] + b"\x37" + data[at + 1 :], random_seed=1, started_at=started_at)
