"""Declares the readers of changed files on macOS and Windows."""

from __future__ import annotations

from slpstream.parts.interface import Part

PART = Part(
    name="platforms",
    functions={
        "change_readers_darwin": "slpstream.parts.platforms.kqueue:readers",
        "change_readers_win32": "slpstream.parts.platforms.directory_changes:readers",
    },
)
