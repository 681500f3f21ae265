"""What the name of a ghost says. In the game's menus it overrides the content, so both are reported.

A stem of 100 or 102 characters is from game 1 to 3, one of 114 from game 4, which put the laps 6 and 7 behind. All is
hexadecimal after the two letters of the kind. Times are one digit of minutes, two of seconds, three of milliseconds.
"""

from __future__ import annotations

import re
from pathlib import PurePath

import msgspec

from slpstream.formats.mk8.text import decode_name
from slpstream.formats.mk8.times import RaceTime, driven

LAYOUTS = {100: "v3-short", 102: "v3", 114: "v4"}
"""By length of the stem."""

# Not int(x, 16) alone: that takes signs, blanks and underscores too.
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
_TOTAL_AT = 18
_LAPS_AT = (24, 30, 36, 42, 48)
_LAPS_AT_V4 = (*_LAPS_AT, 102, 108)
_NAME_AT, _NAME_END = 54, 94


class FileName(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed name. `kind` is `sg`, `gs`, `dg` or `rp`; `number` is the track id less 16, or the slot of a downloaded
    ghost; `motion` is 1 with motion controls; `laps` are 5, from game 4 on 7, fillers included."""

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
        """The laps without the fillers."""
        return driven(self.laps)


def parse_file_name(name: str) -> FileName | None:
    """The name of a file, with or without folders and ending; `None` when it is not a ghost's."""
    stem = PurePath(name).stem
    if _PATTERN.fullmatch(stem) is None:
        return None
    layout = LAYOUTS[len(stem)]
    total = _time(stem, _TOTAL_AT)
    laps = tuple(_time(stem, at) for at in (_LAPS_AT_V4 if layout == "v4" else _LAPS_AT))
    if not all(time.valid for time in (total, *laps)):
        return None
    return FileName(
        layout=layout,
        kind=stem[:2].lower(),
        total=total,
        laps=laps,
        player_name=decode_name(bytes.fromhex(stem[_NAME_AT:_NAME_END]), "be"),
        **{key: int(stem[at : at + 2], 16) for key, at in _NUMBERS.items()},
    )


def _time(stem: str, at: int) -> RaceTime:
    return RaceTime(int(stem[at], 16), int(stem[at + 1 : at + 3], 16), int(stem[at + 3 : at + 6], 16))
