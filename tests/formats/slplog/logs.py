"""Replays for the tests of replay logs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from slpstream.formats.registry import choose
from tests.formats.slippi.built import varied_replay
from tests.project import IN_CI
from tests.replays import SHARED, replays
from tests.synthetic.match import synthetic_match

_MAX_BYTES = 200_000
"""Outside CI only this much of a longer replay is packed. The benchmark packs all of them whole."""


@cache
def synthetic() -> bytes:
    """A match of 700 frames, with rollbacks, items and Ice Climbers."""
    return synthetic_match(seed=5, frames=700, rollbacks=True, items=True, followers=True, gecko=True)


def real_files() -> list[Path]:
    """All files of the test data, of all formats, including damaged ones."""
    others = [path for folder in ("gci", "stunts", "mk8") for path in sorted((SHARED / folder).rglob("*"))]
    return replays() + [path for path in others if path.is_file() and path.suffix != ".json"]


def bytes_of(path: Path) -> bytes:
    """The bytes of a file, or the first ones of a long Slippi replay."""
    data = path.read_bytes()
    return data if IN_CI or path.suffix != ".slp" or len(data) <= _MAX_BYTES else data[:_MAX_BYTES]


def format_of(name: str, data: bytes) -> str:
    """The name of a file's format, empty for a file that is not a replay."""
    found = choose(name, data[:0x500], len(data))
    return "" if found is None else found.name


__all__ = ["bytes_of", "format_of", "real_files", "synthetic", "varied_replay"]
