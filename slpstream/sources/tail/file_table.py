"""Which name holds which file. No input or output here: findings of scans go in, what has to be done about them comes
out.

A name is listed (known, not open), active (open), refused, or unknown. Files are also found by identity, and that is
what makes a rename a rename: an active file whose name now holds another file, or none, is *displaced* until its
identity turns up elsewhere.

Findings can be old when they arrive, because a scan runs beside the reading. Everything that changes here is
therefore stamped with the number of the newest scan, and a finding never overrules what was stamped after its scan
began.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slpstream.sources.tail.arrival import Arrival
from slpstream.sources.tail.events import TailedFile
from slpstream.sources.tail.identity import Key, key_of
from slpstream.sources.tail.scan import Finding, Known, Refusal, Sight
from slpstream.sources.tail.tailer import FileTail


class Listed:
    """A file that is known and not open. `header`: its first bytes when it was released, `None` if they were never
    read."""

    __slots__ = ("file", "header", "sight", "version")

    def __init__(self, file: TailedFile, header: bytes | None, version: int) -> None:
        self.file = file
        self.header = header
        self.sight = Sight(file.identity, file.size_bytes, file.mtime_ns)
        self.version = version


class FileTable:
    """All names below one root."""

    def __init__(self) -> None:
        self.version = 0
        self.listed: dict[str, Listed] = {}
        self.active: dict[str, FileTail] = {}
        """Open files by name; those that are displaced are not in it."""
        self.open: dict[FileTail, None] = {}
        """All open files, in the order in which they were opened."""
        self.arrivals: dict[str, Arrival] = {}
        self._refused: dict[str, set[str]] = {}
        self._open_by_key: dict[Key, FileTail] = {}
        self._listed_by_key: dict[Key, str] = {}

    def next_version(self) -> int:
        """A scan begins: what changes from now on is newer than what it will find."""
        self.version += 1
        return self.version

    def known(self) -> Known:
        """What a scan has to compare with: copies, since the scan runs in a thread."""
        active = {path: tail.file.identity for path, tail in self.active.items()}
        return Known(self.listed.copy(), active, frozenset(self._refused))

    def other_names(self, findings: Mapping[str, Finding]) -> list[str]:
        """Names that must be looked at too, before findings of single names can tell a rename from a second link."""
        others: list[str] = []
        for path, finding in findings.items():
            if isinstance(finding, Sight):
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

    def list_file(self, file: TailedFile, header: bytes | None) -> None:
        """A file is known from now on, and not open."""
        path = str(file.path)
        self.listed[path] = Listed(file, header, self.version)
        self._listed_by_key[key_of(file.identity, path)] = path

    def unlist(self, path: str) -> Listed | None:
        """Forget a listed file."""
        entry = self.listed.pop(path, None)
        if entry is not None:
            key = key_of(entry.file.identity, path)
            if self._listed_by_key.get(key) == path:
                del self._listed_by_key[key]
        return entry

    def activate(self, tail: FileTail) -> bool:
        """A file has been opened. False if it is followed already, under this name or another."""
        key = key_of(tail.file.identity, tail.path)
        if key in self._open_by_key or tail.path in self.active:
            return False
        self.unlist(tail.path)
        self._refused.pop(tail.path, None)
        tail.version = self.version
        self.active[tail.path] = tail
        self.open[tail] = None
        self._open_by_key[key] = tail
        return True

    def deactivate(self, tail: FileTail) -> None:
        """A file is no longer followed."""
        self.open.pop(tail, None)
        if self.active.get(tail.path) is tail:
            del self.active[tail.path]
        self._forget_key(tail)

    def doubt(self, file: TailedFile) -> None:
        """A released file may have another header than when it was released, whatever its status says."""
        path = str(file.path)
        entry = self.listed.get(path)
        if entry is not None and entry.file is file:
            self._arrive(Arrival(path, entry.sight, existed=True, header=entry.header))

    def list_older(self, mtime_ns: float) -> tuple[TailedFile, ...]:
        """List what has arrived and was last written before a time; the rest is left, oldest first."""
        arrivals = sorted(self.arrivals.values(), key=lambda arrival: (arrival.sight.mtime_ns, arrival.path))
        self.arrivals.clear()
        listed: list[TailedFile] = []
        for arrival in arrivals:
            if arrival.sight.mtime_ns < mtime_ns:
                file = TailedFile(Path(arrival.path), *arrival.sight)
                self.list_file(file, None)
                listed.append(file)
            else:
                self.arrivals[arrival.path] = arrival
        return tuple(listed)

    def has_unread_start(self) -> bool:
        """Whether a file that was in progress at the start has not been read to its end yet."""
        return any(arrival.at_start for arrival in self.arrivals.values()) or any(tail.at_start for tail in self.open)

    def forget(self) -> list[FileTail]:
        """Nothing has the name any more that it had. Returns the open files, all displaced now."""
        for path in list(self.listed):
            self.unlist(path)
        self.arrivals.clear()
        self.active.clear()
        return list(self.open)

    def refuse(self, path: str, refusal: Refusal) -> bool:
        """A name cannot be opened. True if that is news."""
        reasons = self._refused.setdefault(path, set())
        if refusal.what in reasons:
            return False
        reasons.add(refusal.what)
        return True

    def is_taken(self, path: str) -> bool:
        """Whether a name holds something, as far as we know."""
        return path in self.active or path in self.listed or path in self.arrivals or path in self._refused

    def displaced(self) -> list[FileTail]:
        """Open files that are no longer found under their names."""
        if len(self.open) == len(self.active):
            return []
        return [tail for tail in self.open if self.active.get(tail.path) is not tail]

    def reconcile(self, findings: Mapping[str, Finding], as_of: int) -> dict[str, Refusal]:
        """Take in what was found. Fills `arrivals`, moves what was renamed, and returns the names that are no files
        of ours."""
        current = {path: finding for path, finding in findings.items() if self._version_of(path) < as_of}
        loose: dict[Key, Listed] = {}
        for path, finding in current.items():
            tail = self.active.get(path)
            if tail is not None and not _holds(finding, tail.file, path):
                del self.active[path]
                if not tail.file.identity.inode:
                    self._forget_key(tail)  # without its name there is nothing left to find it by
            entry = self.listed.get(path)
            if entry is not None and not _holds(finding, entry.file, path):
                self.unlist(path)
                loose[key_of(entry.file.identity, path)] = entry
        refusals: dict[str, Refusal] = {}
        for path, finding in current.items():
            if isinstance(finding, Sight):
                self._take_in(path, finding, loose)
            elif finding is None:
                self.arrivals.pop(path, None)
                self._refused.pop(path, None)
            else:
                self.arrivals.pop(path, None)
                refusals[path] = finding
        return refusals

    def _take_in(self, path: str, sight: Sight, loose: dict[Key, Listed]) -> None:
        key = key_of(sight.identity, path)
        tail = self._open_by_key.get(key)
        if tail is not None:
            if tail.path == path or self.active.get(tail.path) is not tail:
                tail.move(path)
                tail.version = self.version
                self.active[path] = tail
            return  # otherwise it is a second link to a file that we follow
        entry = self.listed.get(path)
        if entry is not None:
            self._take_in_listed(entry, path, sight)
        elif key in loose and loose[key].sight == sight:
            moved = loose[key]
            moved.file.path = Path(path)
            self.list_file(moved.file, moved.header)
        elif self._listed_by_key.get(key, path) == path:
            self._arrive(Arrival(path, sight, existed=False))

    def _take_in_listed(self, entry: Listed, path: str, sight: Sight) -> None:
        if sight.size_bytes != entry.file.size_bytes:
            self._arrive(Arrival(path, sight, existed=True))
        elif sight.mtime_ns != entry.file.mtime_ns:
            # Touched. Only the header can say whether that means anything; of a file that was never read there is
            # none to compare.
            entry.sight = sight
            entry.file.mtime_ns = sight.mtime_ns
            if entry.header is not None:
                self._arrive(Arrival(path, sight, existed=True, header=entry.header))

    def _forget_key(self, tail: FileTail) -> None:
        key = key_of(tail.file.identity, tail.path)
        if self._open_by_key.get(key) is tail:
            del self._open_by_key[key]

    def _arrive(self, arrival: Arrival) -> None:
        arrival.version = self.version
        self.arrivals.setdefault(arrival.path, arrival)

    def _version_of(self, path: str) -> int:
        holders = (self.active.get(path), self.listed.get(path), self.arrivals.get(path))
        return max((holder.version for holder in holders if holder is not None), default=-1)


def _holds(finding: Finding, file: TailedFile, path: str) -> bool:
    return isinstance(finding, Sight) and key_of(finding.identity, path) == key_of(file.identity, path)
