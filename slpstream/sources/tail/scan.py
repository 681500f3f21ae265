"""Scan a folder, either the whole tree or just a few paths. All functions in this module block, so call them in a
thread.

A scan only reports differences from the files that we already know. Because of this, ten thousand old replays just cost
one `stat` each, in the thread, and nothing in the event loop. If a folder can't be read, we don't know anything about
its contents, so they are reported neither as found nor as missing. We don't follow links to folders. A link to a file
is fine if its target is inside of the root.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from errno import ELOOP, ENOENT, ENOTDIR
from typing import NamedTuple, Protocol, TypeAlias

from slpstream.sources.tail.identity import FileIdentity, identity_of
from slpstream.system.file_times import modified_ns

_WINDOWS = sys.platform == "win32"
GONE = frozenset({ENOENT, ENOTDIR})


class FileStat(NamedTuple):
    """The part of a regular file's status that scans compare."""

    identity: FileIdentity
    size_bytes: int
    mtime_ns: int


class Refusal(NamedTuple):
    """The reason why a path can't be read, even though it has the name of a replay."""

    reason: str


# `None`: the path holds no file.
Finding: TypeAlias = FileStat | Refusal | None


class HasStat(Protocol):
    """A listed file. This contains only the parts of it that a scan needs."""

    stat: FileStat


class KnownFiles(NamedTuple):
    """The files that a scan compares with.

    It's not news if an active file has grown, so for these we only compare the identity.
    """

    listed: Mapping[str, HasStat]
    active: Mapping[str, FileIdentity]
    refused: frozenset[str]

    def differs(self, path: str, finding: Finding) -> bool:
        """Whether `finding` tells us anything new about `path`."""
        identity = self.active.get(path)
        if identity is not None:
            return not isinstance(finding, FileStat) or finding.identity != identity
        entry = self.listed.get(path)
        return finding != (entry.stat if entry is not None else None)


class ScanResult(NamedTuple):
    """The outcome of a scan of the whole tree, given as differences from the known files."""

    root: FileIdentity | None
    """`None` if there is no such folder, or if `root_error` is set."""
    root_error: Refusal | None
    """The reason why the root cannot be read, if there is one."""
    findings: dict[str, Finding]
    """Paths that are new, gone, or hold another file."""
    folders: dict[str, int]
    """All folders, with their modification times, which change whenever a name in them comes or goes."""


def file_stat_of(status: os.stat_result) -> FileStat:
    """Return the part of a stat result that scans compare."""
    return FileStat(identity_of(status), status.st_size, modified_ns(status))


def refusal_of(error: OSError) -> Refusal:
    """Turn an error of the operating system into a reason, without details that are different each time."""
    return Refusal(error.strerror or type(error).__name__)


def examine(path: str, root: str) -> Finding:
    """Find out what kind of file is at the given path.

    Links that lead out of the root, FIFOs and devices are refused.
    """
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            target = os.path.realpath(path, strict=True)
            status = os.stat(target)
            if not stat.S_ISDIR(status.st_mode) and not is_inside(target, os.path.realpath(root)):
                return Refusal("a link out of the folder")
    except OSError as error:
        if error.errno in GONE:
            return None
        return Refusal("a link to itself") if error.errno == ELOOP else refusal_of(error)
    if stat.S_ISDIR(status.st_mode):
        return None
    return file_stat_of(status) if stat.S_ISREG(status.st_mode) else Refusal("not a regular file")


def examine_all(paths: Iterable[str], root: str) -> dict[str, Finding]:
    """Examine several paths below `root`. In the result, the oldest file comes first."""
    return _oldest_first({path: examine(path, root) for path in paths})


def is_inside(path: str, real_root: str) -> bool:
    """Whether a path is below a root. Both must be resolved."""
    return path.startswith(real_root.rstrip(os.sep) + os.sep)


def folders_changed(folders: Mapping[str, int]) -> bool:
    """Whether a name was added to any of these folders or removed from it.

    You pass the folders with their modification times.
    """
    for folder, mtime_ns in folders.items():
        try:
            if os.stat(folder).st_mtime_ns != mtime_ns:
                return True
        except OSError:
            return True  # a scan will find the reason
    return False


def scan_tree(
    root: str, suffixes: tuple[str, ...], known: KnownFiles, watch_folder: Callable[[str], None] | None = None
) -> ScanResult:
    """Scan everything below `root`. In the findings, the oldest file comes first.

    If you pass `watch_folder`, it is called with each folder before the names in it are listed.
    """
    findings: dict[str, Finding] = {}
    folders: dict[str, int] = {}
    try:
        status = os.stat(root)
    except OSError as error:
        if error.errno in GONE:
            return ScanResult(None, None, findings, folders)
        refusal = refusal_of(error)
        return ScanResult(None, refusal, {root: refusal}, folders)
    if not stat.S_ISDIR(status.st_mode):
        return ScanResult(None, None, {root: Refusal("not a folder")}, folders)
    root_identity = identity_of(status)
    seen: set[str] = set()
    unreadable: list[str] = []
    visited: set[FileIdentity] = set()
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            # The time is taken before the names, so that a name that appears in between shows as a change next time.
            status = os.stat(folder)
            identity = identity_of(status)
            if identity.inode and identity in visited:
                continue  # a junction or a mount leads back up
            visited.add(identity)
            folders[folder] = status.st_mtime_ns
            if watch_folder is not None:
                watch_folder(folder)
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.name.lower().endswith(suffixes):
                        seen.add(entry.path)
                        finding = _examine_entry(entry, root)
                        if known.differs(entry.path, finding):
                            findings[entry.path] = finding
        except OSError as error:
            if error.errno not in GONE:
                refusal = refusal_of(error)
                if folder == root:
                    return ScanResult(None, refusal, {root: refusal}, folders)
                unreadable.append(folder + os.sep)
                findings[folder] = refusal
    for paths in (known.listed.keys(), known.active.keys(), known.refused):
        for path in paths - seen:
            if path not in findings and not any(path.startswith(prefix) for prefix in unreadable):
                findings[path] = None
    return ScanResult(root_identity, None, _oldest_first(findings), folders)


def _oldest_first(findings: Mapping[str, Finding]) -> dict[str, Finding]:
    """Sort findings by age. We open files in this order, so that the games of a setup stay in theirs."""

    def age(item: tuple[str, Finding]) -> tuple[int, str]:
        path, finding = item
        return (finding.mtime_ns if isinstance(finding, FileStat) else 0, path)

    return dict(sorted(findings.items(), key=age))


def _examine_entry(entry: os.DirEntry[str], root: str) -> Finding:
    """Examine the path of the given entry. For a plain file, this only needs one stat."""
    if _WINDOWS or entry.is_symlink():
        # On Windows, the cached result of scandir has no inode, and a stale size while the file is open.
        return examine(entry.path, root)
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return None if error.errno in GONE else refusal_of(error)
    if stat.S_ISREG(status.st_mode):
        return file_stat_of(status)
    return None if stat.S_ISDIR(status.st_mode) else Refusal("not a regular file")
