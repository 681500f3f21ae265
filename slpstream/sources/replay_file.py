"""Open and read the file of one replay, whether it is plain, a replay log, compressed, or a member of an archive.

The functions in this module block.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from slpstream.formats.interface import SNIFFED_BYTES
from slpstream.formats.slplog.open_log import as_replay, is_log, replay_name
from slpstream.model.errors import Unreadable
from slpstream.sources.packed import is_packed, read_packed
from slpstream.sources.packed import replay_name as packed_name
from slpstream.system.files import open_regular, read_start
from slpstream.system.member_paths import path_text

_READ_BYTES = 64 * 1024  # with 256 KiB, stats of a replay before 3.0 take 40 % longer


def read_head(path: Path) -> tuple[str, bytes, int]:
    """Return the file name of a replay, its first bytes, and its size in bytes. Raises `Unreadable`."""
    try:
        packed = is_packed(path)
        if not packed and not is_log(path):
            return path.name, *read_start(path, SNIFFED_BYTES)
        with open_file(path) as file:
            head = file.read(SNIFFED_BYTES)
            return packed_name(path) if packed else replay_name(path), head, file.seek(0, os.SEEK_END)
    except OSError as error:
        raise unreadable(path, error) from error


def read_chunks(path: Path, max_bytes: int = _READ_BYTES) -> Iterator[bytes]:
    """Yield the bytes of a file in chunks of at most `max_bytes`. With -1, there is only one chunk.

    Raises `SourceError` if the file can't be read.
    """
    try:
        with open_file(path) as file:
            while chunk := file.read(max_bytes):
                yield chunk
    except OSError as error:
        raise Unreadable(path_text(path), error.strerror or "cannot be read") from error


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading. Other kinds (such as a FIFO, which could block for ever) are refused.

    If the file is a replay log (`.slplog`), a compressed replay or a member of an archive, you get the replay in it.
    This is decided by the name, so a file that is named like a replay is never unpacked. Raises `Unreadable`, or
    `FormatError` if a replay log or a `.slpz` is damaged.
    """
    try:
        file: BinaryIO = BytesIO(read_packed(path)) if is_packed(path) else open_regular(path)
        return as_replay(file) if is_log(path) else file
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> Unreadable:
    """Return the error to raise for a file that the operating system refuses to open."""
    text = error.strerror or "cannot be read"
    return Unreadable(path_text(path), text[:1].lower() + text[1:])
