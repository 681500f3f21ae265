"""The containment of bugs: an unexpected exception ends the work on one file of a station, and nothing else.

The file is put into quarantine until it changes, because the same bytes would raise the same exception again. But a
file that is growing changes all the time. This is why it is only tried again after a pause, which doubles with each
failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from slpstream.system.backoff import backoff_seconds
from slpstream.system.files import printable
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.daemon.station.followed_files import FollowedFiles
    from slpstream.daemon.station.publishing import Publisher
    from slpstream.sources.tail.events import TailedFile
    from slpstream.sources.tail.identity import FileIdentity
    from slpstream.system.internal_errors import InternalErrors

_MAX_FILES = 256


@dataclass
class _Quarantined:
    """One file in quarantine."""

    failures: int = 0
    retry_at: float = 0.0
    changed: TailedFile | None = None
    """The file, if it was opened again before `retry_at`."""


class FileContainment:
    """Contains the bugs in the work on the files of one station."""

    def __init__(
        self, station: str, files: FollowedFiles, publisher: Publisher, errors: InternalErrors, retry_seconds: float
    ) -> None:
        """`retry_seconds` is the pause after the first failure of a file."""
        self._files = files
        self._publisher = publisher
        self._containment = errors.contain("file", station=station)
        self._retry_seconds = retry_seconds
        self.quarantined: dict[tuple[FileIdentity, Path], _Quarantined] = {}
        """The files in quarantine. Only this class changes it."""
        self._log = get_logger()

    def run(self, file: TailedFile | None, work: Callable[..., None], *arguments: Any) -> None:
        """Call `work`. After an unexpected exception, this puts the file into quarantine (if there is a file)."""
        with self._containment as contained:
            work(*arguments)
        if contained.error_id is not None and file is not None:
            self.quarantine(file, contained.error_id)

    def failed(self, file: TailedFile, error: BaseException) -> None:
        """Contain an exception that the work on a file has raised, and put the file into quarantine.

        If it isn't to be contained, it is raised again.
        """
        self.quarantine(file, self._containment.caught(error))

    def quarantine(self, file: TailedFile, error_id: str) -> None:
        """Ignore a file until it changes, because of the bug that was logged under this id."""
        self._log.warning("file set aside", file=printable(file.path, self._files.folder), error_id=error_id)
        # The file that has failed last comes last, and the first ones are forgotten if there are too many.
        failures = 1 + self.quarantined.pop((file.identity, file.path), _Quarantined()).failures
        retry_at = trio.current_time() + backoff_seconds(failures, self._retry_seconds)
        self.quarantined[file.identity, file.path] = _Quarantined(failures, retry_at)
        if len(self.quarantined) > _MAX_FILES:
            del self.quarantined[next(iter(self.quarantined))]
        followed = self._files.drop(file)
        self._files.tail.release(file)
        offset = 0 if followed is None else followed.pipeline.bytes_read
        text = f"internal error {error_id}, set aside until it changes"
        self._publisher.publish_diagnostic("internal_error", file.path, offset, text)
        if followed is not None:
            self._publisher.lose(followed, f"internal error {error_id}")

    def holds(self, file: TailedFile) -> bool:
        """Whether a file that was just opened has to wait in quarantine. If so, `try_again` will read it later."""
        quarantined = self.quarantined.get((file.identity, file.path))
        if quarantined is None or trio.current_time() >= quarantined.retry_at:
            return False
        quarantined.changed = file
        return True

    def try_again(self) -> None:
        """Read those files in quarantine again that have changed and whose pause is over."""
        now = trio.current_time()
        for quarantined in self.quarantined.values():
            if quarantined.changed is not None and now >= quarantined.retry_at:
                file, quarantined.changed = quarantined.changed, None
                self._files.tail.read_again(file)
