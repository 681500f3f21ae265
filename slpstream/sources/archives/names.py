"""The kinds of archives and of compressed replays, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from slpstream.formats.registry import suffixes
from slpstream.formats.slippi import slpz
from slpstream.formats.slplog.container import SUFFIX as LOG_SUFFIX

ARCHIVE_ENDINGS = (".zip", ".7z", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".txz")
_COMPRESSED = (".gz", ".zst", ".xz")
"""Added to the name of a replay by a program that compresses any file."""
_SLPZ = slpz.SUFFIX
REFUSED: Mapping[str, str] = {
    ".zlp": "compressed by slippc, unpack it with that tool first",
    ".slpp": "converted by peppi, convert it back with that tool first",
}
"""Replays in formats that are recognised and not read."""


def is_archive(name: str) -> bool:
    """Whether a file with this name is taken as an archive."""
    return name.lower().endswith(ARCHIVE_ENDINGS)


def plain_name(name: str) -> str:
    """The name of the replay in a compressed one; any other name is returned as it is."""
    lower = name.lower()
    if lower.endswith(_COMPRESSED):
        plain = name[: lower.rindex(".")]
        return plain if PurePath(plain).suffix.lower() in suffixes() else name
    if lower.endswith((_SLPZ, *REFUSED)):
        return f"{name[: lower.rindex('.')]}.slp"
    return name


def is_compressed(name: str) -> bool:
    """Whether a file with this name is taken as a compressed replay."""
    return plain_name(name) is not name


def is_slpz(name: str) -> bool:
    """Whether a file with this name is compressed as `.slpz`."""
    return name.lower().endswith(_SLPZ)


def holds_replay(name: str) -> bool:
    """Whether a file with this name is taken as a replay, compressed or not, or as a replay log."""
    return PurePath(name).suffix.lower() in (*suffixes(), LOG_SUFFIX) or is_compressed(name)


def compressed_endings() -> tuple[str, ...]:
    """The endings of compressed replays."""
    added = tuple(suffix + ending for suffix in suffixes() for ending in _COMPRESSED)
    return (_SLPZ, *REFUSED, *added)


def base_name(name: str) -> str:
    """The name of a member without its folders and archives."""
    return name.rpartition("::")[2].rpartition("/")[2]
