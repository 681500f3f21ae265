"""Follow one folder: find its files, read them as they grow, and yield a stream of events.

Three questions are kept apart. *Which files are there* is answered by scans of the tree, every few seconds, in a
thread. *Is this still the same file* is checked with every read. *When to read* is decided by notifications and, in
their absence, by ticks: no open file goes unread for more than one and a half poll intervals. All work is done when the
consumer asks for the next event, so events do not pile up if it is slow. The cost of a wakeup depends on the number of
open files, not on the number of files in the folder.

State changes only after the await that it depends on, so a consumer that is cancelled and iterates again loses
nothing. The wall clock is read in one place only: to decide which of the files that were there from the start are
still being written.
"""

from __future__ import annotations

import contextvars
import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import trio
from outcome import Error, capture

from slpstream.model.errors import Replaced, SourceError, Unreadable, Vanished
from slpstream.sources.tail.age import FirstLook, files_at_rest
from slpstream.sources.tail.arrival import Arrival
from slpstream.sources.tail.events import (
    Grew,
    Lost,
    Opened,
    Refused,
    Scanned,
    Settled,
    TailedFile,
    TailEvent,
    Touched,
)
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.identity import PREFIX_BYTES, Change, FileIdentity
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.scan import Refusal, ScanResult, examine_all, folders_changed, scan_tree
from slpstream.sources.tail.tailer import (
    COARSE_SECONDS,
    FileTail,
    IsFinished,
    ReadResult,
    change_of,
    open_arrival,
    source_error_of,
)
from slpstream.sources.tail.threads import T, Threads, TrioThreads
from slpstream.system.stagger import phase_of

if TYPE_CHECKING:
    from outcome import Outcome

# At most this many files are opened in one call to a thread, and at most this many finished files have unread bytes.
# When thousands are copied in together, most have been read and released before the last one is opened.
_MAX_OPENING: Final = 16
# While this many unfinished files have unread bytes, only small files are opened.
_MAX_UNFINISHED: Final = 64
# Finished files are read one after the other, in parts of a chunk so that little time passes between two looks at the
# files that grow.
_PARTS_OF_CHUNK: Final = 8
_MAX_PAUSE_SECONDS: Final = 0.02
# A new file waits until at most this many chunks have been read, about a second's worth.
_MAX_WAIT_CHUNKS: Final = 64
# A file is given up only after this many full scans in a row miss it: one scan can miss a file that is renamed while
# it runs.
_MAX_MISSED_SCANS: Final = 2
# Scans on request (when folders come and go) are this many times their own duration apart.
_SCAN_GAP: Final = 4
# A missing folder is looked for this often; it costs one stat. A scan that finds no thread is tried again as often.
MISSING_SECONDS: Final = 1.0
# Without notifications, the modification times of the folders reveal new names long before the next scan.
_FOLDERS_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 5.0
# After this time, a consumer of events that were read together lets other tasks run.
_TURN_SECONDS: Final = 0.004
# Findings of a scan that are taken at once. Twenty thousand would stop the event loop for a fifth of a second.
_FINDINGS_AT_ONCE: Final = 200


class FolderTail:
    """All files with certain suffixes below one folder. An asynchronous context manager and iterator of `TailEvent`s.

    Only one task may iterate. `release` and `read_again` may be called at any time.
    """

    def __init__(
        self,
        root: Path,
        *,
        suffixes: tuple[str, ...],
        rewritable_bytes: int,
        is_finished: IsFinished | None = None,
        notifications: Notifications | None,
        poll_seconds: float = 0.1,
        scan_seconds: float = 5.0,
        idle_seconds: float = 60.0,
        read_bytes: int = 65536,
        wall_clock: Callable[[], float] = time.time,
        threads: Threads | None = None,
    ) -> None:
        """`suffixes` are in lower case. A writer may change the first `rewritable_bytes` of a file at any time.

        Files that `is_finished` recognises by these bytes are read after all others; it is also asked about files whose
        modification times lie in the future, which show nothing. It is called in any thread.
        """
        self._root = os.fspath(root)
        self._suffixes = suffixes
        self._rewritable_bytes = rewritable_bytes
        self._is_finished = is_finished
        self._notifications = notifications if notifications is not None else Notifications("polling was asked for")
        self._poll_seconds = poll_seconds
        self._scan_seconds = scan_seconds
        self._idle_seconds = idle_seconds
        self._read_bytes = read_bytes
        self._wall_clock = wall_clock
        self._threads = threads if threads is not None else TrioThreads()
        # Shared by the reads of all files: there is one reader, and the bytes are copied out at once.
        self._chunk = memoryview(bytearray(read_bytes))
        self._head = memoryview(bytearray(rewritable_bytes + PREFIX_BYTES))

        self._table = FileTable()
        self._events: deque[TailEvent] = deque()
        self._due: dict[FileTail, bool] = {}
        """Files to read, in the order of their turns. With false, an unchanged status is reason enough to skip the
        read."""
        self._to_examine: set[str] = set()
        """Paths to examine: of files that are not open and were reported, or that are open and may be gone."""
        self._compare_at: dict[TailedFile, float] = {}
        """Listed files to compare with the bytes that were delivered of them, and when."""
        self._touched: set[TailedFile] = set()
        """Those that are compared once more after that, since they were touched. On a coarse clock, a change just after
        the comparison would leave no trace."""
        self._comparing: trio.Event | None = None
        self._comparison: tuple[TailedFile, Outcome[Change]] | None = None
        self._bytes_read = 0
        self._part_read_at: float | None = None
        """When a part of a finished file was read whose events the consumer has since been given."""
        self._next_part = 0.0
        """While other files are followed, as much time is left to them as the last part has taken."""
        self._waiting_for: dict[FileTail, tuple[int, set[FileTail]]] = {}
        """New files, each with the older files that must be read to their end first, or the value that `_bytes_read`
        must reach.

        A setup finishes one game before it begins the next, and the games are delivered in that order. Files that
        arrived whole neither wait nor are waited for.
        """
        self._take_growth: Callable[[TailEvent], None] | None = None
        self._failed: Error | None = None
        """What went wrong while growth was handed over; the iteration raises it."""
        self._waiting = False
        """Whether the iteration is waiting, so that nothing is half done."""
        self._closing: list[FileTail] = []
        self._in_thread = False
        self._closed = False

        self._now = 0.0
        self._turn_began = 0.0
        self._next_tick = 0.0
        self._next_scan = 0.0
        self._next_folders = 0.0
        self._scan_began = 0.0
        self._scan_allowed = 0.0
        self._scan_version = 0
        self._scan_outcome: Outcome[tuple[ScanResult, frozenset[str]]] | None = None
        self._scanning: trio.Event | None = None
        self._folders: dict[str, int] = {}
        self._root_identity: FileIdentity | None = None
        self._root_error: Refusal | None = None
        self._judge_by_age = True
        self._first_scan = True
        self._settled = False

    @property
    def active(self) -> Sequence[TailedFile]:
        """The open files, in the order in which they were opened."""
        return [tail.file for tail in self._table.open]

    @property
    def listed(self) -> Sequence[TailedFile]:
        """The files that are known and not open, in no particular order.

        The same tuple as before, unless one of them has changed.
        """
        return self._table.listed_files

    def knows(self, file: TailedFile) -> bool:
        """Whether a file exists as far as is known, open or not, under this path or another."""
        return self._table.knows(file)

    @property
    def searched(self) -> bool:
        """Whether the first scan is over. Before that, a folder that is there is not known yet."""
        return not self._first_scan

    @property
    def root_present(self) -> bool:
        """Whether the folder was there at the last scan."""
        return self._root_identity is not None

    @property
    def root_trouble(self) -> str | None:
        """The reason why the folder cannot be followed now, or `None`: it is missing, or the last scan failed."""
        if self._root_identity is None:
            return "the folder is missing"
        return None if self._root_error is None else f"the folder cannot be read: {self._root_error.reason}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._notifications.read_at_once = None
        for tail in list(self._table.open):
            self._drop(tail)
        self._events.clear()
        # The threads of a scan and of a comparison cannot be stopped, only waited for, and not for ever: the folder may
        # be on a server that does not respond.
        running = [done for done in (self._scanning, self._comparing) if done is not None]
        if running:
            with trio.move_on_after(_CLOSE_SECONDS, shield=True):
                for done in running:
                    await done.wait()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TailEvent:
        if self._events and trio.current_time() - self._turn_began > _TURN_SECONDS:
            await trio.lowlevel.checkpoint()
            self._turn_began = trio.current_time()
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            await self._wait()
            if self._failed is not None:
                failed, self._failed = self._failed, None
                failed.unwrap()
            self._turn_began = trio.current_time()
            await self._advance(self._turn_began)
        return self._events.popleft()

    def hand_over_growth(self, take: Callable[[TailEvent], None]) -> None:
        """From now on, call `take` with bytes that are appended to a file while the iteration waits.

        It is called as soon as they are reported, without a task switch, and the event is not yielded. All other events
        are yielded, even if they come with these bytes. `take` may call `release` and `read_again`.
        """
        context = contextvars.copy_context()

        def take_in_context(event: TailEvent) -> None:
            context.run(take, event)  # log lines take their fields from the context

        self._take_growth = take_in_context
        self._notifications.read_at_once = self._read_at_once

    def _read_at_once(self, path: str) -> bool:
        """Read a file that has grown, if it is an ordinary one and nothing else is to be done before."""
        tail = self._table.active.get(path)
        if tail is None or self._take_growth is None or not self._waiting or not tail.nowait:
            return False
        if self._events or self._due or self._waiting_for or tail.has_unread_bytes or tail.file.arrived_whole:
            return False
        # A bug in here is the iteration's, not that of the task that reports the growth of all files.
        outcome = capture(self._read_now, tail, self._take_growth)
        if isinstance(outcome, Error):
            self._failed = outcome
            self._notifications.wake()
            return True
        return outcome.value

    def _read_now(self, tail: FileTail, take: Callable[[TailEvent], None]) -> bool:
        result = tail.read_nowait(self._chunk, self._head)
        if result is None:
            return False
        self._now = trio.current_time()
        self._apply(tail, result)
        while self._events and isinstance(self._events[0], Grew):
            take(self._events.popleft())
        if self._events or self._due or self._to_examine:
            self._notifications.wake()
        return True

    async def step(self, now: float | None = None) -> list[TailEvent]:
        """Do once everything that is due at `now` (on trio's clock; by default the current time).

        Reads at most one chunk of each file. Returns the events.
        """
        await self._advance(trio.current_time() if now is None else now)
        events = list(self._events)
        self._events.clear()
        return events

    def release(self, file: TailedFile) -> None:
        """Stop following a file: close it and list it. If it changes later, it is opened again as another `TailedFile`.

        Does nothing if the file is not open.
        """
        tail = self._open_tail(file)
        if tail is None:
            return
        self._drop(tail)
        self._events = deque(event for event in self._events if getattr(event, "file", None) is not file)
        if not self._table.is_taken(tail.path):  # otherwise another file has its path now
            self._table.list_file(file, tail.delivered, exhausted=tail.exhausted)
            # While it was open, only its head was compared; and on a coarse clock, it may have changed without a trace
            # just after the last read.
            self._compare_at[file] = self._now + COARSE_SECONDS

    def stop_reading(self, file: TailedFile) -> None:
        """Stop reading a file whose further bytes do not matter, however many they are. It counts as caught up.

        It stays open until it is released. From now on, only a truncation, a replacement or other first bytes make it a
        file to read again, not its growth; after its release, so does a change of any byte that was delivered. Does
        nothing if the file is not open.
        """
        tail = self._open_tail(file)
        if tail is not None and not tail.exhausted:
            tail.exhausted = True
            self._due[tail] = True

    def read_again(self, file: TailedFile) -> None:
        """Read an open file from its beginning, as another `TailedFile`. Does nothing if the file is not open."""
        if self._open_tail(file) is not None:
            self.release(file)
            self._table.reopen(file)
            self._notifications.wake()

    def _open_tail(self, file: TailedFile) -> FileTail | None:
        return next((tail for tail in self._table.open if tail.file is file), None)

    async def _wait(self) -> None:
        """Wait until there is something to do. Always executes a checkpoint."""
        now = trio.current_time()
        self._schedule_next_part(now)
        paused = now < self._next_part and all(tail.file.arrived_whole for tail in self._due)
        arrivals = any(not arrival.finished for arrival in self._table.arrivals.values())
        outcome = self._scan_outcome is not None or self._comparison is not None
        ready = arrivals or (self._to_examine and not self._first_scan) or outcome
        if ready or (not paused and (self._due or self._table.arrivals)):
            await trio.lowlevel.checkpoint()
            return
        self._waiting = True
        try:
            await self._notifications.wait(self._deadline(), self._deadline)
        finally:
            self._waiting = False

    def _deadline(self) -> float:
        """When there is something to do at the latest, if nothing is reported."""
        now = trio.current_time()
        deadline = self._next_scan if self._scanning is None else now + self._scan_seconds
        if self._due:
            deadline = min(deadline, self._next_part)
        if self._table.open:
            # Files that notifications report are read all the time; there is then no need to wake up for a tick.
            read_at = min([tail.read_at for tail in self._table.open])
            deadline = min(deadline, max(read_at + self._poll_seconds, self._next_tick))
        if self._notifications.degraded is not None and self._folders and self._scanning is None:
            deadline = min(deadline, self._next_folders)
        if self._compare_at and self._comparing is None:
            deadline = min(deadline, *self._compare_at.values())
        return deadline

    def _schedule_next_part(self, now: float) -> None:
        if self._part_read_at is not None:
            self._next_part = now + min(now - self._part_read_at, _MAX_PAUSE_SECONDS)
            self._part_read_at = None
            if all(tail.file.arrived_whole for tail in self._table.open):
                self._next_part = now

    async def _advance(self, now: float) -> None:
        self._now = now
        self._schedule_next_part(now)
        self._take_notifications()
        if now >= self._next_tick:
            self._next_tick = now + self._poll_seconds
            self._tick()
        if now >= self._next_scan and self._scanning is None and self._scan_outcome is None:
            self._start_scan()
        if self._scan_outcome is not None:
            scan, old_files = self._scan_outcome.unwrap()
            self._scan_outcome = None
            await self._take_scan(scan, old_files)
        if self._to_examine and not self._first_scan:
            await self._examine_paths()
        if self._notifications.degraded is not None and now >= self._next_folders and self._scanning is None:
            await self._check_folders()
        if self._table.touched:
            self._take_touched()
        if self._comparison is not None:
            file, outcome = self._comparison
            self._comparison = None
            change = outcome.unwrap()
            if change is not Change.NONE:
                self._table.reopen(file, changed=change is Change.CONTENT)
        if self._compare_at and self._comparing is None:
            self._compare_next()
        if self._table.arrivals:
            await self._open_arrivals()
        if self._due:
            await self._read_due()
        if not self._settled and not self._first_scan and not self._table.has_unread_start():
            self._settled = True
            self._events.append(Settled())

    # When to read: notifications and ticks.

    def _take_notifications(self) -> None:
        paths, rescan = self._notifications.take()
        if rescan:
            self._scan_soon()
        active = self._table.active
        for path in paths:
            tail = active.get(path)
            if tail is not None:
                self._due[tail] = True
            elif path.lower().endswith(self._suffixes):
                self._to_examine.add(path)

    def _tick(self) -> None:
        if self._notifications.degraded is not None:
            # Without notifications, this is the only way to notice in time that a file has left its path.
            self._to_examine.update(self._table.active)
        recent = self._now - self._poll_seconds / 2
        for tail in self._table.open:
            if tail.read_at <= recent:
                self._due.setdefault(tail, False)

    # Which files are there: scans of the tree, and single paths.

    def _scan_soon(self) -> None:
        self._next_scan = min(self._next_scan, max(self._now, self._scan_allowed))

    def _start_scan(self) -> None:
        # The second scan comes sooner, by a different amount for each root. Fifty roots that start together would
        # otherwise be scanned together for ever.
        share = (1 + phase_of(self._root)) / 2 if self._first_scan else 1.0
        self._next_scan = self._now + self._scan_seconds * share
        self._scan_began = self._now
        self._scan_version = self._table.next_version()
        known = self._table.known_files()
        notifications, root, suffixes = self._notifications, self._root, self._suffixes
        judge_by_age, idle_seconds, wall_clock = self._judge_by_age, self._idle_seconds, self._wall_clock
        rewritable_bytes, is_finished = self._rewritable_bytes, self._is_finished

        def scan() -> tuple[ScanResult, frozenset[str]]:
            notifications.watch_root()  # before the scan, so that no name can come in between unnoticed
            result = scan_tree(root, suffixes, known, notifications.watch_folder)
            notifications.keep_folders(result.folders.keys())
            if not judge_by_age:
                return result, frozenset()
            look = None if is_finished is None else FirstLook(root, rewritable_bytes, is_finished)
            return result, files_at_rest(result.findings, wall_clock(), idle_seconds, look)

        self._scanning = trio.Event()
        if not self._threads.start(scan, self._scan_done):
            self._scanning = None
            self._next_scan = self._now + MISSING_SECONDS

    def _scan_done(self, outcome: Outcome[tuple[ScanResult, frozenset[str]]]) -> None:
        self._scan_outcome = outcome
        if self._scanning is not None:
            self._scanning.set()
            self._scanning = None
        self._notifications.wake()

    async def _take_scan(self, scan: ScanResult, old_files: Collection[str]) -> None:
        self._scan_allowed = self._now + _SCAN_GAP * (self._now - self._scan_began)
        moved = self._root_identity is not None and scan.root != self._root_identity and scan.root_error is None
        if moved:
            self._forget_root()
        self._root_error = scan.root_error
        if scan.root_error is None:
            self._root_identity = scan.root
            self._folders = scan.folders
        if scan.root is None:
            self._next_scan = min(self._next_scan, self._now + MISSING_SECONDS)
        elif moved:
            self._scan_soon()  # this scan was compared with files that are forgotten now
        refusals: dict[str, Refusal] = {}
        await self._in_slices(self._table.reconciling({} if moved else scan.findings, self._scan_version, refusals))
        listed: tuple[TailedFile, ...] = ()
        if scan.root is not None and not moved and self._judge_by_age:
            self._judge_by_age = False
            listed = await self._list_old_files(old_files)
        if self._first_scan or listed:
            self._events.append(Scanned(listed))
        self._first_scan = False
        self._refuse(refusals)
        if scan.root_error is None:
            self._count_missed_scan()

    def _count_missed_scan(self) -> None:
        for tail in self._table.displaced():
            tail.missed_scans += 1
            if tail.missed_scans >= _MAX_MISSED_SCANS:
                tail.given_up = True
                self._due[tail] = True
            else:
                self._scan_soon()

    def _forget_root(self) -> None:
        """The root is gone or is another folder, so nothing that was known about it is still valid."""
        for tail in self._table.forget_paths():
            tail.missed_scans = _MAX_MISSED_SCANS
        self._judge_by_age = True

    async def _list_old_files(self, old_files: Collection[str]) -> tuple[TailedFile, ...]:
        """List the files that are no longer being written. The others are left to be opened."""
        listed: list[TailedFile] = []
        await self._in_slices(self._table.list_arrivals(old_files, listed))
        for arrival in self._table.arrivals.values():
            arrival.existed = arrival.at_start = self._first_scan
        return tuple(listed)

    async def _examine_paths(self) -> None:
        paths = frozenset(self._to_examine)
        root = self._root
        version = self._table.next_version()
        findings = await self._run(lambda: examine_all(paths, root))
        others = self._table.other_paths(findings)
        if others:
            findings |= await self._run(lambda: examine_all(others, root))
        self._to_examine -= paths
        self._refuse(self._table.reconcile(findings, version))
        for path in paths:
            tail = self._table.active.get(path)
            if tail is not None:  # renamed to this path, and perhaps written to since
                self._due.setdefault(tail, False)
        for tail in self._table.displaced():
            self._due[tail] = True
            if not tail.missed_scans:
                self._scan_soon()

    async def _check_folders(self) -> None:
        folders = self._folders
        changed = await self._run(lambda: folders_changed(folders))
        self._next_folders = self._now + _FOLDERS_SECONDS
        if changed:
            self._scan_soon()

    async def _in_slices(self, steps: Iterator[None]) -> None:
        """Do all steps, and let other tasks run from time to time."""
        for count, _ in enumerate(steps):
            if count % _FINDINGS_AT_ONCE == _FINDINGS_AT_ONCE - 1:
                await self._threads.give_way()

    # Which listed files have changed in place: comparisons, one at a time.

    def _take_touched(self) -> None:
        never_read: list[TailedFile] = []
        for file in self._table.touched:
            entry = self._table.entry_of(file)
            if entry is not None and entry.delivered is None:
                never_read.append(file)
            elif entry is not None:
                # A damaged file can change sixty times a second, so it is not compared with every change.
                self._touched.add(file)
                self._compare_at.setdefault(file, self._now)
        self._table.touched.clear()
        if never_read:
            self._events.append(Touched(tuple(never_read)))

    def _compare_next(self) -> None:
        file = min(self._compare_at, key=self._compare_at.__getitem__)
        if self._compare_at[file] > self._now:
            return
        del self._compare_at[file]
        touched = file in self._touched
        self._touched.discard(file)
        entry = self._table.entry_of(file)
        if entry is None or entry.delivered is None:
            return
        if touched:
            self._compare_at[file] = self._now + COARSE_SECONDS
        root, path, delivered, rewritable_bytes = self._root, str(file.path), entry.delivered, self._rewritable_bytes

        def compare() -> Change:
            return change_of(path, os.path.realpath(root), rewritable_bytes, delivered)

        self._comparing = trio.Event()
        if not self._threads.start(compare, lambda outcome: self._compared(file, outcome)):
            self._comparing = None
            self._compare_at[file] = self._now + COARSE_SECONDS

    def _compared(self, file: TailedFile, outcome: Outcome[Change]) -> None:
        self._comparison = file, outcome
        if self._comparing is not None:
            self._comparing.set()
            self._comparing = None
        self._notifications.wake()

    def _refuse(self, refusals: dict[str, Refusal]) -> None:
        for path, refusal in refusals.items():
            if self._table.refuse(path, refusal):
                self._events.append(Refused(Path(path), Unreadable(path, refusal.reason)))

    async def _open_arrivals(self) -> None:
        table = self._table
        unread = [tail for tail in table.open if tail.has_unread_bytes]
        finished = sum(tail.file.arrived_whole for tail in unread)
        room = _MAX_OPENING - finished
        arrivals = self._arrivals_to_open(room, crowded=len(unread) - finished >= _MAX_UNFINISHED)
        if not arrivals:
            return
        root, rewritable_bytes, is_finished = self._root, self._rewritable_bytes, self._is_finished

        def open_all() -> list[FileTail | Refusal | None]:
            real_root = os.path.realpath(root)
            return [open_arrival(arrival, real_root, rewritable_bytes, is_finished) for arrival in arrivals]

        for arrival, result in zip(arrivals, await self._run(open_all), strict=True):
            if isinstance(result, FileTail) and result.file.arrived_whole:
                room -= 1
                if room < 0:
                    result.close()
                    arrival.finished = True
                    continue
            if table.arrivals.get(arrival.path) is arrival:
                del table.arrivals[arrival.path]
            if isinstance(result, Refusal):
                self._refuse({arrival.path: result})
            elif result is not None and self._is_worth_opening(arrival, result):
                self._begin(arrival, result)
            elif result is not None:
                result.close()

    def _arrivals_to_open(self, room: int, *, crowded: bool) -> list[Arrival]:
        """The files to open next. Those that are known to be finished come last, and only if there is room."""
        found = [arrival for arrival in self._table.arrivals.values() if not arrival.finished]
        if crowded:
            found = [arrival for arrival in found if arrival.stat.size_bytes <= self._read_bytes]
        if found or room <= 0:
            return found[:_MAX_OPENING]
        return [arrival for arrival in islice(self._table.arrivals.values(), room) if arrival.finished]

    def _is_worth_opening(self, arrival: Arrival, tail: FileTail) -> bool:
        """False for a new file without bytes, which does not show yet whether it is a game or a copy of one.

        A thousand copied files would all be opened empty, and stay open until their turn came. The notification about
        the first bytes brings the file back.
        """
        if self._is_finished is None or not self._notifications.report_first_bytes:
            return True
        return arrival.existed or arrival.at_start or tail.file.size_bytes > 0

    def _begin(self, arrival: Arrival, tail: FileTail) -> None:
        if self._closed or not self._table.activate(tail):
            tail.close()
            return
        self._notifications.follow(tail)
        tail.at_start = arrival.at_start
        self._events.append(Opened(tail.file, arrival.existed, arrival.changed))
        if not arrival.at_start and not tail.file.arrived_whole:
            older = {other for other in self._table.open if other is not tail and not other.file.arrived_whole}
            if older:
                self._waiting_for[tail] = (self._bytes_read + _MAX_WAIT_CHUNKS * self._read_bytes, older)
                self._due |= dict.fromkeys(older, True)
        self._due[tail] = True

    # Reading.

    async def _read_due(self) -> None:
        """Read the files that are due, in turn, until about one chunk has been read.

        Files for which one read is likely to be enough come first, as it is for a growing game. Files that arrived
        whole come last, one at a time.
        """
        if self._waiting_for:
            self._end_long_waits()
        ready = [tail for tail in self._due if tail not in self._waiting_for]
        growing = [tail for tail in ready if not tail.file.arrived_whole]
        growing.sort(key=self._needs_many_reads)
        budget = await self._read_in_turn(growing, self._read_bytes, self._read_bytes)
        whole = next((tail for tail in ready if tail.file.arrived_whole and tail in self._due), None)
        if whole is not None and budget > 0 and self._now >= self._next_part:
            self._part_read_at = self._now
            part = max(1, self._read_bytes // _PARTS_OF_CHUNK)
            await self._read_in_turn([whole], part, part)

    def _needs_many_reads(self, tail: FileTail) -> bool:
        return tail.has_unread_bytes and (tail.offset > 0 or tail.file.size_bytes > self._read_bytes)

    async def _read_in_turn(self, tails: Sequence[FileTail], budget: int, limit: int) -> int:
        """Read at most `limit` bytes of each file until `budget` is used up, and return what is left of it."""
        blocking: list[FileTail] = []
        for tail in tails:
            if budget <= 0:
                return 0
            if tail not in self._due or tail not in self._table.open:
                continue  # lost or replaced in the meantime
            if tail.nowait and not self._due[tail] and tail.is_unchanged(self._now):
                del self._due[tail]
                continue
            result = tail.read_nowait(self._chunk[:limit], self._head) if tail.nowait else None
            if result is None:
                blocking.append(tail)
            else:
                budget -= len(result.data)
                self._apply(tail, result)
        if blocking and budget > 0:
            budget -= await self._read_in_thread(blocking, budget, limit)
        return budget

    async def _read_in_thread(self, tails: list[FileTail], budget: int, limit: int) -> int:
        """Read files as `_read_in_turn` does, in a thread. Returns the number of bytes read."""
        now, due = self._now, self._due

        def read_all() -> list[ReadResult | OSError | None]:
            left = budget
            results: list[ReadResult | OSError | None] = []
            for tail in tails:
                if left <= 0:
                    break
                if not due.get(tail) and tail.is_unchanged(now):
                    results.append(None)
                    continue
                try:
                    result = tail.read(limit)
                except OSError as error:
                    results.append(error)
                else:
                    left -= len(result.data)
                    results.append(result)
            return results

        results = await self._run(read_all)
        count = 0
        for tail, result in zip(tails, results, strict=False):
            if tail not in self._table.open:
                continue  # released in the meantime
            if isinstance(result, OSError):
                self._lose(tail, source_error_of(result, tail.path))
            elif result is not None:
                count += len(result.data)
                self._apply(tail, result)
            else:
                self._due.pop(tail, None)
        return count

    def _apply(self, tail: FileTail, result: ReadResult) -> None:
        self._bytes_read += len(result.data)
        if not tail.file.arrived_whole:
            self._due.pop(tail, None)  # the next turn is another file's
        try:
            events = tail.apply(result, self._now)
        except SourceError as error:
            self._lose(tail, error)
            return
        self._events.extend(events)
        if tail.has_unread_bytes:
            self._due[tail] = True
            if self._waiting_for and tail.file.arrived_whole:
                self._stop_waiting_for(tail)
            return
        self._due.pop(tail, None)
        tail.at_start = False
        if self._waiting_for:
            self._stop_waiting_for(tail)
        if tail.given_up or tail.is_unlinked(result.status):
            if self._table.active.get(tail.path) is tail:
                self._to_examine.add(tail.path)  # the file is lost once it is known what has its path now
            elif self._table.is_taken(tail.path):
                self._lose(tail, Replaced(tail.path, "another file has taken its name"))
            else:
                self._lose(tail, Vanished(tail.path, "it was deleted or moved away"))

    def _stop_waiting_for(self, older: FileTail) -> None:
        """An older file was read to its end or is no longer followed: newer files need not wait for it."""
        for tail, (_, waiting_for) in list(self._waiting_for.items()):
            waiting_for.discard(older)
            if not waiting_for:
                del self._waiting_for[tail]

    def _end_long_waits(self) -> None:
        for tail, (limit, _) in list(self._waiting_for.items()):
            if limit <= self._bytes_read:
                del self._waiting_for[tail]

    def _lose(self, tail: FileTail, error: SourceError) -> None:
        if self._table.active.get(tail.path) is tail and not isinstance(error, Unreadable):
            # The file that has this path now is read at once. After a read error it waits for the next scan instead,
            # since the error is likely to happen again.
            self._to_examine.add(tail.path)
        self._drop(tail)
        self._events.append(Lost(tail.file, error))

    def _drop(self, tail: FileTail) -> None:
        self._notifications.unfollow(tail)
        self._table.deactivate(tail)
        self._due.pop(tail, None)
        self._waiting_for.pop(tail, None)
        self._stop_waiting_for(tail)
        if self._in_thread:
            self._closing.append(tail)  # a thread may be reading from it right now
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
