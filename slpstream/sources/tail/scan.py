"""Looking at a folder: the whole tree, or a few paths in it. All of this blocks; it runs in a thread.

A scan answers only with what differs from what is known already, so that ten thousand old replays cost one `scandir`
and one `stat` each in the thread and nothing in the event loop. A folder that cannot be read makes us blind below it:
what is there is then neither found nor missing. Links to folders are not followed. A link to a file counts when its
target lies inside the root.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from errno import ELOOP, ENOENT, ENOTDIR
from typing import NamedTuple, Protocol, TypeAlias

from slpstream.sources.tail.identity import FileIdentity, identity_of
from slpstream.system.files import modified_ns

_WINDOWS = sys.platform == "win32"
GONE = frozenset({ENOENT, ENOTDIR})


class Sight(NamedTuple):
    """A regular file, as a stat saw it."""

    identity: FileIdentity
    size_bytes: int
    mtime_ns: int


class Refusal(NamedTuple):
    """Something has a replay's name and cannot be read as one."""

    what: str


# None: there is no file under that name.
Finding: TypeAlias = Sight | Refusal | None


class HasSight(Protocol):
    """A listed file, as far as a scan is concerned."""

    sight: Sight


class Known(NamedTuple):
    """What a scan compares with. Of what is open only the identity counts: that it grows is no news to a scan."""

    listed: Mapping[str, HasSight]
    active: Mapping[str, FileIdentity]
    refused: frozenset[str]

    def differs(self, path: str, finding: Finding) -> bool:
        """Whether a finding is news."""
        identity = self.active.get(path)
        if identity is not None:
            return not isinstance(finding, Sight) or finding.identity != identity
        entry = self.listed.get(path)
        return finding != (entry.sight if entry is not None else None)


class Scan(NamedTuple):
    """What a look at the whole tree found, as differences from what was known."""

    root: FileIdentity | None
    """None: there is no such folder."""
    root_error: Refusal | None
    """If given, it could not even be told whether there is."""
    findings: dict[str, Finding]
    """Names that are new, gone, or hold something else."""
    folders: dict[str, int]
    """All folders, with their modification time: it changes when a name in them does."""


def sight_of(status: os.stat_result) -> Sight:
    """The parts of a stat result that we compare."""
    return Sight(identity_of(status), status.st_size, modified_ns(status))


def refusal_of(error: OSError) -> Refusal:
    """An operating system's error as a reason that reads the same each time."""
    return Refusal(error.strerror or type(error).__name__)


def examine(path: str, real_root: str) -> Finding:
    """What is under one name."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            target = os.path.realpath(path, strict=True)
            status = os.stat(target)
            if not stat.S_ISDIR(status.st_mode) and not is_inside(target, real_root):
                return Refusal("a link out of the folder")
    except OSError as error:
        if error.errno in GONE:
            return None
        return Refusal("a link to itself") if error.errno == ELOOP else refusal_of(error)
    if stat.S_ISDIR(status.st_mode):
        return None
    return sight_of(status) if stat.S_ISREG(status.st_mode) else Refusal("not a regular file")


def examine_all(paths: Iterable[str], root: str) -> dict[str, Finding]:
    """What is under each of some names."""
    real_root = os.path.realpath(root)
    return {path: examine(path, real_root) for path in paths}


def is_inside(path: str, real_root: str) -> bool:
    """Whether a resolved path lies below a resolved root."""
    return path.startswith(real_root.rstrip(os.sep) + os.sep)


def folders_changed(folders: Mapping[str, int]) -> bool:
    """Whether a name has come or gone in one of these folders."""
    for folder, mtime_ns in folders.items():
        try:
            if os.stat(folder).st_mtime_ns != mtime_ns:
                return True
        except OSError:
            return True  # the scan will say what has become of it
    return False


def scan_tree(root: str, suffixes: tuple[str, ...], known: Known) -> Scan:
    """Look at everything below `root`."""
    findings: dict[str, Finding] = {}
    folders: dict[str, int] = {}
    try:
        status = os.stat(root)
    except OSError as error:
        if error.errno in GONE:
            return Scan(None, None, findings, folders)
        refusal = refusal_of(error)
        return Scan(None, refusal, {root: refusal}, folders)
    if not stat.S_ISDIR(status.st_mode):
        return Scan(None, None, {root: Refusal("not a folder")}, folders)
    root_identity = identity_of(status)
    real_root = os.path.realpath(root)
    seen: set[str] = set()
    blind: list[str] = []
    visited: set[FileIdentity] = set()
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            # Its time is taken before its names: a name that comes in between then shows as a change.
            status = os.stat(folder)
            identity = identity_of(status)
            if identity.inode and identity in visited:
                continue  # a junction or a mount leads back up
            visited.add(identity)
            folders[folder] = status.st_mtime_ns
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.name.lower().endswith(suffixes):
                        seen.add(entry.path)
                        finding = _look(entry, real_root)
                        if known.differs(entry.path, finding):
                            findings[entry.path] = finding
        except OSError as error:
            if error.errno not in GONE:
                refusal = refusal_of(error)
                if folder == root:
                    return Scan(None, refusal, {root: refusal}, folders)
                blind.append(folder + os.sep)
                findings[folder] = refusal
    for paths in (known.listed.keys(), known.active.keys(), known.refused):
        for path in paths - seen:
            if path not in findings and not any(path.startswith(prefix) for prefix in blind):
                findings[path] = None
    return Scan(root_identity, None, findings, folders)


def _look(entry: os.DirEntry[str], real_root: str) -> Finding:
    """`examine`, at the price of one stat for a plain file."""
    if _WINDOWS or entry.is_symlink():
        # What scandir remembers on Windows has no inode, and no current size while the file is open.
        return examine(entry.path, real_root)
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return None if error.errno in GONE else refusal_of(error)
    if stat.S_ISREG(status.st_mode):
        return sight_of(status)
    return None if stat.S_ISDIR(status.st_mode) else Refusal("not a regular file")
