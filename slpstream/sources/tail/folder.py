"""One folder, followed: finds the files in it, reads them as they grow, and says what happens to them as a stream of
events.

Three questions are kept apart. *Which files are there* is answered by scans of the tree, every few seconds, beside
the reading. *Is this still the same file* is answered by each look at it. *When to look* is answered by hints, and
without any by ticks: no open file is left alone for more than a poll and a half. All work is done when the consumer
asks for the next event, so nothing queues up behind a slow one; and a wake costs what the open files cost, whatever
the number of files in the folder.

Every await comes before the state that depends on it is changed: a consumer that is cancelled and iterates again has
lost nothing. The wall clock is read in one place only: to judge which of the files that were there before are still
being written.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import trio

from slpstream.model.errors import Replaced, SourceError, Unreadable, Vanished
from slpstream.sources.tail.arrival import Arrival
from slpstream.sources.tail.events import Lost, Opened, Refused, Scanned, Settled, TailedFile, TailEvent
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.identity import PREFIX_BYTES, FileIdentity
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.scan import Refusal, Scan, examine_all, folders_changed, scan_tree
from slpstream.sources.tail.tailer import COARSE_SECONDS, FileTail, Look, lost_by, open_arrival
from slpstream.sources.tail.threads import T, Threads, TrioThreads
from slpstream.system.stagger import phase_of

if TYPE_CHECKING:
    from outcome import Outcome

# So many files are opened in one hop to a thread, and no more while so many are still to be read: of thousands that
# come at once, most have been read and released before the last is opened.
_OPEN_AT_ONCE: Final = 16
# So many full scans in a row must miss a file before it is given up: a scan can miss what is renamed while it runs.
_MISSES: Final = 2
# Scans that are asked for (folders come and go) leave this many times their own duration between them.
_SCAN_GAP: Final = 4
# A folder that is missing is looked for this often: that costs one stat.
_MISSING_SECONDS: Final = 1.0
# Without notifications, the folders' own modification times tell of new names long before the next scan.
_FOLDERS_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 5.0


class FolderTail:
    """Follows all files with some suffixes below one folder. An asynchronous context manager, and an iterator of
    `TailEvent`s.

    One task iterates. `release` may be called at any time.
    """

    def __init__(
        self,
        root: Path,
        *,
        suffixes: tuple[str, ...],
        rewritable_bytes: int,
        notifications: Notifications | None,
        poll_seconds: float = 0.1,
        scan_seconds: float = 5.0,
        idle_seconds: float = 60.0,
        read_bytes: int = 65536,
        wall_clock: Callable[[], float] = time.time,
        threads: Threads | None = None,
    ) -> None:
        """`suffixes` in lower case. `rewritable_bytes`: how much of a file's beginning its writer may change later."""
        self._root = os.fspath(root)
        self._suffixes = suffixes
        self._rewritable_bytes = rewritable_bytes
        self._notifications = notifications if notifications is not None else Notifications("polling was asked for")
        self._poll_seconds = poll_seconds
        self._scan_seconds = scan_seconds
        self._idle_seconds = idle_seconds
        self._read_bytes = read_bytes
        self._wall_clock = wall_clock
        self._threads = threads if threads is not None else TrioThreads()
        # Reads of all files share them: there is one reader, and what is read is copied out at once.
        self._chunk = memoryview(bytearray(read_bytes))
        self._head = memoryview(bytearray(rewritable_bytes + PREFIX_BYTES))

        self._catalogue = FileTable()
        self._events: deque[TailEvent] = deque()
        self._due: dict[FileTail, bool] = {}
        """Files to look at, in the order of their turns; False if a quiet status is enough to leave it at that."""
        self._suspects: set[str] = set()
        """Names to look at: hinted at and not open, or open and perhaps gone."""
        self._released: deque[tuple[float, TailedFile]] = deque()
        self._elders: dict[FileTail, set[FileTail]] = {}
        """New files, each with those that were open before it and have not been read to their end since: a setup ends a
        game before it begins the next one, and in that order they are told."""
        self._closing: list[FileTail] = []
        self._in_thread = False
        self._closed = False

        self._at = 0.0
        self._next_tick = 0.0
        self._next_scan = 0.0
        self._next_folders = 0.0
        self._scan_began = 0.0
        self._scan_allowed = 0.0
        self._scan_version = 0
        self._scan_outcome: Outcome[Scan] | None = None
        self._scanning: trio.Event | None = None
        self._folders: dict[str, int] = {}
        self._root_identity: FileIdentity | None = None
        self._root_error: Refusal | None = None
        self._judge_by_age = True
        self._first_scan = True
        self._settled = False

    @property
    def active(self) -> Sequence[TailedFile]:
        """The files that are open, in the order in which they were opened."""
        return [tail.file for tail in self._catalogue.open]

    @property
    def listed(self) -> Sequence[TailedFile]:
        """The files that are known and not open; in no order."""
        return [entry.file for entry in list(self._catalogue.listed.values())]  # asked from other threads too

    def knows(self, file: TailedFile) -> bool:
        """Whether a file is there, open or not, as far as is known: under this name or another."""
        return self._catalogue.knows(file)

    @property
    def root_present(self) -> bool:
        """Whether the folder was there at the last scan."""
        return self._root_identity is not None

    @property
    def root_trouble(self) -> str | None:
        """Why nothing is known of the folder now: it is missing, or the last scan could not read it."""
        if self._root_identity is None:
            return "the folder is missing"
        return None if self._root_error is None else f"the folder cannot be read: {self._root_error.what}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        for tail in list(self._catalogue.open):
            self._drop(tail)
        self._events.clear()
        if self._scanning is not None:
            # Its thread cannot be stopped, only be waited for; not for ever, the folder may be on a server that is
            # gone.
            with trio.move_on_after(_CLOSE_SECONDS, shield=True):
                await self._scanning.wait()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TailEvent:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            await self._wait()
            await self._advance(trio.current_time())
        return self._events.popleft()

    async def step(self, at: float | None = None) -> list[TailEvent]:
        """One pass: everything that is due at a time (of trio's clock; default: now) is done, once. At most one chunk
        of each file."""
        await self._advance(trio.current_time() if at is None else at)
        events = list(self._events)
        self._events.clear()
        return events

    def release(self, file: TailedFile) -> None:
        """Be finished with a file: it is closed and listed. If it changes later, it is opened anew, as another
        `TailedFile`.

        Of a file that is not followed (any more), nothing happens.
        """
        tail = next((tail for tail in self._catalogue.open if tail.file is file), None)
        if tail is None:
            return
        self._drop(tail)
        self._events = deque(event for event in self._events if getattr(event, "file", None) is not file)
        if not self._catalogue.is_taken(tail.path):  # else its name has gone to another file
            self._catalogue.list_file(file, tail.head.header)
            self._released.append((self._at + COARSE_SECONDS, file))

    async def _wait(self) -> None:
        """Until something can be done. Always lets others run."""
        ready = self._due or self._catalogue.arrivals or (self._suspects and not self._first_scan)
        if ready or self._scan_outcome is not None:
            await trio.lowlevel.checkpoint()
            return
        until = self._next_scan if self._scanning is None else trio.current_time() + self._scan_seconds
        if self._catalogue.open:
            # Hints have files looked at all the time; then nobody need be woken for the tick.
            looked_at = min([tail.looked_at for tail in self._catalogue.open])
            until = min(until, max(looked_at + self._poll_seconds, self._next_tick))
        if self._notifications.degraded is not None and self._folders and self._scanning is None:
            until = min(until, self._next_folders)
        await self._notifications.wait(until)

    async def _advance(self, at: float) -> None:
        self._at = at
        self._take_hints()
        if at >= self._next_tick:
            self._next_tick = at + self._poll_seconds
            self._tick()
        if at >= self._next_scan and self._scanning is None and self._scan_outcome is None:
            self._start_scan()
        if self._scan_outcome is not None:
            scan = self._scan_outcome.unwrap()
            self._scan_outcome = None
            self._take_scan(scan)
        if self._suspects and not self._first_scan:
            await self._look_at_suspects()
        if self._notifications.degraded is not None and at >= self._next_folders and self._scanning is None:
            await self._look_at_folders()
        if self._catalogue.arrivals:
            await self._open_arrivals()
        if self._due:
            await self._look()
        if not self._settled and not self._first_scan and not self._catalogue.has_unread_start():
            self._settled = True
            self._events.append(Settled())

    # When to look: hints and ticks.

    def _take_hints(self) -> None:
        paths, rescan = self._notifications.take()
        if rescan:
            self._scan_soon()
        active = self._catalogue.active
        for path in paths:
            tail = active.get(path)
            if tail is not None:
                self._due[tail] = True
            elif path.lower().endswith(self._suffixes):
                self._suspects.add(path)

    def _tick(self) -> None:
        if self._notifications.degraded is not None:
            # Nothing else tells in time that a file has gone from its name.
            self._suspects.update(self._catalogue.active)
        recent = self._at - self._poll_seconds / 2
        for tail in self._catalogue.open:
            if tail.looked_at <= recent:
                self._due.setdefault(tail, False)
        while self._released and self._released[0][0] <= self._at:
            # On a coarse clock its header can have been rewritten without a trace, just after the last look: compare
            # it once more.
            self._catalogue.doubt(self._released.popleft()[1])

    # Which files are there: scans of the tree, and looks at single names.

    def _scan_soon(self) -> None:
        self._next_scan = min(self._next_scan, max(self._at, self._scan_allowed))

    def _start_scan(self) -> None:
        # Fifty folders that are looked at together at the start must not be for ever: the second scan comes sooner.
        share = (1 + phase_of(self._root)) / 2 if self._first_scan else 1.0
        self._next_scan = self._at + self._scan_seconds * share
        self._scan_began = self._at
        self._scan_version = self._catalogue.next_version()
        known = self._catalogue.known()
        notifications, root, suffixes = self._notifications, self._root, self._suffixes

        def scan() -> Scan:
            notifications.refresh()  # first watch, then scan: so no name can come in between unnoticed
            scan = scan_tree(root, suffixes, known)
            notifications.attend(scan.folders)
            return scan

        self._scanning = trio.Event()
        self._threads.start(scan, self._scan_done)

    def _scan_done(self, outcome: Outcome[Scan]) -> None:
        self._scan_outcome = outcome
        if self._scanning is not None:
            self._scanning.set()
            self._scanning = None
        self._notifications.ring()

    def _take_scan(self, scan: Scan) -> None:
        self._scan_allowed = self._at + _SCAN_GAP * (self._at - self._scan_began)
        moved = self._root_identity is not None and scan.root != self._root_identity and scan.root_error is None
        if moved:
            self._forget_everything()
        self._root_error = scan.root_error
        if scan.root_error is None:
            self._root_identity = scan.root
            self._folders = scan.folders
        if scan.root is None:
            self._next_scan = min(self._next_scan, self._at + _MISSING_SECONDS)
        elif moved:
            self._scan_soon()  # this one was compared with what is forgotten now
        refusals = self._catalogue.reconcile({} if moved else scan.findings, self._scan_version)
        listed: tuple[TailedFile, ...] = ()
        if scan.root is not None and not moved and self._judge_by_age:
            self._judge_by_age = False
            listed = self._list_the_old()
        if self._first_scan or listed:
            self._events.append(Scanned(listed))
        self._first_scan = False
        self._refuse(refusals)
        if scan.root_error is None:
            self._miss_the_displaced()

    def _miss_the_displaced(self) -> None:
        for tail in self._catalogue.displaced():
            tail.misses += 1
            if tail.misses >= _MISSES:
                tail.doomed = True
                self._due[tail] = True
            else:
                self._scan_soon()

    def _forget_everything(self) -> None:
        """The root has gone, or is another folder: nothing that was known holds."""
        for tail in self._catalogue.forget():
            tail.misses = _MISSES
        self._judge_by_age = True

    def _list_the_old(self) -> tuple[TailedFile, ...]:
        """Of the files that were there before: list those that nobody writes, leave the others to be opened, oldest
        first."""
        listed = self._catalogue.list_older((self._wall_clock() - self._idle_seconds) * 1e9)
        for arrival in self._catalogue.arrivals.values():
            arrival.existed = arrival.at_start = self._first_scan
        return listed

    async def _look_at_suspects(self) -> None:
        suspects = frozenset(self._suspects)
        root = self._root
        version = self._catalogue.next_version()
        findings = await self._run(lambda: examine_all(suspects, root))
        others = self._catalogue.other_names(findings)
        if others:
            findings |= await self._run(lambda: examine_all(others, root))
        self._suspects -= suspects
        self._refuse(self._catalogue.reconcile(findings, version))
        for path in suspects:
            tail = self._catalogue.active.get(path)
            if tail is not None:  # renamed to this, and perhaps written to since
                self._due.setdefault(tail, False)
        for tail in self._catalogue.displaced():
            self._due[tail] = True
            if not tail.misses:
                self._scan_soon()

    async def _look_at_folders(self) -> None:
        folders = self._folders
        changed = await self._run(lambda: folders_changed(folders))
        self._next_folders = self._at + _FOLDERS_SECONDS
        if changed:
            self._scan_soon()

    def _refuse(self, refusals: dict[str, Refusal]) -> None:
        for path, refusal in refusals.items():
            if self._catalogue.refuse(path, refusal):
                self._events.append(Refused(Path(path), Unreadable(path, refusal.what)))

    async def _open_arrivals(self) -> None:
        catalogue = self._catalogue
        room = _OPEN_AT_ONCE - sum(tail.behind for tail in catalogue.open)
        if room <= 0:
            return
        arrivals = list(islice(catalogue.arrivals.values(), room))
        root, rewritable_bytes = self._root, self._rewritable_bytes

        def open_all() -> list[FileTail | Refusal | None]:
            real_root = os.path.realpath(root)
            return [open_arrival(arrival, real_root, rewritable_bytes) for arrival in arrivals]

        for arrival, result in zip(arrivals, await self._run(open_all), strict=True):
            if catalogue.arrivals.get(arrival.path) is arrival:
                del catalogue.arrivals[arrival.path]
            if isinstance(result, FileTail):
                self._begin(arrival, result)
            elif result is not None:
                self._refuse({arrival.path: result})

    def _begin(self, arrival: Arrival, tail: FileTail) -> None:
        if self._closed or not self._catalogue.activate(tail):
            tail.close()
            return
        tail.at_start = arrival.at_start
        self._events.append(Opened(tail.file, arrival.existed))
        if not arrival.at_start:
            elders = {other for other in self._catalogue.open if other is not tail}
            if elders:
                self._elders[tail] = elders
                self._due |= dict.fromkeys(elders, True)
        self._due[tail] = True

    # Reading.

    async def _look(self) -> None:
        """Look at the files that are due, in turn, until about one chunk has been read."""
        budget = self._read_bytes
        blocking: list[FileTail] = []
        for tail in list(self._due):
            if budget <= 0:
                break
            if tail in self._elders:
                continue
            if tail.fast and not self._due[tail] and tail.is_quiet(self._at):
                del self._due[tail]
                continue
            look = tail.look_now(self._chunk, self._head) if tail.fast else None
            if look is None:
                blocking.append(tail)
            else:
                budget -= len(look.data)
                del self._due[tail]
                self._absorb(tail, look)
        if blocking and budget > 0:
            await self._look_in_thread(blocking, budget)

    async def _look_in_thread(self, tails: list[FileTail], budget: int) -> None:
        at, due, limit = self._at, self._due, self._read_bytes

        def look_at_all() -> list[Look | OSError | None]:
            left = budget
            looks: list[Look | OSError | None] = []
            for tail in tails:
                if left <= 0:
                    break
                if not due.get(tail) and tail.is_quiet(at):
                    looks.append(None)
                    continue
                try:
                    look = tail.look(limit)
                except OSError as error:
                    looks.append(error)
                else:
                    left -= len(look.data)
                    looks.append(look)
            return looks

        looks = await self._run(look_at_all)
        for tail, found in zip(tails, looks, strict=False):
            if tail not in self._catalogue.open:
                continue  # released meanwhile
            self._due.pop(tail, None)
            if isinstance(found, OSError):
                self._lose(tail, lost_by(found, tail.path))
            elif found is not None:
                self._absorb(tail, found)

    def _absorb(self, tail: FileTail, look: Look) -> None:
        try:
            events = tail.absorb(look, self._at)
        except SourceError as error:
            self._lose(tail, error)
            return
        self._events.extend(events)
        if tail.behind:
            self._due[tail] = True
            return
        tail.at_start = False
        if self._elders:
            self._make_way(tail)
        if tail.doomed or tail.is_unlinked(look.status):
            if self._catalogue.active.get(tail.path) is tail:
                self._suspects.add(tail.path)  # what has its name now? Once that is known, it is lost.
            elif self._catalogue.is_taken(tail.path):
                self._lose(tail, Replaced(tail.path, "another file has its name"))
            else:
                self._lose(tail, Vanished(tail.path, "it is gone"))

    def _make_way(self, elder: FileTail) -> None:
        """A file was read to its end, or is not followed any more: newer ones need not wait for it."""
        for tail, elders in list(self._elders.items()):
            elders.discard(elder)
            if not elders:
                del self._elders[tail]

    def _lose(self, tail: FileTail, error: SourceError) -> None:
        if self._catalogue.active.get(tail.path) is tail and not isinstance(error, Unreadable):
            # What is there now is read at once. After a read error that waits for the next scan: it is likely to come
            # again.
            self._suspects.add(tail.path)
        self._drop(tail)
        self._events.append(Lost(tail.file, error))

    def _drop(self, tail: FileTail) -> None:
        self._catalogue.deactivate(tail)
        self._due.pop(tail, None)
        self._elders.pop(tail, None)
        self._make_way(tail)
        if self._in_thread:
            self._closing.append(tail)  # a thread may be reading from it just now
        else:
            tail.close()

    async def _run(self, work: Callable[[], T]) -> T:
        self._in_thread = True
        try:
            return await self._threads.run(work)
        finally:
            self._in_thread = False
            while self._closing:
                self._closing.pop().close()
