"""The state of a station, and the reason for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import trio

from slpstream.model.messages import timestamp
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.daemon.station.followed_files import FollowedFiles
    from slpstream.daemon.station.services import SharedServices, Timing
    from slpstream.stream.channel import Channel, StationState

_STARTING = "starting"
_MAX_FAILURES = 1
"""If a station fails more often than this in a row, it is offline until it has run for a while."""


class StateMachine:
    """The state of one station. Each change is sent to the subscribers.

    The station is offline if it cannot follow its folder, or if the source that writes into this folder cannot be
    reached. All other states follow from its current game.
    """

    def __init__(self, channel: Channel, files: FollowedFiles, shared: SharedServices, timing: Timing) -> None:
        self._channel = channel
        self._files = files
        self._wall_clock = shared.wall_clock
        self._stable_seconds = timing.stable_seconds
        self._log = get_logger()
        self._reason = _STARTING
        self._remark: str | None = None
        self.state: StationState = "offline"
        self.game_id: str | None = None
        """The game that the state is about."""
        self._began_at = math.inf
        """When the work on the folder began. It hasn't begun, or has failed, if this is infinite."""
        self._broken: str | None = None
        self.unreachable: str | None = None
        """Why the source that writes into the folder cannot be reached. This is `None` if it can, or if there is none."""

    @property
    def reason(self) -> str:
        """Why the station is in its state, as a text for people."""
        return self._reason if self._remark is None else f"{self._reason}; {self._remark}"

    @property
    def starting(self) -> bool:
        """Whether the station is only offline because its folder hasn't been searched yet."""
        return self.state == "offline" and self._reason == _STARTING

    @property
    def is_well(self) -> bool:
        """Whether the station follows its folder, and `check` would not change anything."""
        # A folder that was never searched counts as missing.
        is_healthy = self._broken is None and self.unreachable is None and self._files.tail.root_trouble is None
        return is_healthy and self.state != "offline"

    def change(self, state: StationState, reason: str, game_id: str | None = None) -> None:
        """Enter a state. This does nothing if the station is already in it for the same reason and the same game."""
        if (state, reason, game_id) != (self.state, self._reason, self.game_id):
            self.state, self._reason, self.game_id = state, reason, game_id
            self._announce()

    def remark(self, remark: str | None) -> None:
        """Add a remark for people to the reason, or remove it with `None`."""
        if remark != self._remark:
            self._remark = remark
            self._announce()

    def began(self) -> None:
        """Note that the work on the folder begins, or begins again after a bug."""
        self._began_at = trio.current_time()

    def failed(self, error_id: str, failures: int) -> None:
        """Note that a bug has ended the work on the folder, which will begin again after a pause."""
        self._began_at = math.inf
        if failures > _MAX_FAILURES:
            self._broken = f"internal error {error_id}, tried again"
            self.check()

    def set_reachable(self, trouble: str | None) -> None:
        """Set the reason why the source can't be reached, or `None` if it can."""
        if trouble != self.unreachable:
            self.unreachable = trouble
            if self._channel.settled or trouble is not None:
                self.check()

    def check(self) -> None:
        """Enter the state that follows from the folder, its source and the failures."""
        if trio.current_time() - self._began_at > self._stable_seconds:
            self._broken = None
        tail = self._files.tail
        trouble = self._broken or self.unreachable
        if trouble is not None:
            self.change("offline", trouble, self.game_id)
        elif not tail.searched:
            return
        elif not tail.root_present or (tail.root_trouble is not None and self.state != "playing"):
            self.change("offline", tail.root_trouble or "the folder is missing")
        elif self.state == "offline" and self._channel.settled:
            self.change("idle", "watching")

    def _announce(self) -> None:
        payload: dict[str, Any] = {"state": self.state, "reason": self.reason, "at": timestamp(self._wall_clock())}
        if self.starting:
            payload["starting"] = True
        if self.game_id is not None:
            payload["gameId"] = self.game_id
        self._log.info("station", state=self.state, reason=self._reason, game_id=self.game_id)
        self._channel.publish_state(payload)
