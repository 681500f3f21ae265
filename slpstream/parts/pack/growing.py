"""`slpstream pack --follow`: write the log of a game while it is being played."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import trio

from slpstream.formats.registry import of_name
from slpstream.formats.slplog.writer import SlippiLogWriter
from slpstream.model.errors import Unreadable
from slpstream.sources.tail.events import CaughtUp, Grew, Rewritten
from slpstream.sources.tail.one_file import tail_of_file
from slpstream.system.files import real_path

_POLL_SECONDS = 0.05


async def pack_growing(file: Path, target: Path, keyframe_frames: int) -> tuple[int, int]:
    """Write the log of a Slippi replay until the game has closed the replay. Returns the sizes of both in bytes.

    If the process is killed, you can read the log up to its last keyframe. A log that doesn't have any block is
    removed. Raises `FileExistsError`, or `SourceError` if the replay is truncated, replaced or removed.
    """
    file = real_path(file)
    writer = SlippiLogWriter(file.name, keyframe_frames)
    with _new_log(target, writer) as out:
        return await _append(file, out, writer)


@contextmanager
def _new_log(target: Path, writer: SlippiLogWriter) -> Iterator[BinaryIO]:
    out = target.open("xb")
    try:
        yield out
    finally:
        out.close()
        if not writer.blocks:  # a log with only a header is useless, and would block the next attempt
            target.unlink(missing_ok=True)


async def _append(file: Path, out: BinaryIO, writer: SlippiLogWriter) -> tuple[int, int]:
    format_ = of_name(file.name)
    reader = format_.new_reader(file.name)
    rewritten = False
    async with tail_of_file(file, rewritable_bytes=format_.rewritable_bytes, poll_seconds=_POLL_SECONDS) as events:
        async for event in events:
            if isinstance(event, Grew):
                reader.feed(event.data)
                out.write(writer.feed(event.data))
                out.flush()
            elif isinstance(event, Rewritten):
                rewritten = True
                reader.rewrite(event.data)
                out.write(writer.rewrite(event.data))
                out.flush()
            if reader.closed and isinstance(event, (CaughtUp, Rewritten)):
                break
    out.write(writer.finish(await trio.to_thread.run_sync(_sha256, file) if rewritten else b""))
    return writer.source_bytes, out.tell()


def _sha256(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").digest()
    except OSError as error:
        raise Unreadable(str(file), error.strerror or "cannot be read") from error
