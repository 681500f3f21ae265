"""Follow a single file. Use this if you are interested in one game and not in a whole station."""

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
    """Follow one file. You have to pass a resolved path.

    The iterator yields the `Grew` and `Rewritten` events of this file. You can ignore all other events, because they
    are about the folder. If the file can't be opened or is lost, the iterator raises the `SourceError` of the file.
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
