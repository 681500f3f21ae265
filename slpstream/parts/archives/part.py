"""Declares the search for archives in watched folders."""

from __future__ import annotations

from slpstream.parts.interface import Part

PART = Part(
    name="archives",
    wanted=lambda config: config.store.index_old_files,
    start="slpstream.parts.archives.watched_folders:WatchedFolders",
)
