"""One file of a folder, for those who follow a game and not a station."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from slpstream.sources.tail.events import Grew, Lost, Opened, Refused, Rewritten, TailedFile, TailEvent
from slpstream.sources.tail.folder import FolderTail
from slpstream.sources.tail.watcher import Watcher


@asynccontextmanager
async def tail_of_file(
    file: Path, *, rewritable_bytes: int, poll_seconds: float
) -> AsyncIterator[AsyncIterator[TailEvent]]:
    """What happens to a file, whose path is resolved: its own growth and rewriting, and what is of the whole folder.
    Iterating raises the `SourceError` of a file that cannot be read, or does what a log must not do."""
    async with (
        Watcher() as watcher,
        FolderTail(
            file.parent,
            suffixes=(file.name.lower(),),
            rewritable_bytes=rewritable_bytes,
            notifications=watcher.watch(file.parent),
            poll_seconds=poll_seconds,
            idle_seconds=float("inf"),
        ) as tail,
        aclosing(_of_file(tail, file)) as events,
    ):
        yield events


async def _of_file(tail: FolderTail, file: Path) -> AsyncGenerator[TailEvent, None]:
    ours: TailedFile | None = None
    async for event in tail:
        if isinstance(event, Opened) and event.file.path == file:
            ours = event.file
        elif (isinstance(event, Refused) and event.path == file) or (isinstance(event, Lost) and event.file is ours):
            raise event.error
        if not isinstance(event, Grew | Rewritten) or event.file is ours:
            yield event
