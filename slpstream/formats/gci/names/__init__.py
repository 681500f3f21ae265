"""The names of the ids in an F-Zero GX replay. If an id isn't listed, we don't know its meaning, and it stays a number.

Each function returns a mapping from ids to names.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from slpstream.formats.name_tables import names_of, rows_of

FOLDER: Final = Path(__file__).parent


class _Machine(msgspec.Struct, frozen=True):
    name: str
    pilot: str | None = None


_machines = rows_of(FOLDER, "machines", _Machine)

machines = names_of(FOLDER, "machines")
courses = names_of(FOLDER, "courses")
bodies = names_of(FOLDER, "parts", "bodies")
cockpits = names_of(FOLDER, "parts", "cockpits")
boosters = names_of(FOLDER, "parts", "boosters")
difficulties = names_of(FOLDER, "enumerations", "difficulties")
modes = names_of(FOLDER, "enumerations", "modes")
emblem_parts = names_of(FOLDER, "enumerations", "emblem_parts")


@functools.cache
def pilots() -> Mapping[int, str]:
    """Return the names of the pilots. The id of a pilot is the same as that of the pilot's own machine."""
    return {number: row.pilot for number, row in _machines().items() if row.pilot is not None}
