"""docs/reference/replay_log.md describes the format as the code implements it."""

from __future__ import annotations

import re

from slpstream.formats.slplog import container, plan
from slpstream.formats.slplog.inputs import GX_PAD, STUNTS_PAD
from tests.project import ROOT

PAGE = (ROOT / "docs" / "reference" / "replay_log.md").read_text(encoding="utf-8")
MAX_EVENT_BYTES = 0x60
_WIDTHS = {"u8": 1, "u16": 2, "u32": 4, "f32": 4}


def rows() -> dict[int, list[tuple[int, int]]]:
    """Offset and width of every column on the page, by command byte."""
    found = {}
    for line in re.findall(r"^\| (0x[0-9A-F]{2}) \| (.*) \|$", PAGE, re.MULTILINE):
        parts = [part.split()[:2] for part in line[1].split("; ")]
        found[int(line[0], 16)] = [(int(offset, 16), _WIDTHS[kind]) for offset, kind in parts]
    return found


def test_columns_on_the_page_match_the_code() -> None:
    assert set(rows()) == plan.FRAMED
    for command, columns in rows().items():
        real = [(c.offset, c.width) for c in plan.columns(command, MAX_EVENT_BYTES)]
        assert real[: len(columns)] == columns
        assert all(width == 1 for _, width in real[len(columns) :])


def test_blocks_on_the_page_match_the_code() -> None:
    named = re.findall(r"^\| (\d) \| ([A-Z]+) \|", PAGE, re.MULTILINE)
    assert {int(number): name for number, name in named} == {kind.value: kind.name for kind in container.Kind}
    assert container.MAGIC.hex(" ").upper() in PAGE
    assert f"a header of {container.HEADER_BYTES} bytes" in PAGE
    assert f"the last {container.END_BYTES} bytes" in PAGE


def test_pads_on_the_page_match_the_code() -> None:
    sizes = [int(size) for size in re.findall(r"\((256|128)\)", PAGE)]
    assert sizes == list(GX_PAD.axes)
    assert f"| 1 GX | {GX_PAD.buttons} |" in PAGE
    assert f"| 2 Stunts | {STUNTS_PAD.buttons} | none | {STUNTS_PAD.run_shift} |" in PAGE
