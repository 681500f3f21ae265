"""Declares the reading of archives and compressed replays, and the search for them in watched folders."""

from __future__ import annotations

from slpstream.parts.interface import Part

PART = Part(
    name="archives",
    wanted=lambda config: config.store.index_old_files,
    start="slpstream.parts.archives.watched_folders:WatchedFolders",
    functions={
        "archive_members": "slpstream.parts.archives.members:members",
        "head_of_member": "slpstream.parts.archives.by_name:head_of_member",
        "read_compressed": "slpstream.parts.archives.compressed:read_replay",
        "read_member": "slpstream.parts.archives.by_name:read_member",
    },
)
