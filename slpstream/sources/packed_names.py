"""The kinds of archives and compressed replays, and how you recognise them by their names."""

from __future__ import annotations

from collections.abc import Mapping

ARCHIVE_ENDINGS = (".zip", ".7z", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".txz")
_COMPRESSED = (".slp.gz", ".slp.zst", ".slp.xz")
"""Made by programs that compress any file."""
_SLPZ = ".slpz"
REFUSED: Mapping[str, str] = {
    ".zlp": "compressed by slippc, unpack it with that tool first",
    ".slpp": "converted by peppi, convert it back with that tool first",
}
"""Endings of replays in recognised formats that cannot be read."""
COMPRESSED_ENDINGS = (*_COMPRESSED, _SLPZ, *REFUSED)


def is_archive(name: str) -> bool:
    """Whether we treat a file with the given name as an archive."""
    return name.lower().endswith(ARCHIVE_ENDINGS)


def plain_name(name: str) -> str:
    """Return the name of a compressed replay without the ending of its compression. Any other name stays the same."""
    lower = name.lower()
    if lower.endswith(_COMPRESSED):
        return name[: lower.rindex(".")]
    if lower.endswith((_SLPZ, *REFUSED)):
        return f"{name[: lower.rindex('.')]}.slp"
    return name


def is_compressed(name: str) -> bool:
    """Whether we treat a file with the given name as a compressed replay."""
    return plain_name(name) is not name


def is_slpz(name: str) -> bool:
    """Whether a file with the given name is compressed as `.slpz`."""
    return name.lower().endswith(_SLPZ)


def holds_replay(name: str, endings: tuple[str, ...] | None) -> bool:
    """Whether we treat a file with the given name as a replay with one of these endings. It doesn't matter whether it
    is compressed.

    `None` stands for all endings.
    """
    return endings is None or plain_name(name).lower().endswith(endings)


def base_name(name: str) -> str:
    """Return the name of a member without the names of its folders and archives."""
    return name.rpartition("::")[2].rpartition("/")[2]
