"""The containment of bugs: an unexpected exception ends the work on one file of a station, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from slpstream.daemon.station.quarantine import Quarantine
from slpstream.system.files import printable
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.daemon.station.followed_file import FollowedFile
    from slpstream.daemon.station.followed_files import FollowedFiles
    from slpstream.sources.tail.events import TailedFile
    from slpstream.system.internal_errors import InternalErrors


class FileContainment:
    """Contains the bugs in the work on the files of one station.

    If the work on a file fails, the file is put into quarantine.
    """

    def __init__(
        self,
        station: str,
        files: FollowedFiles,
        publish_diagnostic: Callable[[str, Path, int, str], None],
        lose: Callable[[FollowedFile, str], None],
        errors: InternalErrors,
        retry_seconds: float,
    ) -> None:
        """`publish_diagnostic` and `lose` are the methods of `Publisher`."""
        self._files = files
        self._diagnose = publish_diagnostic
        self._lose = lose
        self._containment = errors.contain("file", station=station)
        self._quarantine = Quarantine(retry_seconds)
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
        self._quarantine.add(file, trio.current_time())
        followed = self._files.drop(file)
        self._files.release_in_tail(file)
        offset = 0 if followed is None else followed.pipeline.bytes_read
        self._diagnose("internal_error", file.path, offset, f"internal error {error_id}, set aside until it changes")
        if followed is not None:
            self._lose(followed, f"internal error {error_id}")

    def holds(self, file: TailedFile) -> bool:
        """Whether a file that was just opened has to wait in quarantine. If so, `try_again` will read it later."""
        return self._quarantine.holds(file, trio.current_time())

    @property
    def has_quarantined(self) -> bool:
        """Whether there are files in quarantine."""
        return len(self._quarantine) > 0

    def try_again(self) -> None:
        """Read those files in quarantine again that have changed and whose pause is over."""
        for file in self._quarantine.due(trio.current_time()):
            self._files.read_again(file)
