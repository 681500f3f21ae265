"""The Gecko codes of games.

They come from the index or, if it doesn't have them, from the beginning of the replay, which is read once for each
game.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

import trio

from slpstream.model.errors import FormatError, SourceError
from slpstream.model.setup import CodeList
from slpstream.store.index import GameIndex
from slpstream.system.logs import get_logger

_KEPT_LISTS = 32


class GameCodes:
    """The codes of the games of one daemon. They are only read on request, and never while a game begins."""

    def __init__(self, index: GameIndex, read: Callable[[Path], CodeList | None]) -> None:
        """`read` reads the codes of a file, in the way `slpstream.api.read_codes` does. It is called in a worker
        thread.
        """
        self._index = index
        self._read = read
        self._limiter = trio.CapacityLimiter(1)
        self._lists: OrderedDict[str, CodeList] = OrderedDict()
        self._log = get_logger()

    async def codes(
        self, game_id: str, fingerprint: str | None, paths: Iterable[bytes], *, has_ended: bool
    ) -> CodeList | None:
        """Return the codes of the game that is in these files, or `None` if none of the files reveals them.

        `fingerprint` comes from the index. It is empty for a replay without codes, and `None` for a replay that we
        haven't read yet. If a game has no codes, we only remember this once it has ended.
        """
        if fingerprint == "":
            return None
        known = None if fingerprint is None else await self._known(fingerprint)
        if known is not None:
            return known
        for path in paths:
            try:
                found = await trio.to_thread.run_sync(self._read, Path(os.fsdecode(path)), limiter=self._limiter)
            except SourceError:
                continue
            except FormatError as error:
                self._log.warning("codes cannot be read", game_id=game_id, file=os.fsdecode(path), what=str(error))
                found = None
            if found is not None or has_ended:
                await self._index.keep_codes(game_id, found)
            if found is not None:
                self._keep(found)
            return found
        return None

    async def _known(self, fingerprint: str) -> CodeList | None:
        if fingerprint in self._lists:
            self._lists.move_to_end(fingerprint)
            return self._lists[fingerprint]
        found = await self._index.codes(fingerprint)
        if found is not None:
            self._keep(found)
        return found

    def _keep(self, codes: CodeList) -> None:
        self._lists[codes.fingerprint] = codes
        self._lists.move_to_end(codes.fingerprint)
        while len(self._lists) > _KEPT_LISTS:
            self._lists.popitem(last=False)
