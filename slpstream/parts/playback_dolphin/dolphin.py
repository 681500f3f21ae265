"""Chooses the commands for a Playback Dolphin, and writes them.

An instant replay comes first, then the queue between sets, and then the mirrored game. After an instant replay, Dolphin
returns to the mirrored game. It doesn't report the end of a replay, so we estimate the duration. This is the length of
the replay, plus the time to load it, plus the time to fast-forward from the start of the game.

Only the newest request counts. Sometimes, a command cannot be written yet, because the file cannot be written or the
last write was less than a second ago. In this case, it is written later, provided that it is still wanted then.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import trio

from slpstream.game.dolphin_queue import FRAMES_PER_SECOND, Clip
from slpstream.parts.playback_dolphin.commands import (
    Command,
    Mirror,
    Queue,
    Replay,
    encode,
    kind_of,
    mirrored,
    playable,
)
from slpstream.parts.playback_dolphin.communication_file import CommunicationFile
from slpstream.system.logs import get_logger

MIN_PAUSE_SECONDS = 1.0
"""The minimum time between two writes."""
_MARGIN_SECONDS = 0.05
_RETRY_SECONDS = 5.0
_MISSING_SECONDS = 1.0
LOADING_SECONDS = 3.0
UNREAD_SECONDS = 15.0
"""Dolphin looks at the file sixty times a second. If it hasn't read the file for this long, it is not running."""
_CHECK_SECONDS = 5.0


class PlaybackDolphin:
    """One Playback Dolphin. Call `run` in one task, and call it again after a bug."""

    def __init__(
        self,
        file: CommunicationFile,
        *,
        limiter: trio.CapacityLimiter,
        seek_speed: float,
        on_write: Callable[[str], None] = lambda kind: None,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        """`seek_speed` is the speed at which Dolphin fast-forwards, relative to real time. `on_write` is called with
        the kind of each command that was written (`mirror`, `replay` or `queue`), and `on_failure` is called for each
        attempt that failed.
        """
        self._file = file
        self._limiter = limiter
        self._seek_speed = seek_speed
        self._on_write = on_write
        self._on_failure = on_failure
        self._mirror: Mirror | None = None
        self._queue: Queue | None = None
        self._replay: Replay | None = None
        self._number = 0
        self._shown: Command | None = None
        self._over_at: float | None = None
        """The estimated end of the current instant replay, as a time on trio's clock."""
        self._may_write_at = 0.0
        self._changed = trio.Event()
        self._failing: str | None = None
        self._missing: Command | None = None
        self._unread_since: float | None = None
        self._unread_reported = False
        self._log = get_logger()

    @property
    def unread(self) -> bool:
        """Whether Dolphin doesn't read the file, which means that it is not running."""
        return self._unread_reported

    @property
    def replaying(self) -> bool:
        """Whether Dolphin shows an instant replay, or will do so as soon as this is written."""
        return self._replay is not None

    def not_ready(self) -> list[str]:
        """Return the reasons why Dolphin doesn't show the wanted game."""
        if self._failing is not None:
            return [f"Playback Dolphin: {self._file.path} cannot be written: {self._failing}"]
        return [f"Playback Dolphin does not read {self._file.path}"] if self.unread else []

    def mirror(self, path: Path | None, station: str = "") -> None:
        """Mirror a game whose replay is still being written. Pass `None` after its end. A new game ends the queue."""
        wanted = None if path is None else Mirror(path, station)
        if wanted is not None and wanted != self._mirror:
            self._queue = None
        self._mirror = wanted
        self._wake()

    def replay(self, clip: Clip) -> float:
        """Show an instant replay instead of the current one. Returns its estimated duration in seconds."""
        self._number += 1
        self._replay, self._over_at = Replay(clip, self._number), None
        self._wake()
        return self._seconds(clip)

    def end_replay(self) -> None:
        """Return from the instant replay to the mirrored game."""
        if self._replay is not None and self._shown == self._replay:
            self._after_replay()
        self._replay = None
        self._wake()

    def queue(self, clips: Sequence[Clip]) -> None:
        """Show moments one after the other, until the next game begins."""
        if clips:
            self._number += 1
            self._queue = Queue(tuple(clips), self._number)
            self._wake()

    def _wake(self) -> None:
        self._changed.set()

    def _seconds(self, clip: Clip) -> float:
        before = (clip.start_frame - clip.first_frame) / self._seek_speed
        return (before + clip.end_frame - clip.start_frame) / FRAMES_PER_SECOND + LOADING_SECONDS

    def _wanted(self) -> Command | None:
        return self._replay or self._queue or self._mirror

    async def run(self) -> None:
        """Write commands until cancelled."""
        # After a restart of the daemon, Dolphin continues a mirrored game where it is.
        content = await trio.to_thread.run_sync(self._file.content, limiter=self._limiter)
        self._shown = mirrored(content)
        if content:  # perhaps written just now; its age does not tell, since the clock may have been set
            self._may_write_at = trio.current_time() + MIN_PAUSE_SECONDS + _MARGIN_SECONDS
        while True:
            self._changed = trio.Event()
            now = trio.current_time()
            if self._over_at is not None and now >= self._over_at:
                self._after_replay()
            wanted = self._wanted()
            if wanted is not None and wanted != self._shown:
                if now < self._may_write_at:
                    await trio.sleep_until(self._may_write_at)
                elif not await self._write(wanted):
                    with trio.move_on_after(_MISSING_SECONDS if self._failing is None else _RETRY_SECONDS):
                        await self._changed.wait()
                continue
            await self._look_whether_read()
            deadline = now + _CHECK_SECONDS if self._unread_since is not None else float("inf")
            if self._over_at is not None:
                deadline = min(deadline, self._over_at)
            with trio.move_on_at(deadline):
                await self._changed.wait()

    def _after_replay(self) -> None:
        """Continue with the mirrored game, and drop the queue."""
        self._replay = self._over_at = self._queue = None
        self._shown = None

    async def _write(self, wanted: Command) -> bool:
        """Write a command, and return whether this was successful."""
        try:
            written = await trio.to_thread.run_sync(self._write_now, wanted, limiter=self._limiter)
        except OSError as error:
            self._on_failure()
            what = error.strerror or str(error)
            if self._failing is None:
                self._log.error(
                    "communication file of Playback Dolphin cannot be written; trying again",
                    file=str(self._file.path),
                    what=what,
                )
            self._failing = what
            return False
        if self._failing is not None:
            self._failing = None
            self._log.info("communication file of Playback Dolphin is written again", file=str(self._file.path))
        if written is None:
            self._give_up(wanted)
            return False
        now = trio.current_time()
        self._may_write_at = now + MIN_PAUSE_SECONDS + _MARGIN_SECONDS
        self._shown, self._missing = wanted, None
        if isinstance(written, Replay) and wanted is self._replay:
            self._over_at = now + self._seconds(written.clip)
        if self._unread_since is None:
            self._unread_since = now
        self._on_write(kind_of(written))
        return True

    def _write_now(self, wanted: Command) -> Command | None:
        """Write the playable part of a command, and return it. This blocks, and raises `OSError` if it fails."""
        written = playable(wanted)
        if written is not None:
            self._file.write(encode(written, uuid.uuid4().hex))
        return written

    def _give_up(self, wanted: Command) -> None:
        """Forget a replay or a queue whose files are gone.

        In contrast, the file of a mirrored game can still appear.
        """
        if wanted != self._missing:
            self._missing = wanted
            self._log.warning("replay for Playback Dolphin cannot be played", kind=kind_of(wanted))
        if wanted is self._replay:
            self._replay = None
        elif wanted is self._queue:
            self._queue = None

    async def _look_whether_read(self) -> None:
        if self._unread_since is None:
            return
        was_read = await trio.to_thread.run_sync(self._file.was_read, limiter=self._limiter)
        if was_read is not False:
            self._unread_since = None
            if self._unread_reported:
                self._unread_reported = False
                self._log.info("Playback Dolphin reads its communication file", file=str(self._file.path))
        elif not self._unread_reported and trio.current_time() >= self._unread_since + UNREAD_SECONDS:
            self._unread_reported = True
            self._log.warning("Playback Dolphin does not read its communication file", file=str(self._file.path))
