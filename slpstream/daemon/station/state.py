"""The state of a station, and the reason for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slpstream.model.messages import timestamp
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.stream.channel import Channel, StationState

_STARTING = "starting"


class StateMachine:
    """The state of one station. Each change is sent to the subscribers."""

    def __init__(self, channel: Channel, wall_clock: Callable[[], float]) -> None:
        self._channel = channel
        self._wall_clock = wall_clock
        self._log = get_logger()
        self._reason = _STARTING
        self._remark: str | None = None
        self.state: StationState = "offline"
        self.game_id: str | None = None
        """The game that the state is about."""

    @property
    def reason(self) -> str:
        """Why the station is in its state, as a text for people."""
        return self._reason if self._remark is None else f"{self._reason}; {self._remark}"

    @property
    def starting(self) -> bool:
        """Whether the station is only offline because its folder hasn't been searched yet."""
        return self.state == "offline" and self._reason == _STARTING

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

    def _announce(self) -> None:
        payload: dict[str, Any] = {"state": self.state, "reason": self.reason, "at": timestamp(self._wall_clock())}
        if self.starting:
            payload["starting"] = True
        if self.game_id is not None:
            payload["gameId"] = self.game_id
        self._log.info("station", state=self.state, reason=self._reason, game_id=self.game_id)
        self._channel.publish_state(payload)
