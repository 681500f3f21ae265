"""The sets whose zip has not been written yet.

Both these and the finished ones are remembered after the end of a run.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import msgspec
import trio

from slpstream.model.prepared import prepared
from slpstream.store.index import GameIndex

_KEY = "handover"
"""The key of the remembered sets in the index."""
_MAX_WAITING = 500
_MAX_DONE = 5000


@prepared
class _Remembered(msgspec.Struct):
    """Those sets that are remembered after the end of a run, by id."""

    done: list[str] = []
    writing: dict[str, str] = {}
    """The names of zips that are being written."""
    waiting: dict[str, str] = {}
    """The stations of sets that are over and have no zip yet."""


class WaitingSets:
    """The sets that are over but have no zip yet. For each of them, we know when to try it the next time."""

    def __init__(self, index: GameIndex, delay_seconds: float) -> None:
        """`delay_seconds` is how long to wait after the end of a set before its zip is written."""
        self._index = index
        self._delay_seconds = delay_seconds
        self._remembered = _Remembered()
        self._loaded = False
        self._over: dict[str, str] = {}
        """The stations of sets that have ended since the last `admit`."""
        self._due: dict[str, float] = {}
        """The time of the next attempt for each waiting set, on trio's clock."""
        self._given_up: set[str] = set()
        """Sets that are not tried again in this run, because of a bug or because too many sets wait."""
        self._problems: dict[str, str] = {}
        """Why attempts for waiting sets failed, by set; the newest is last."""
        self._changed = trio.Event()

    def __len__(self) -> int:
        return len(self._due)

    @property
    def newest_problem(self) -> str | None:
        """The reason why the newest failed attempt didn't work, or `None` if there's no such set."""
        return next(reversed(self._problems.values()), None)

    async def load(self) -> None:
        """Load the sets that were remembered. We don't wait any longer for these."""
        if not self._loaded:  # a second load, after a bug, must not discard newer facts
            self._remembered = _decoded(await self._index.remembered(_KEY))
            self._loaded = True
        for set_id in self._remembered.waiting:
            self._due.setdefault(set_id, trio.current_time())

    def note(self, set_id: str, station: str, *, over: bool) -> None:
        """Note whether a set is over. It can also happen that a correction opens a set again."""
        if over:
            self._over[set_id] = station
        else:
            self._over.pop(set_id, None)
            self._given_up.discard(set_id)
            if set_id in self._due:
                self._forget(set_id)
        self._changed.set()

    def admit(self) -> list[str]:
        """Begin to wait for sets that have just ended. If there are too many, others have to go, and you get a list of
        these.

        After this, `wait` waits until something new happens.
        """
        self._changed = trio.Event()
        ended, self._over = self._over, {}
        displaced: list[str] = []
        admitted = False
        for set_id, station in ended.items():
            if set_id in self._remembered.done or set_id in self._due or set_id in self._given_up:
                continue
            if len(self._due) >= _MAX_WAITING:
                oldest = next(iter(self._due))
                displaced.append(oldest)
                self.give_up(oldest)
            self._due[set_id] = trio.current_time() + self._delay_seconds
            self._remembered.waiting[set_id] = station
            admitted = True
        if admitted:
            self._keep()
        return displaced

    async def wait(self) -> None:
        """Wait until it's time for one of the sets, or until someone has called `note` after `admit`."""
        with trio.move_on_after(max(0.0, min(self._due.values(), default=math.inf) - trio.current_time())):
            await self._changed.wait()

    def due_now(self) -> list[str]:
        """Return those sets for which it is time."""
        return [set_id for set_id, at in self._due.items() if at <= trio.current_time()]

    def station_of(self, set_id: str) -> str | None:
        """Return the station of a set that is waiting, or `None` if it isn't waiting any more."""
        return self._remembered.waiting.get(set_id)

    def knows(self, set_id: str) -> bool:
        """Whether a set is waiting or already has its zip."""
        return set_id in self._remembered.done or set_id in self._due

    def name_of(self, set_id: str) -> str | None:
        """If a zip was being written for a set, return its name, and otherwise `None`."""
        return self._remembered.writing.get(set_id)

    def names_of_others(self, set_id: str) -> Collection[str]:
        """Return the names of zips that are being written for other sets."""
        return [name for other, name in self._remembered.writing.items() if other != set_id]

    async def begin(self, set_id: str, name: str) -> None:
        """Store the name of a zip before it is written for a set. Raises `StoreError` if that isn't possible."""
        self._remembered.writing[set_id] = name
        self._keep()
        await self._index.written()

    def retry(self, set_id: str, problem: str, after_seconds: float) -> bool:
        """Schedule another attempt because one has failed. Returns whether it's a different problem than before."""
        is_new = problem != self._problems.pop(set_id, None)
        if self._remembered.writing.pop(set_id, None) is not None:  # another set may take the name meanwhile
            self._keep()
        if set_id in self._due:  # else a correction has reopened it meanwhile
            self._due[set_id] = trio.current_time() + after_seconds
            self._problems[set_id] = problem
        return is_new

    def finish(self, *set_ids: str) -> None:
        """Remember that a set is done. You have to pass all of its ids."""
        for set_id in set_ids:
            self._forget(set_id)
        self._remembered.done = [*self._remembered.done, *dict.fromkeys(set_ids)][-_MAX_DONE:]
        self._keep()

    def drop(self, set_id: str) -> None:
        """Stop waiting for a set."""
        self._forget(set_id)
        self._keep()

    def give_up(self, set_id: str) -> None:
        """Don't wait for a set any more until the next run."""
        self._given_up.add(set_id)
        self.drop(set_id)

    def _forget(self, set_id: str) -> None:
        self._due.pop(set_id, None)
        self._problems.pop(set_id, None)
        self._remembered.waiting.pop(set_id, None)
        self._remembered.writing.pop(set_id, None)

    def _keep(self) -> None:
        self._index.remember(_KEY, msgspec.to_builtins(self._remembered))


def _decoded(remembered: Any) -> _Remembered:
    try:
        return msgspec.convert(remembered or {}, _Remembered)
    except msgspec.ValidationError:
        return _Remembered()
