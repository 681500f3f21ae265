"""Follow a single file, for callers that want one game and not a whole station."""

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
    """Follow one file. `file` must be a resolved path.

    The iterator yields the `Grew` and `Rewritten` events of this file, and all other events of its folder. It raises
    the file's `SourceError` when the file cannot be opened or is lost.
    """
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
        aclosing(_events_of_file(tail, file)) as events,
    ):
        yield events


async def _events_of_file(tail: FolderTail, path: Path) -> AsyncGenerator[TailEvent, None]:
    file: TailedFile | None = None
    async for event in tail:
        if isinstance(event, Opened) and event.file.path == path:
            file = event.file
        elif (isinstance(event, Refused) and event.path == path) or (isinstance(event, Lost) and event.file is file):
            raise event.error
        if not isinstance(event, Grew | Rewritten) or event.file is file:
            yield event
