"""The data in the file name of a ghost. In its menus, the game uses these instead of the content, so we report both.

If the stem has 100 or 102 characters, it is from versions 1 to 3 of the game. If it has 114, it is from version 4,
which has added the laps 6 and 7. The kind is two letters, and after that, there are only hexadecimal digits. A time has
one digit for minutes, two for seconds and three for milliseconds.
"""

from __future__ import annotations

import re
from pathlib import PurePath

import msgspec

from slpstream.formats.mk8.text import decode_name
from slpstream.formats.mk8.times import RaceTime, driven

LAYOUTS = {100: "v3-short", 102: "v3", 114: "v4"}
"""Layouts by the number of characters in the stem."""

# The digits are checked here because int(x, 16) also accepts signs, blanks and underscores.
_PATTERN = re.compile(r"(?:sg|gs|dg|rp)(?:[0-9a-f]{98}|[0-9a-f]{100}|[0-9a-f]{112})", re.IGNORECASE | re.ASCII)
_NUMBERS = {
    "number": 2,
    "track": 4,
    "character": 6,
    "variant": 8,
    "mii_weight": 10,
    "kart": 12,
    "wheels": 14,
    "glider": 16,
    "country": 94,
    "motion": 96,
}
_TOTAL_INDEX = 18
_LAP_INDICES = (24, 30, 36, 42, 48)
_LAP_INDICES_V4 = (*_LAP_INDICES, 102, 108)
_PLAYER_NAME = slice(54, 94)


class FileName(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a ghost's file name.

    `kind` is `sg`, `gs`, `dg` or `rp`. `number` is the track id minus 16, or the slot of a downloaded ghost. `motion`
    is 1 with motion controls. `laps` are 5 times, 7 since version 4 of the game, fillers included.
    """

    layout: str
    kind: str
    number: int
    track: int
    character: int
    variant: int
    mii_weight: int
    kart: int
    wheels: int
    glider: int
    country: int
    motion: int
    total: RaceTime
    laps: tuple[RaceTime, ...]
    player_name: str

    @property
    def driven_laps(self) -> tuple[RaceTime, ...]:
        """The laps that were really driven, without the fillers."""
        return driven(self.laps)


def parse_file_name(name: str) -> FileName | None:
    """Parse a file name.

    It doesn't matter whether it has folders and a suffix. If it isn't the name of a ghost, this returns `None`.
    """
    stem = PurePath(name).stem
    if _PATTERN.fullmatch(stem) is None:
        return None
    layout = LAYOUTS[len(stem)]
    total = _time(stem, _TOTAL_INDEX)
    laps = tuple(_time(stem, index) for index in (_LAP_INDICES_V4 if layout == "v4" else _LAP_INDICES))
    if not all(time.valid for time in (total, *laps)):
        return None
    return FileName(
        layout=layout,
        kind=stem[:2].lower(),
        total=total,
        laps=laps,
        player_name=decode_name(bytes.fromhex(stem[_PLAYER_NAME]), "be"),
        **{key: int(stem[index : index + 2], 16) for key, index in _NUMBERS.items()},
    )


def _time(stem: str, index: int) -> RaceTime:
    return RaceTime(int(stem[index], 16), int(stem[index + 1 : index + 3], 16), int(stem[index + 3 : index + 6], 16))
