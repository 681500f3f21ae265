"""The names that the pages show are the daemon's own: `slippi_names.json` is generated from `slippi/ids.py`.

`web/` knows no format, so the pages get the tables as a file. After a change in `ids.py` write it again:

    python -m tests.web.test_names
"""

from __future__ import annotations

import json
from typing import Any

from slpstream.formats.slippi import ids
from slpstream.web.app import STATIC

NAMES_FILE = STATIC / "slippi_names.json"


def tables() -> dict[str, Any]:
    """The tables as `slippi.js` reads them."""
    return {
        "characters": {i: {"name": c.name, "costumes": c.costumes} for i, c in ids.CHARACTERS.items()},
        "externalIds": {i: c.external_id for i, c in ids.INTERNAL_CHARACTERS.items()},
        "stages": ids.STAGES,
    }


def text() -> str:
    """The file as it should be: one line for each id, so that a difference can be read."""
    parts = []
    for name, table in tables().items():
        rows = ",\n".join(f'    "{i}": {json.dumps(row, ensure_ascii=False)}' for i, row in table.items())
        parts.append(f'  "{name}": {{\n{rows}\n  }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def test_names_are_those_of_the_daemon() -> None:
    written = NAMES_FILE.read_text(encoding="utf-8")
    assert written == text(), f"{NAMES_FILE.name} is not what ids.py says; run: python -m tests.web.test_names"


def test_every_fighter_has_a_character() -> None:
    written = json.loads(NAMES_FILE.read_text(encoding="utf-8"))
    assert {str(i) for i in written["externalIds"].values()} <= set(written["characters"])


if __name__ == "__main__":
    NAMES_FILE.write_text(text(), encoding="utf-8")
