"""A table that keeps track of the files below one root, and remembers which path holds which file.

The table doesn't do any I/O itself. You put in the findings of scans, and get out `arrivals`, which are the files that
you should open.

A path is either listed (we know about it, but it's not open), active (it's open), refused, or unknown. You can also
look up files by their identity, which is how we recognise a rename: if the path of an open file suddenly holds another
file, or nothing, then the file is *displaced* until we find its identity under another path.

A scan takes a while, and since reading continues in the meantime, its findings might be out of date when they arrive.
We handle this by stamping every change with the number of the newest scan. A finding never overrides an entry that was
stamped after its own scan began.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from slpstream.model.errors import Unreadable
from slpstream.sources.tail.arrival import Arrival
from slpstream.sources.tail.events import Refused, TailedFile
from slpstream.sources.tail.identity import Delivered, Key, key_of
from slpstream.sources.tail.scan import FileStat, Finding, KnownFiles, Refusal
from slpstream.sources.tail.tailer import FileTail


class ListedFile:
    """A file that we know about, but that isn't open.

    `delivered` describes the bytes that were delivered before its release. If the file was never read, it is `None`.
    """

    __slots__ = ("delivered", "exhausted", "file", "stat", "version")

    def __init__(self, file: TailedFile, delivered: Delivered | None, version: int, *, exhausted: bool) -> None:
        self.file = file
        self.delivered = delivered
        self.exhausted = exhausted
        """Whether growth alone is ignored, so that the file is not opened again."""
        self.stat = FileStat(file.identity, file.size_bytes, file.mtime_ns)
        self.version = version


class FileTable:
    """All files below one root that we know about. You can look them up by path and by identity."""

    def __init__(self) -> None:
        self.closed = False
        """No file can be opened any more."""
        self.version = 0
        self.listed: dict[str, ListedFile] = {}
        self.active: dict[str, FileTail] = {}
        """Open files by path, without the displaced ones."""
        self.open: dict[FileTail, int] = {}
        """All open files in the order in which they were opened, each with the version that last confirmed its path."""
        self.arrivals: dict[str, Arrival] = {}
        """Files to open. The oldest of those that were found together comes first."""
        self.touched: dict[TailedFile, None] = {}
        """Listed files whose status has changed, and perhaps their bytes."""
        self.doubtful: set[str] = set()
        """Paths to examine: of files that are not open and were reported, or that are open and may be gone."""
        self._refused: dict[str, set[str]] = {}
        self._open_by_key: dict[Key, FileTail] = {}
        self._listed_by_key: dict[Key, str] = {}
        self._listed_files: tuple[TailedFile, ...] | None = ()

    @property
    def listed_files(self) -> tuple[TailedFile, ...]:
        """The listed files. As long as none of them has changed, this is always the same tuple."""
        if self._listed_files is None:
            self._listed_files = tuple([entry.file for entry in self.listed.values()])
        return self._listed_files

    def next_version(self) -> int:
        """Begin a scan and return its number. All changes from now on count as newer than its findings."""
        self.version += 1
        return self.version

    def known_files(self) -> KnownFiles:
        """Return the files that a scan should compare with. We copy them, because the scan runs in a thread."""
        active = {path: tail.file.identity for path, tail in self.active.items()}
        return KnownFiles(self.listed.copy(), active, frozenset(self._refused))

    def other_paths(self, findings: Mapping[str, Finding]) -> list[str]:
        """Return other paths under which we know the files in `findings`.

        You have to examine these too. Otherwise, you couldn't tell a rename from a second link to the same file.
        """
        others: list[str] = []
        for path, finding in findings.items():
            if isinstance(finding, FileStat):
                key = key_of(finding.identity, path)
                tail = self._open_by_key.get(key)
                other = tail.path if tail is not None else self._listed_by_key.get(key, path)
                if other != path and other not in findings:
                    others.append(other)
        return others

    def knows(self, file: TailedFile) -> bool:
        """Whether a file is open or listed."""
        key = key_of(file.identity, str(file.path))
        return key in self._open_by_key or key in self._listed_by_key

    def list_file(self, file: TailedFile, delivered: Delivered | None, *, exhausted: bool = False) -> None:
        """Add a file to the listed ones."""
        path = str(file.path)
        self._listed_files = None
        self.listed[path] = ListedFile(file, delivered, self.version, exhausted=exhausted)
        self._listed_by_key[key_of(file.identity, path)] = path

    def unlist(self, path: str) -> ListedFile | None:
        """Remove a file from the listed ones, and return its entry."""
        entry = self.listed.pop(path, None)
        if entry is not None:
            self._listed_files = None
            key = key_of(entry.file.identity, path)
            if self._listed_by_key.get(key) == path:
                del self._listed_by_key[key]
        return entry

    def activate(self, tail: FileTail) -> bool:
        """Add a file that you have just opened.

        Returns False if the file is already open (maybe under another path), or if the table was closed. You should
        then close the file again.
        """
        key = key_of(tail.file.identity, tail.path)
        if self.closed or key in self._open_by_key or tail.path in self.active:
            return False
        self.unlist(tail.path)
        self._refused.pop(tail.path, None)
        self.active[tail.path] = tail
        self.open[tail] = self.version
        self._open_by_key[key] = tail
        return True

    def deactivate(self, tail: FileTail) -> None:
        """Remove an open file."""
        self.open.pop(tail, None)
        if self.active.get(tail.path) is tail:
            del self.active[tail.path]
        self._forget_key(tail)

    def entry_of(self, file: TailedFile) -> ListedFile | None:
        """Return the entry of the given file if it is listed, and otherwise `None`."""
        entry = self.listed.get(str(file.path))
        return entry if entry is not None and entry.file is file else None

    def reopen(self, file: TailedFile, *, changed: bool = False) -> None:
        """Arrange for a listed file to be opened again.

        If you know that its bytes have changed, pass `changed=True`.
        """
        entry = self.entry_of(file)
        if entry is not None:
            self._add_arrival(Arrival(str(file.path), entry.stat, existed=True, changed=changed))

    def list_arrivals(self, paths: Collection[str], listed: list[TailedFile]) -> Iterator[None]:
        """List the arrivals at these paths, and add them to `listed`. All other arrivals stay.

        This returns an iterator that handles one file in each step, so that you can spread the work.
        """
        for arrival in list(self.arrivals.values()):
            if arrival.path in paths:
                del self.arrivals[arrival.path]
                file = TailedFile(Path(arrival.path), *arrival.stat)
                self.list_file(file, None)
                listed.append(file)
            yield

    def has_unread_start(self) -> bool:
        """Whether there's a file that was in progress at the start, and that we have not read to its end yet."""
        return any(arrival.at_start for arrival in self.arrivals.values()) or any(tail.at_start for tail in self.open)

    def forget_paths(self) -> list[FileTail]:
        """Forget which file is at which path. Returns the open files, which are all displaced now."""
        for path in list(self.listed):
            self.unlist(path)
        self.arrivals.clear()
        self.active.clear()
        return list(self.open)

    def refuse(self, refusals: Mapping[str, Refusal]) -> list[Refused]:
        """Note that some paths can't be read. If a reason is new for its path, you get an event for it."""
        events: list[Refused] = []
        for path, refusal in refusals.items():
            reasons = self._refused.setdefault(path, set())
            if refusal.reason not in reasons:
                reasons.add(refusal.reason)
                events.append(Refused(Path(path), Unreadable(path, refusal.reason)))
        return events

    def is_taken(self, path: str) -> bool:
        """Whether, as far as we know, there's something at the given path."""
        return path in self.active or path in self.listed or path in self.arrivals or path in self._refused

    def displaced(self) -> list[FileTail]:
        """Return the open files that aren't found under their paths any more."""
        if len(self.open) == len(self.active):
            return []
        return [tail for tail in self.open if self.active.get(tail.path) is not tail]

    def reconcile(self, findings: Mapping[str, Finding], as_of: int) -> dict[str, Refusal]:
        """Apply the findings of the scan with number `as_of`. This fills `arrivals` and moves files that were renamed.

        Returns the paths that can't be read.
        """
        refusals: dict[str, Refusal] = {}
        for _ in self.reconciling(findings, as_of, refusals):
            pass
        return refusals

    def reconciling(self, findings: Mapping[str, Finding], as_of: int, refusals: dict[str, Refusal]) -> Iterator[None]:
        """Like `reconcile`, but divided into many small steps. Paths that can't be read are added to `refusals`."""
        unlisted: dict[Key, ListedFile] = {}
        for path, finding in findings.items():
            yield
            if self._version_of(path) >= as_of:
                continue
            tail = self.active.get(path)
            if tail is not None and not _holds(finding, tail.file, path):
                del self.active[path]
                if not tail.file.identity.inode:
                    self._forget_key(tail)  # without an inode, its path was all that identified it
            entry = self.listed.get(path)
            if entry is not None and not _holds(finding, entry.file, path):
                self.unlist(path)
                unlisted[key_of(entry.file.identity, path)] = entry
        for path, finding in findings.items():
            yield
            if self._version_of(path) >= as_of:
                continue
            if isinstance(finding, FileStat):
                self._reconcile_file(path, finding, unlisted)
            elif finding is None:
                self.arrivals.pop(path, None)
                self._refused.pop(path, None)
            else:
                self.arrivals.pop(path, None)
                refusals[path] = finding

    def _reconcile_file(self, path: str, stat: FileStat, unlisted: dict[Key, ListedFile]) -> None:
        key = key_of(stat.identity, path)
        tail = self._open_by_key.get(key)
        if tail is not None:
            if tail.path == path or self.active.get(tail.path) is not tail:
                tail.move(path)
                self.open[tail] = self.version
                self.active[path] = tail
            return  # otherwise `path` is a second link to an open file
        entry = self.listed.get(path)
        if entry is not None:
            self._reconcile_listed(entry, path, stat)
        elif key in unlisted and unlisted[key].stat == stat:
            moved = unlisted[key]
            moved.file.path = Path(path)
            self.list_file(moved.file, moved.delivered, exhausted=moved.exhausted)
        elif self._listed_by_key.get(key, path) == path:
            self._add_arrival(Arrival(path, stat, existed=False))

    def _reconcile_listed(self, entry: ListedFile, path: str, stat: FileStat) -> None:
        size_bytes = entry.file.size_bytes
        if stat.size_bytes < size_bytes or (stat.size_bytes > size_bytes and not entry.exhausted):
            changed = entry.delivered is not None and stat.size_bytes < entry.delivered.size_bytes
            self._add_arrival(Arrival(path, stat, existed=True, changed=changed))
        elif (stat.size_bytes, stat.mtime_ns) != (size_bytes, entry.file.mtime_ns):
            entry.stat = stat
            entry.file.size_bytes, entry.file.mtime_ns = stat.size_bytes, stat.mtime_ns
            self._listed_files = None
            self.touched[entry.file] = None

    def _forget_key(self, tail: FileTail) -> None:
        key = key_of(tail.file.identity, tail.path)
        if self._open_by_key.get(key) is tail:
            del self._open_by_key[key]

    def _add_arrival(self, arrival: Arrival) -> None:
        arrival.version = self.version
        self.arrivals.setdefault(arrival.path, arrival)

    def _version_of(self, path: str) -> int:
        versions = [holder.version for holder in (self.listed.get(path), self.arrivals.get(path)) if holder is not None]
        tail = self.active.get(path)
        if tail is not None:
            versions.append(self.open[tail])
        return max(versions, default=-1)


def _holds(finding: Finding, file: TailedFile, path: str) -> bool:
    return isinstance(finding, FileStat) and key_of(finding.identity, path) == key_of(file.identity, path)
