"""The names of the ids in a Mario Kart 8 ghost. If an id isn't listed, it doesn't have a name and stays a number.

Each function returns a mapping from ids to names.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from slpstream.formats.name_tables import names_by_text, names_of

FOLDER: Final = Path(__file__).parent

tracks = names_of(FOLDER, "tracks")
characters = names_of(FOLDER, "characters")
karts = names_of(FOLDER, "vehicles", "karts")
wheels = names_of(FOLDER, "vehicles", "wheels")
gliders = names_of(FOLDER, "vehicles", "gliders")
countries = names_of(FOLDER, "countries")
"""ISO 3166 codes."""
modes = names_of(FOLDER, "enumerations", "modes")
cpu = names_of(FOLDER, "enumerations", "cpu")
teams = names_of(FOLDER, "enumerations", "teams")
weights = names_of(FOLDER, "enumerations", "weights")
kinds = names_by_text(FOLDER, "enumerations", "kinds")
"""By the first two characters of the file name."""
game_versions = names_by_text(FOLDER, "enumerations", "game_versions")
"""By the version in the outer header, as eight hex digits."""

_subsections = names_of(FOLDER, "enumerations", "subsections")


@functools.cache
def subsections() -> Sequence[str | None]:
    """Return the purpose of each of the 17 subsections that a vehicle with four wheels has, in order.

    If we don't know it, it is `None`.
    """
    names = _subsections()
    return tuple(names.get(place) for place in range(max(names) + 1))
