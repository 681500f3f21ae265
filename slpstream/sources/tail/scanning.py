"""Keep the file table up to date, by scanning the whole tree and by examining single paths.

Scans run in a thread. They are done at regular intervals, and also when folders come and go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple, TypeAlias

from slpstream.sources.tail.age import FirstLook, files_at_rest
from slpstream.sources.tail.background_call import BackgroundCall
from slpstream.sources.tail.events import Scanned, TailedFile, TailEvent
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.identity import FileIdentity
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.scan import KnownFiles, Refusal, ScanResult, examine_all, folders_changed, scan_tree
from slpstream.sources.tail.schedule import ReadSchedule
from slpstream.sources.tail.shared_thread import SharedThread
from slpstream.sources.tail.tailer import MAX_MISSED_SCANS
from slpstream.sources.tail.threads import Threads
from slpstream.system.stagger import phase_of

# Scans on request (when folders come and go) are this many times their own duration apart.
_SCAN_GAP: Final = 4
# Interval of the search for a missing folder, which costs one stat. A scan that finds no thread is retried as often.
MISSING_SECONDS: Final = 1.0
# Without notifications, the modification times of the folders reveal new names long before the next scan.
_FOLDERS_SECONDS: Final = 1.0
# Scans begin at multiples of this share of their interval, so that those of many roots share their wakeups.
_SCAN_STEP: Final = 0.1
# After this many findings other tasks run: twenty thousand would block the event loop for a fifth of a second.
_FINDINGS_PER_SLICE: Final = 200

Scan: TypeAlias = tuple[ScanResult, frozenset[str]]
"""The differences from the known files, and the paths of those that are no longer being written."""


class TreeScanner(NamedTuple):
    """The part of a scan of one root that blocks."""

    root: str
    suffixes: tuple[str, ...]
    idle_seconds: float
    first_look: FirstLook | None
    wall_clock: Callable[[], float]
    notifications: Notifications

    def scan(self, known: KnownFiles, *, judge_by_age: bool) -> Scan:
        """Scan the tree and watch the folders in it.

        If you ask for it, also find the files that are no longer being written.
        """
        connection = self.notifications.connection
        if connection is None:
            result = scan_tree(self.root, self.suffixes, known)
        else:
            connection.watch_root()  # before the scan, so that no name is missed in between
            result = scan_tree(self.root, self.suffixes, known, connection.watch_folder)
            if self.notifications.connection is connection:  # the watcher has not ended in the meantime
                connection.keep_folders(result.folders.keys())
        if not judge_by_age:
            return result, frozenset()
        return result, files_at_rest(result.findings, self.wall_clock(), self.idle_seconds, self.first_look)


class ScanTimes:
    """Knows when it is time to scan the tree, or to check the modification times of the folders."""

    def __init__(self, root: str, scan_seconds: float) -> None:
        self.next_scan = 0.0
        self.next_check = 0.0
        self._root = root
        self._scan_seconds = scan_seconds
        self._began_at = 0.0
        self._allowed_at = 0.0
        """Earliest time of a scan on request."""
        self._has_scanned = False

    def begin(self, now: float) -> None:
        """Note that a scan begins, and schedule the next one."""
        # The second scan comes sooner, by a different amount for each root. Fifty roots that start together would
        # otherwise always be scanned together.
        share = 1.0 if self._has_scanned else (1 + phase_of(self._root)) / 2
        step_seconds = self._scan_seconds * _SCAN_STEP
        self.next_scan = math.floor((now + self._scan_seconds * share) / step_seconds) * step_seconds
        self._began_at = now

    def end(self, now: float) -> None:
        """Note that a scan has ended, and limit how soon the next one can begin if someone asks for it."""
        self._has_scanned = True
        self._allowed_at = now + _SCAN_GAP * (now - self._began_at)

    def scan_soon(self, now: float) -> None:
        """Ask for a scan.

        It happens as soon as possible, but if the last scan took a long time, we have to wait a bit.
        """
        self.next_scan = min(self.next_scan, max(now, self._allowed_at))

    def retry(self, now: float) -> None:
        """Scan again after at most `MISSING_SECONDS`."""
        self.next_scan = min(self.next_scan, now + MISSING_SECONDS)

    def end_check(self, now: float) -> None:
        """Note that the folders were checked, and schedule the next check."""
        self.next_check = now + _FOLDERS_SECONDS

    def while_scanning(self, now: float) -> float:
        """Return the deadline to use while a scan is running.

        It can be far away, because the scan itself wakes the iteration.
        """
        return now + self._scan_seconds


class Scans:
    """Applies scans and examinations to the file table, and keeps track of the state of the root."""

    def __init__(
        self,
        tree: TreeScanner,
        table: FileTable,
        schedule: ReadSchedule,
        threads: Threads,
        times: ScanTimes,
        call: BackgroundCall[Scan],
    ) -> None:
        self.searched = False
        """Whether the first scan is over."""
        self._tree = tree
        self._table = table
        self._schedule = schedule
        self._threads = threads
        self._times = times
        self.call = call
        """The scan in a thread. `apply` takes its result."""
        self._version = 0
        self._root_identity: FileIdentity | None = None
        self._root_error: Refusal | None = None
        self._folders: dict[str, int] = {}
        self._judge_by_age = True
        """Whether the next scan lists the files that are no longer being written: it is the first to see the root."""

    @property
    def root_present(self) -> bool:
        """Whether the folder was there during the last scan."""
        return self._root_identity is not None

    @property
    def root_trouble(self) -> str | None:
        """The reason why we can't follow the folder right now. It might be missing, or the last scan might have failed.

        This is `None` if everything is fine.
        """
        if self._root_identity is None:
            return "the folder is missing"
        return None if self._root_error is None else f"the folder cannot be read: {self._root_error.reason}"

    @property
    def has_paths_to_examine(self) -> bool:
        """Whether `examine` has any work to do. Before the first scan, it doesn't, since the scan covers all paths."""
        return self.searched and bool(self._table.doubtful)

    def deadline(self, now: float) -> float:
        """Return the time when the next scan, or the next check of the folders, is due."""
        if self.call.is_running:
            return self._times.while_scanning(now)
        is_polling = self._tree.notifications.degraded is not None
        check_at = self._times.next_check if is_polling and self._folders else math.inf
        return min(self._times.next_scan, check_at)

    def scan_soon(self, now: float) -> None:
        """Ask for a scan.

        It happens as soon as possible, but if the last scan took a long time, we have to wait a bit.
        """
        self._times.scan_soon(now)

    def start(self, now: float, thread: SharedThread | None = None) -> bool:
        """Start a scan if it is due, unless one is already running. Returns whether one was started.

        Pass `thread` if the scan isn't urgent, and shares it with others.
        """
        if now < self._times.next_scan or self.call.is_running or self.call.has_outcome:
            return False
        self._times.begin(now)
        self._version = self._table.next_version()
        tree, known, judge_by_age = self._tree, self._table.known_files(), self._judge_by_age
        if self.call.start(lambda: tree.scan(known, judge_by_age=judge_by_age), thread):
            return True
        self._times.next_scan = now + MISSING_SECONDS
        return False

    async def apply(self, now: float) -> list[TailEvent]:
        """Apply the scan that has ended to the table, and return its `Scanned` and `Refused` events."""
        scan, old_files = self.call.take()
        self._times.end(now)
        moved = self._root_identity is not None and scan.root != self._root_identity and scan.root_error is None
        if moved:
            self._forget_root()
        self._root_error = scan.root_error
        if scan.root_error is None:
            self._root_identity = scan.root
            self._folders = scan.folders
        if scan.root is None:
            self._times.retry(now)
        elif moved:
            self.scan_soon(now)  # this scan was compared with files that are forgotten now
        refusals: dict[str, Refusal] = {}
        await self._in_slices(self._table.reconciling({} if moved else scan.findings, self._version, refusals))
        listed: tuple[TailedFile, ...] = ()
        if scan.root is not None and not moved and self._judge_by_age:
            self._judge_by_age = False
            listed = await self._list_old_files(old_files)
        events: list[TailEvent] = []
        if not self.searched or listed:
            events.append(Scanned(listed))
        self.searched = True
        events += self._table.refuse(refusals)
        if scan.root_error is None:
            self._count_missed_scan(now)
        return events

    def apply_unchanged(self, now: float) -> bool:
        """If the scan that has ended found no news, apply it. Returns whether this was the case.

        This isn't asynchronous and has no events, so the iteration doesn't have to be woken for it.
        """
        ended = self.call.result
        if ended is None or self._judge_by_age or not self.searched:
            return False
        scan, _ = ended
        is_same = (
            scan.root is not None and scan.root == self._root_identity and self._root_error is scan.root_error is None
        )
        if not is_same or scan.findings or self._table.displaced():
            return False
        self.call.take()
        self._times.end(now)
        self._folders = scan.folders
        return True

    async def examine(self, now: float) -> list[TailEvent]:
        """Examine the doubtful paths and apply the findings to the table. Returns `Refused` events."""
        paths = frozenset(self._table.doubtful)
        root = self._tree.root
        version = self._table.next_version()
        findings = await self._threads.run(lambda: examine_all(paths, root))
        others = self._table.other_paths(findings)
        if others:
            findings |= await self._threads.run(lambda: examine_all(others, root))
        self._table.doubtful -= paths
        events = self._table.refuse(self._table.reconcile(findings, version))
        for path in paths:
            tail = self._table.active.get(path)
            if tail is not None:  # renamed to this path, and perhaps written to since
                self._schedule.check_soon(tail)
        for tail in self._table.displaced():
            self._schedule.read_soon(tail)
            if not tail.missed_scans:
                self.scan_soon(now)
        return list(events)

    async def check_folders(self, now: float) -> None:
        """Once a second, check the modification times of the folders. If one has changed, ask for a scan."""
        if now < self._times.next_check or self.call.is_running:
            return
        folders = self._folders
        changed = await self._threads.run(lambda: folders_changed(folders))
        self._times.end_check(now)
        if changed:
            self.scan_soon(now)

    def _count_missed_scan(self, now: float) -> None:
        for tail in self._table.displaced():
            tail.missed_scans += 1
            if tail.given_up:
                self._schedule.read_soon(tail)
            else:
                self.scan_soon(now)

    def _forget_root(self) -> None:
        """Forget everything about the root, because it is gone or has become a different folder."""
        for tail in self._table.forget_paths():
            tail.missed_scans = MAX_MISSED_SCANS
        self._judge_by_age = True

    async def _list_old_files(self, old_files: Collection[str]) -> tuple[TailedFile, ...]:
        """List the files that are no longer being written. All other files are left, so that they get opened."""
        listed: list[TailedFile] = []
        await self._in_slices(self._table.list_arrivals(old_files, listed))
        for arrival in self._table.arrivals.values():
            arrival.existed = arrival.at_start = not self.searched
        return tuple(listed)

    async def _in_slices(self, steps: Iterator[None]) -> None:
        """Do all steps, but let other tasks run from time to time."""
        for count, _ in enumerate(steps):
            if count % _FINDINGS_PER_SLICE == _FINDINGS_PER_SLICE - 1:
                await self._threads.give_way()
