"""Ranges of files and names of downloads."""

from __future__ import annotations

from pathlib import Path

import pytest

from slpstream.web.file_response import byte_range, disposition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes=0-0", (0, 1)),
        ("bytes=0-", (0, 10)),
        ("bytes=3-5", (3, 6)),
        ("bytes=5-99", (5, 10)),
        ("bytes=-3", (7, 10)),
        ("bytes=-99", (0, 10)),
        ("bytes= 1 - 2", (1, 3)),
        ("bytes=10-", (0, 0)),
        ("bytes=-0", (0, 0)),
        ("bytes=5-3", None),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("lines=0-1", None),
        ("", None),
    ],
)
def test_ranges(text: str, expected: tuple[int, int] | None) -> None:
    assert byte_range(text, 10) == expected


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Game_20240101T000000.slp", "Game_20240101T000000.slp"),
        ('a"b\r\nc.slp', "a_b__c.slp"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("日本.slp", "__.slp"),
        ("...", "replay"),
        ("\udcff.slp", "_.slp"),
    ],
)
def test_names_of_downloads_are_safe(name: str, plain: str) -> None:
    header = disposition(name)
    assert header.startswith(f'attachment; filename="{plain}"')
    assert header.isascii()
    assert header.isprintable()
    assert Path(plain).name == plain
