"""The columns of tables. These are Arrow fields with documentation."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

TEXT = pa.string()
FLAG = pa.bool_()
SMALL = pa.uint8()
COUNT = pa.int32()
REAL = pa.float64()


def column(name: str, type: Any, doc: str, unit: str = "") -> Any:
    """Return a column. Its metadata contains `doc` and `unit`, just like in the tables of frames."""
    return pa.field(name, type, metadata={"doc": doc, **({"unit": unit} if unit else {})})


FILE = column("file", TEXT, "Path of the replay; archive.zip::member.slp for a member of an archive.")
GAME_ID = column("game_id", TEXT, "The same for each copy of the replay.")
STAGE = column("stage", TEXT, "Name of the stage or course; null for an unknown id.")
