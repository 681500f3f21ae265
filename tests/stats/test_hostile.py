"""Damaged replays have stats as well, computed from whatever frames the reader gives."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi.reader import SlippiReader
from tests.stats.games import game_of, run
from tests.synthetic.match import synthetic_match

MATCHES = (
    {"seed": 21, "rollbacks": True},
    {"seed": 22, "players": 4, "teams": True, "followers": True},
    {"seed": 23, "version": (1, 2, 0)},
)


@cache
def data_of(index: int) -> bytes:
    return synthetic_match(frames=300, **MATCHES[index])


@pytest.mark.parametrize("index", range(len(MATCHES)))
@pytest.mark.parametrize("compat", [False, True])
def test_damaged_replays(index: int, compat: bool) -> None:
    data = data_of(index)
    offsets = st.integers(16 + data[16], len(data) - 1)
    change = st.tuples(offsets, st.binary(min_size=1, max_size=4))

    @settings(max_examples=12, deadline=None)
    @given(st.lists(change, min_size=1, max_size=20), st.integers(0, len(data)))
    def check(changes: list[tuple[int, bytes]], cut: int) -> None:
        damaged = bytearray(data)
        for at, octets in changes:
            damaged[at : at + len(octets)] = octets
        whole = bytes(damaged[: len(data) - cut if cut % 3 == 0 else len(data)])
        reader = SlippiReader()
        reader.feed(whole)
        if reader.settings is None:
            return
        stats, events = run(game_of(whole), compat=compat)
        assert events
        assert msgspec.json.encode(stats.stats())

    check()
