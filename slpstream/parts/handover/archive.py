"""Write the zip of a set. This blocks, so you should call it from a worker thread.

We copy one replay after another, so there's never more than one of them in memory. The originals aren't changed.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO, BinaryIO

from slpstream.formats.registry import format_called
from slpstream.model.errors import FormatError
from slpstream.parts.handover.context import FIRST_MEMBER
from slpstream.parts.handover.handed_set import HandedSet, Member
from slpstream.system.files import open_regular

MAX_EDITED_BYTES = 128 << 20
"""Larger files are copied unchanged: no replay of a game is that long, and a copy is edited in memory."""
_LEVEL = 1
_FIRST_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_LAST_ZIP_TIME = (2107, 12, 31, 23, 59, 58)

OnProblem = Callable[[Path, str], None]
"""Called with the file of a replay that is exported unchanged or left out, and the reason."""
OpenFile = Callable[[Path], BinaryIO]
"""Opens the file of a replay, and can be called again. Raises `OSError`."""


def write_zip(
    handed: HandedSet,
    file: BinaryIO,
    on_problem: OnProblem = lambda path, what: None,
    *,
    open_file: OpenFile = open_regular,
) -> int:
    """Write the zip of a set to an open file, and return how many replays are in it.

    If a replay is missing, it is left out. In this case, we leave out the document too, because it wouldn't fit the
    replays any more. Raises `OSError` if all replays are missing, or if one of them exists but can't be read.
    """
    there = [(member, path) for member in handed.members if (path := _readable(member, open_file, on_problem))]
    if handed.members and not there:
        raise FileNotFoundError(errno.ENOENT, "none of its replays is there any more")
    moment = _zip_time(handed.start_ms)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        if handed.context is not None and len(there) == len(handed.members):
            text = json.dumps(handed.context, ensure_ascii=False, indent=2)
            archive.writestr(zipfile.ZipInfo(FIRST_MEMBER, moment), text, zipfile.ZIP_DEFLATED)
        for member, path in there:
            info = zipfile.ZipInfo(member.name, moment)
            info.compress_type = zipfile.ZIP_DEFLATED
            with open_file(path) as source:
                info.file_size = source.seek(0, os.SEEK_END)
                source.seek(0)
                with archive.open(info, "w") as target:
                    _copy(member, path, source, target, on_problem)
    return len(there)


def write_zip_file(
    target: Path,
    handed: HandedSet,
    on_problem: OnProblem = lambda path, what: None,
    *,
    open_file: OpenFile = open_regular,
) -> int:
    """Like `write_zip`, but for a file that only appears under its name when it is complete."""
    temporary = target.with_name(f".{target.name}.tmp")  # the same name after a kill, so that the file is reused
    try:
        with temporary.open("wb") as file:
            count = write_zip(handed, file, on_problem, open_file=open_file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return count


def free_name(folder: Path, name: str, taken: Collection[str] = ()) -> str:
    """Return a name for a zip that isn't in the folder and isn't `taken`.

    If necessary, we append ` 2`, ` 3` and so on.
    """
    promised = {each.casefold() for each in taken}  # as many file systems compare names
    number, free = 1, f"{name}.zip"
    while free.casefold() in promised or (folder / free).exists():
        number += 1
        free = f"{name} {number}.zip"
    return free


def _readable(member: Member, open_file: OpenFile, on_problem: OnProblem) -> Path | None:
    """Return the first file of a replay that we can open, or `None` if all of them are missing. Raises `OSError`."""
    problem: OSError | None = None
    for path in member.replay.paths:
        try:
            open_file(path).close()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problem = problem or error
        else:
            return path
    if problem is not None:
        raise problem
    on_problem(member.replay.paths[0], "left out: it is not there any more")
    return None


def _copy(member: Member, path: Path, source: BinaryIO, target: IO[bytes], on_problem: OnProblem) -> None:
    format_ = format_called(member.replay.format)
    if format_ is not None and format_.edited is not None:
        data = source.read(MAX_EDITED_BYTES + 1)
        if len(data) <= MAX_EDITED_BYTES:
            try:
                for part in format_.edited(data, member.edits):
                    target.write(part)
                return
            except FormatError as error:
                on_problem(path, f"handed on unchanged: {error}")
        source.seek(0)
    shutil.copyfileobj(source, target)


def _zip_time(start_ms: int) -> tuple[int, int, int, int, int, int]:
    """Convert a time to the form that zips use. There, the year is between 1980 and 2107."""
    began = time.gmtime(start_ms / 1000)
    moment = began.tm_year, began.tm_mon, began.tm_mday, began.tm_hour, began.tm_min, began.tm_sec
    return max(_FIRST_ZIP_TIME, min(moment, _LAST_ZIP_TIME))
