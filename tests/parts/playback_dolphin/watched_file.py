"""The communication file of a Playback Dolphin, watched while a daemon writes it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.parts.playback_dolphin.communication import CommunicationChecks

_TICK_SECONDS = 0.01


class WatchedFile:
    """Checks each write to a communication file."""

    def __init__(self, path: Path) -> None:
        self.checks = CommunicationChecks(path)
        self.problem: AssertionError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        last: bytes | None = None
        while not self._stop.wait(0.01):
            try:
                content = self.checks.path.read_bytes()
                if content != last:
                    last = content
                    # The time of the write, in ticks of the system, which a busy machine notices late.
                    self.checks.take(self.checks.path.stat().st_ctime + _TICK_SECONDS * len(self.checks.seen))
            except FileNotFoundError:
                pass
            except AssertionError as error:
                self.problem = error
                return

    @property
    def modes(self) -> list[str]:
        assert self.problem is None, self.problem
        return [content["mode"] for content in self.checks.seen]

    @property
    def newest(self) -> dict[str, Any]:
        assert self.problem is None, self.problem
        return self.checks.seen[-1]

    @contextmanager
    def watched(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join()
