"""Make names for replays and zips from templates, which look the same as in replay-manager-for-slippi.

A template contains placeholders, for example `{stage}`. We replace the first occurrence of each of them. The names of
players come last, so that if a player is called `{stage}`, this doesn't change. This module doesn't do any I/O.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_SHORT: Mapping[str, str] = {
    "Captain Falcon": "Falcon",
    "Donkey Kong": "DK",
    "Mr. Game & Watch": "GW",
    "Ice Climbers": "ICs",
    "Jigglypuff": "Puff",
    "Young Link": "YL",
    "Dr. Mario": "Doc",
    "Ganondorf": "Ganon",
}
_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")
"""Device names, which Windows refuses as names of files."""
_MAX_NAME_BYTES = 200
"""Leaves room for an ending and a number within the 255 bytes of a name in a file system."""


def short_character(name: str) -> str:
    """Return the short name that the community uses for a character."""
    return _SHORT.get(name, name)


def round_short(text: str) -> str:
    """Return the capitals and digits in the name of a round. For example, `WSF` stands for Winners Semi-Final."""
    return "".join(character for character in text if character.isupper() or character.isdigit())


def filled(template: str, placeholders: Sequence[str], values: Mapping[str, str]) -> str:
    """Replace each placeholder of the given template, but only once."""
    for name in placeholders:
        template = template.replace(f"{{{name}}}", values.get(name, ""), 1)
    return template


def file_name(text: str) -> str:
    """Turn a text into the name of a file without its ending. It only has characters, and a length, that all file
    systems allow.

    If values are missing, there can be separators at the ends, so these are removed too.
    """
    text = " ".join(_FORBIDDEN.sub("", text).split()).strip(" -").rstrip(". ")
    text = text.encode("utf-8", "replace")[:_MAX_NAME_BYTES].decode("utf-8", "ignore").rstrip(". ")
    if not text:
        return "set"
    return f"{text} set" if _RESERVED.fullmatch(text) else text


def numbered(ordinal: int, count: int) -> str:
    """Return a number with enough leading zeros for the `count`, so that names are in the right order when sorted as
    plain text.
    """
    return f"{ordinal:0{len(str(count))}}"
