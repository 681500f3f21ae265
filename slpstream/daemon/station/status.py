"""The state of a station, the reason for it, and the current game from which it follows.

A station is offline if it cannot follow its folder, or if the source that writes into this folder cannot be reached.
All other states follow from its current game.

The current game is the one that is being played. Among the games whose files are growing, this is the one with the
newest Game Start. A file that arrives as a whole, such as a copy of an old replay, doesn't show that its game is being
played. Its game only becomes the current one if there is no other that was played on the station.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import trio

from slpstream.daemon.station.context import StationContext
from slpstream.game.log_writer import Batch
from slpstream.model.messages import timestamp
from slpstream.stream.channel import Channel, StationState
from slpstream.stream.game import Game, Role
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.daemon.station.followed_files import FollowedFile, FollowedFiles

_STARTING = "starting"
_MAX_FAILURES = 1
"""If a station fails more often than this in a row, it is offline until it has run for a while."""


class StationStatus:
    """Chooses the current game of one station, and knows its state. Each change is sent to the subscribers.

    If the file of a game hasn't grown for longer than `stalled_seconds`, the game gives way to one whose file is
    growing. After `idle_seconds`, it is no longer being played.
    """

    def __init__(self, context: StationContext, channel: Channel, files: FollowedFiles) -> None:
        self._context = context
        self._channel = channel
        self._files = files
        self._log = get_logger()
        self.state: StationState = "offline"
        self.game_id: str | None = None
        """The game that the state is about."""
        self._reason = _STARTING
        self._remark: str | None = None
        self._began_at = math.inf
        """When the work on the folder began. It hasn't begun, or has failed, if this is infinite."""
        self._broken: str | None = None
        """Why the folder cannot be followed, if this is due to a bug."""
        self.unreachable: str | None = None
        """Why the source that writes into the folder cannot be reached, if there is one and this is so."""

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
        """Whether the station follows its folder, and `check_folder` would not change anything."""
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
            self.check_folder()

    def set_reachable(self, trouble: str | None) -> None:
        """Set the reason why the source can't be reached, or `None` if it can."""
        if trouble != self.unreachable:
            self.unreachable = trouble
            if self._channel.settled or trouble is not None:
                self.check_folder()

    def check_folder(self) -> None:
        """Enter the state that follows from the folder, its source and the failures."""
        if trio.current_time() - self._began_at > self._context.timing.stable_seconds:
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

    def role_of_new(self, followed: FollowedFile) -> Role:
        """Return the role of the game that begins in this file. It must not displace a game that is being played."""
        arrived_whole, written_whole = followed.file.arrived_whole, followed.written_whole
        current = self._channel.current
        if current is not None and current.role is Role.PLAYED:
            is_copied = arrived_whole and not written_whole
            if is_copied or _is_played(self._files.of_game(current), self._context.watch.idle_seconds):
                return Role.SECONDARY
        return Role.RECORDED if arrived_whole or written_whole else Role.PLAYED

    def note_growth(self, followed: FollowedFile) -> None:
        """Turn to another game whose file has grown, if it is being played and the current game gives way."""
        game, stalled_seconds = followed.game, self._context.watch.stalled_seconds
        if game is None or followed.file.arrived_whole or game.catching_up or not _is_played(followed, stalled_seconds):
            return
        current = self._channel.current
        if current is not None and _is_played(self._files.of_game(current), stalled_seconds):
            open_seconds = trio.current_time() - followed.opened_at
            if game.order <= current.order or open_seconds < self._context.timing.played_seconds:
                return
        self._turn_to(game, followed)

    def note_batch(self, followed: FollowedFile, batch: Batch) -> None:
        """Adapt the state to the current game, after a batch of it was published."""
        game = followed.game
        if game is None or game is not self._channel.current or game.catching_up:
            return
        if batch.end is not None:
            self.note_end(game, "game ended")
        elif not game.ended:
            self.note_played(game)

    def note_played(self, game: Game) -> None:
        """Note that the current game is in progress."""
        self.change("playing", "game in progress", game.game_id)

    def note_end(self, game: Game, reason: str) -> None:
        """Note that the current game has ended or was lost. We turn to another one, or become idle for this reason."""
        if not self._turn_from(game):
            self.change("idle", reason, game.game_id)

    def check_growth(self) -> None:
        """Notice if the current game has stopped growing."""
        game = self._channel.current
        followed = self._files.of_game(game)
        if game is None or followed is None or not game.in_progress or game.catching_up:
            return
        quiet_seconds = trio.current_time() - followed.grown_at
        is_stalled = quiet_seconds > self._context.watch.stalled_seconds
        if is_stalled and self._turn_from(game):
            return
        if quiet_seconds > self._context.watch.idle_seconds:
            self.change("idle", "the file has not grown for long", game.game_id)
        elif is_stalled and self.state == "playing":
            self.change("stalled", "the file does not grow", game.game_id)

    def _turn_from(self, current: Game) -> bool:
        """Turn to the newest of the other games that are being played. Return whether there is one."""
        stalled_seconds = self._context.watch.stalled_seconds
        growing = [f for f in self._files if not f.file.arrived_whole and _is_played(f, stalled_seconds)]
        others = [(f.game, f) for f in growing if f.game is not None and f.game is not current]
        if others:
            self._turn_to(*max(others, key=lambda other: other[0].order))
        return bool(others)

    def _turn_to(self, game: Game, followed: FollowedFile) -> None:
        self._channel.turn_to(game)
        self._files.update_index(followed, over=True)
        self.note_played(game)

    def _announce(self) -> None:
        payload: dict[str, Any] = {"state": self.state, "reason": self.reason, "at": timestamp(time.time())}
        if self.starting:
            payload["starting"] = True
        if self.game_id is not None:
            payload["gameId"] = self.game_id
        self._log.info("station", state=self.state, reason=self._reason, game_id=self.game_id)
        self._channel.publish_state(payload)


def _is_played(followed: FollowedFile | None, max_quiet_seconds: float) -> bool:
    """Whether a game is in progress and we have seen its file grow, with the last growth at most this long ago."""
    if followed is None or followed.game is None or not followed.game.in_progress or not followed.seen_to_grow:
        return False
    return trio.current_time() - followed.grown_at <= max_quiet_seconds
