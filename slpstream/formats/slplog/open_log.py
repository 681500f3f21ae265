"""Replay logs in files. You can open one to read some of its frames, or read it as the replay that it contains."""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

from slpstream.formats.slplog.container import MAGIC, SUFFIX, read_header
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.model.errors import FormatError
from slpstream.system.files import open_regular


def is_log(path: Path) -> bool:
    """Whether a path has the suffix of a replay log."""
    name = path.name  # not `path.suffix`, which takes twice as long as the rest of the function
    return len(name) > len(SUFFIX) and name[-len(SUFFIX) :].lower() == SUFFIX


def log_in(file: BinaryIO) -> ReplayLog:
    """Return the replay log in an open file. Raises `FormatError`, `OSError`."""

    def read_at(offset: int, size: int) -> bytes:
        file.seek(offset)
        return file.read(size)

    size = file.seek(0, io.SEEK_END)
    return ReplayLog(read_at, size)


def as_replay(file: BinaryIO) -> BinaryIO:
    """If an open file is a replay log, close it and return the replay in memory. Otherwise, return the file itself.

    Raises `FormatError` if the log is damaged.
    """
    head = file.read(len(MAGIC))
    file.seek(0)
    if head != MAGIC:
        return file
    with file:
        return io.BytesIO(log_in(file).unpack())


def replay_name(path: Path) -> str:
    """Return the name of a replay file without its folder. For a replay log, this is the name in its header.

    Raises `OSError` if it can't be read.
    """
    if not is_log(path):
        return path.name
    with open_regular(path) as file:

        def read_at(offset: int, size: int) -> bytes:
            file.seek(offset)
            return file.read(size)

        try:
            header, _ = read_header(read_at)
        except FormatError:
            return path.name
    return header.name or path.name
