"""The attacks that the dashboard names are the daemon's own: `moves.json` is generated from `slippi/ids.py`.

After a change in `ids.py` write it again:

    python -m tests.web.test_moves
"""

from __future__ import annotations

import json

from slpstream.formats.slippi import ids
from slpstream.web.app import STATIC

MOVES_FILE = STATIC / "dashboard" / "moves.json"


def text() -> str:
    """The file as it should be: one line for each id."""
    rows = ",\n".join(f'  "{i}": {json.dumps(move.name, ensure_ascii=False)}' for i, move in ids.MOVES.items())
    return "{\n" + rows + "\n}\n"


def test_moves_are_those_of_the_daemon() -> None:
    written = MOVES_FILE.read_text(encoding="utf-8")
    assert written == text(), f"{MOVES_FILE.name} is not what ids.py says; run: python -m tests.web.test_moves"


if __name__ == "__main__":
    MOVES_FILE.write_text(text(), encoding="utf-8")
