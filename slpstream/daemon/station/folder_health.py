"""Decides whether a station is offline, and for which reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from slpstream.daemon.station.followed_files import FollowedFiles
    from slpstream.daemon.station.state import StateMachine
    from slpstream.stream.channel import Channel

_MAX_FAILURES = 1
"""If a station fails more often than this in a row, it is offline until it has run for a while."""


class FolderHealth:
    """Knows whether a station can follow its folder, and whether the source that writes into this folder can be
    reached.
    """

    def __init__(self, channel: Channel, state: StateMachine, files: FollowedFiles, stable_seconds: float) -> None:
        self._channel = channel
        self._state = state
        self._files = files
        self._stable_seconds = stable_seconds
        self._began_at = 0.0
        self._broken: str | None = None
        self._unreachable: str | None = None

    @property
    def is_reachable(self) -> bool:
        """Whether the source that writes into the folder can be reached. This is true if there is no such source."""
        return self._unreachable is None

    @property
    def is_well(self) -> bool:
        """Whether the station follows its folder, and neither `check_stable` nor `check` would change anything."""
        tail = self._files.tail
        return (
            self._broken is None
            and self._unreachable is None
            and self._state.state != "offline"
            and tail is not None
            and tail.root_trouble is None  # it has been searched, and is there
        )

    def began(self) -> None:
        """Note that the work on the folder begins, or begins again after a bug."""
        self._began_at = trio.current_time()

    def failed(self, error_id: str, failures: int) -> None:
        """Note that a bug has ended the work on the folder, which will begin again after a pause."""
        if failures > _MAX_FAILURES:
            self._broken = f"internal error {error_id}, tried again"
            self.check()

    def set_reachable(self, trouble: str | None) -> None:
        """Set the reason why the source can't be reached, or `None` if it can."""
        if trouble != self._unreachable:
            self._unreachable = trouble
            if self._channel.settled or trouble is not None:
                self.check()

    def check_stable(self) -> None:
        """Forget the last failure if the station has run for long enough since then."""
        if self._broken is not None and trio.current_time() - self._began_at > self._stable_seconds:
            self._broken = None

    def check(self) -> None:
        """Enter the state that follows from the folder, its source and the failures."""
        state, tail = self._state, self._files.tail
        trouble = None if tail is None else tail.root_trouble
        if self._broken is not None:
            state.change("offline", self._broken, state.game_id)
        elif self._unreachable is not None:
            state.change("offline", self._unreachable, state.game_id)
        elif tail is None or not tail.searched:
            return
        elif not tail.root_present or (trouble is not None and state.state != "playing"):
            state.change("offline", trouble or "the folder is missing")
        elif state.state == "offline" and self._channel.settled:
            state.change("idle", "watching")
