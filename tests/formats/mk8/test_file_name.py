"""Parsing the file names of ghosts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.mk8.file_name import parse_file_name
from slpstream.formats.mk8.text import decode_name
from slpstream.formats.mk8.times import RaceTime
from tests.formats.mk8.built import FILE_NAME, NAME


def test_file_names_of_all_lengths() -> None:
    for length, layout, laps in ((100, "v3-short", 5), (102, "v3", 5), (114, "v4", 7)):
        name = parse_file_name(FILE_NAME[:length] + ".dat")
        assert name is not None
        assert (name.layout, len(name.laps)) == (layout, laps)
        assert (name.kind, name.number, name.track, name.country, name.player_name) == ("gs", 0x2F, 0x3F, 0x31, NAME)
        assert name.total == RaceTime(1, 23, 216)
        assert sum(lap.total_milliseconds for lap in name.driven_laps) == name.total.total_milliseconds


@pytest.mark.parametrize(
    "name",
    [
        "",
        "ghost",
        FILE_NAME[:113],
        FILE_NAME + "0",
        "xx" + FILE_NAME[2:],
        FILE_NAME[:5] + "g" + FILE_NAME[6:],
        FILE_NAME[:4] + "+f" + FILE_NAME[6:],
        FILE_NAME[:4] + " f" + FILE_NAME[6:],
        FILE_NAME[:4] + "3_" + FILE_NAME[6:],
        FILE_NAME[:4] + "٣f" + FILE_NAME[6:],
        FILE_NAME[:18] + "13c000" + FILE_NAME[24:],
        FILE_NAME[:24] + "0003e8" + FILE_NAME[30:],
        FILE_NAME + "\n",
    ],
)
def test_other_file_names_are_not_parsed(name: str) -> None:
    assert parse_file_name(name) is None
    assert parse_file_name(name + ".dat") is None


def test_player_name_ends_at_a_zero_unit_only() -> None:
    assert decode_name("A\u3000\u0042".encode("utf-16-be") + bytes(4), "be") == "A\u3000B"
    assert decode_name("ab".encode("utf-16-le") + bytes(2) + b"xy", "le") == "ab"
    assert decode_name("0123456789".encode("utf-16-be"), "be") == "0123456789"
    assert decode_name(b"\xd8\x00\x00A", "be") == "\ufffdA"
    assert decode_name(b"", "be") == ""


@given(st.binary(min_size=20, max_size=20))
@settings(max_examples=100)
def test_any_player_name_can_be_encoded_as_utf_8(raw: bytes) -> None:
    for order in ("be", "le"):
        decode_name(raw, order).encode()


def test_race_times() -> None:
    assert RaceTime(9, 59, 999).total_milliseconds == 599_999
    assert [RaceTime(*t).used for t in ((9, 59, 999), (0, 0, 0), (1, 60, 0), (1, 0, 1000), (0, 0, 1))] == [
        False,
        False,
        False,
        False,
        True,
    ]
