"""Names of replays and zips, made from templates in the form of replay-manager-for-slippi. Pure.

A template has placeholders such as `{stage}`. The first occurrence of each is replaced, and names of players come
last, so that the name of a player who is called `{stage}` stays unchanged.
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
    """The community's short name of a character."""
    return _SHORT.get(name, name)


def round_short(text: str) -> str:
    """The capitals and digits of a round: `WSF` for Winners Semi-Final."""
    return "".join(character for character in text if character.isupper() or character.isdigit())


def filled(template: str, placeholders: Sequence[str], values: Mapping[str, str]) -> str:
    """A template with its placeholders replaced, each one once."""
    for name in placeholders:
        template = template.replace(f"{{{name}}}", values.get(name, ""), 1)
    return template


def file_name(text: str) -> str:
    """A text as the name of a file without an ending, in characters and of a length that all file systems allow.

    Separators at the ends, which missing values leave, are dropped too.
    """
    text = " ".join(_FORBIDDEN.sub("", text).split()).strip(" -").rstrip(". ")
    text = text.encode("utf-8", "replace")[:_MAX_NAME_BYTES].decode("utf-8", "ignore").rstrip(". ")
    if not text:
        return "set"
    return f"{text} set" if _RESERVED.fullmatch(text) else text


def numbered(ordinal: int, count: int) -> str:
    """A number with leading zeros if the `count` has more digits, so that names sort as plain text."""
    return f"{ordinal:0{len(str(count))}}"
