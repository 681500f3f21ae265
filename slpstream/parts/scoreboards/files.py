"""Files that scoreboards read. Their own programs might write to them too. All methods in this module block.

If we don't know a value, we leave it as it is in the file, because a person might have typed it into the other program.
We only empty a value if we have written it ourselves before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from slpstream.model.errors import SinkError
from slpstream.model.foreign_data import read_json, read_text, whole_number
from slpstream.system.files import read_regular
from slpstream.system.replaced_files import replace_file

_DAMAGED_READS = 3
"""A file that is not JSON this many times in a row is not being written any more: it is damaged."""


class JsonFile:
    """A JSON object in a file. Only some of its keys are ours."""

    def __init__(
        self,
        path: Path,
        defaults: Mapping[str, Any],
        *,
        timestamp_key: str = "",
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Where the file doesn't have a value, we write the one in `defaults`.

        If you pass a `timestamp_key`, its value is the Unix time as text, and gets larger with every change.
        """
        self._path = path
        self._defaults = defaults
        self._timestamp_key = timestamp_key
        self._wall_clock = wall_clock
        self._written: dict[str, Any] = {}
        self._damaged_reads = 0

    def update(self, values: Mapping[str, Any]) -> bool:
        """Write the values. If one of them is `None`, we don't know it. Returns whether this has changed the file.

        Raises `SinkError` if it fails.
        """
        before = self._read()
        after = {**self._defaults, **before} if before else dict(self._defaults)
        for key, value in values.items():
            if value is not None:
                after[key] = self._written[key] = value
            elif key in self._written and after.get(key) == self._written.pop(key):
                after[key] = self._defaults.get(key, "")
        if after == before:
            return False
        if self._timestamp_key:
            after[self._timestamp_key] = self._timestamp(before)
        _replace(self._path, msgspec.json.format(msgspec.json.encode(after), indent=2) + b"\n")
        return True

    def _read(self) -> dict[str, Any]:
        data = _content(self._path)
        if data is None:
            return {}
        # A file in another encoding is whole, and somebody has typed what is in it. So it is never replaced.
        read_text(data, lambda what: SinkError(f"{self._path}: {what}"))
        try:
            found = read_json(data, dict[str, Any], lambda what: SinkError(f"{self._path}: not a JSON object: {what}"))
        except SinkError:
            self._damaged_reads += 1
            if self._damaged_reads < _DAMAGED_READS:  # the other program may be writing it
                raise
            found = {}
        self._damaged_reads = 0
        return found

    def _timestamp(self, before: Mapping[str, Any]) -> str:
        last = str(before.get(self._timestamp_key, ""))
        number = whole_number(last)
        at_least = 0 if number is None else number + 1
        return str(max(int(self._wall_clock()), at_least))


class TextFiles:
    """A folder of files that contain one value each."""

    def __init__(self, folder: Path, *, exclusive: bool) -> None:
        """Pass `exclusive=True` if no other program writes to these files, so that we can always empty unknown
        values.
        """
        self._folder = folder
        self._exclusive = exclusive
        self._written: dict[str, bytes] = {}

    def update(self, values: Mapping[str, str | None]) -> bool:
        """Write the values by the names of their files. If one of them is `None`, we don't know it. Returns whether a
        file has changed.

        If there's no such file, it is created. If the value is unknown, the file is empty. Raises `SinkError` if this
        fails.
        """
        self._make_folder()
        changed = False
        for name, value in values.items():
            before = _content(self._folder / name)
            after = (value or "").encode()
            if value is None and not self._exclusive and before not in (None, self._written.get(name)):
                continue
            self._written[name] = after
            if after != before:
                _replace(self._folder / name, after)
                changed = True
        return changed

    def create(self, names: Iterable[str]) -> bool:
        """Create those files that don't exist yet, so that a source in OBS is able to find them. They are empty.

        Returns whether any of them were missing. Raises `SinkError` if this fails.
        """
        self._make_folder()
        missing = [name for name in names if _content(self._folder / name) is None]
        for name in missing:
            _replace(self._folder / name, b"")
        return bool(missing)

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(parents=self._exclusive, exist_ok=True)
        except OSError as error:
            raise SinkError(f"{self._folder}: {error.strerror or error}") from error


def _content(path: Path) -> bytes | None:
    """Return the content of a file, or `None` if it doesn't exist. Raises `SinkError` if it can't be read."""
    try:
        return read_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SinkError(f"{path}: {error.strerror or error}") from error


def _replace(path: Path, data: bytes) -> None:
    try:
        replace_file(path, data)
    except OSError as error:
        raise SinkError(f"{path}: {error.strerror or error}") from error
