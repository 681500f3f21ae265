"""The rules by which a station chooses its current game. Pure: no clock, no I/O.

The current game is the one being played: among the games whose files grow, the one with the newest Game Start. A file
that arrives whole, such as a copy of an old replay, does not show that its game is being played. Its game becomes the
current one only on a station without a played game.

Each method of `GameChoice` takes one kind of event, with the time in seconds on any steady clock. It returns the
transition that the event causes, or `None`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from slpstream.stream.game import Game, Role

if TYPE_CHECKING:
    from slpstream.stream.channel import StationState


class Growth:
    """When a file grew."""

    __slots__ = ("_read_to_end", "grown_at", "opened_at", "seen")

    def __init__(self, now: float) -> None:
        self.opened_at = self.grown_at = now
        self.seen = False
        """Whether the file has grown after it was read to its end."""
        self._read_to_end = False

    def note_growth(self, now: float) -> None:
        """Record that bytes were read."""
        self.grown_at = now
        self.seen = self.seen or self._read_to_end

    def note_end(self) -> None:
        """Record that the file was read to its end."""
        self._read_to_end = True


class Candidate(NamedTuple):
    """A game in a followed file."""

    game: Game
    growth: Growth
    arrived_whole: bool
    """Whether the file was finished when its first bytes were seen."""


class Turn(NamedTuple):
    """Transition: another game becomes the current one, and the station is `playing`."""

    game: Game


class Enter(NamedTuple):
    """Transition: the station enters another state, and the current game stays."""

    state: StationState
    reason: str


class GameChoice(NamedTuple):
    """The rules, with their periods."""

    stalled_seconds: float
    """A game whose file has not grown for longer gives way to one whose file grows."""
    idle_seconds: float
    """A game whose file has not grown for longer is no longer being played."""
    played_seconds: float
    """A newer file replaces a game that is being played once it has been open for this long."""

    def role_of_new(
        self,
        current: Game | None,
        current_file: Candidate | None,
        now: float,
        *,
        arrived_whole: bool,
        written_whole: bool,
    ) -> Role:
        """Return the role of a game that begins. It must not displace a game that is being played.

        `current_file` is the current game with its file, `None` if the file is not followed. `written_whole` is true
        for a format whose files are always written in one go.
        """
        if current is not None and current.role is Role.PLAYED:
            is_copied = arrived_whole and not written_whole
            if is_copied or _is_played(current_file, now, self.idle_seconds):
                return Role.SECONDARY
        return Role.RECORDED if arrived_whole or written_whole else Role.PLAYED

    def on_growth(self, grown: Candidate, current: Candidate | None, now: float) -> Turn | None:
        """The file of a game that is not the current one has grown."""
        if grown.arrived_whole or grown.game.catching_up or not _is_played(grown, now, self.stalled_seconds):
            return None
        if current is not None and _is_played(current, now, self.stalled_seconds):
            is_newer = grown.game.order > current.game.order
            if not is_newer or now - grown.growth.opened_at < self.played_seconds:
                return None
        return Turn(grown.game)

    def on_end(self, ended: Game, candidates: Iterable[Candidate], now: float, reason: str) -> Turn | Enter:
        """The current game has ended or was lost, for a reason."""
        return self._successor(ended, candidates, now) or Enter("idle", reason)

    def on_silence(
        self, current: Candidate, candidates: Iterable[Candidate], now: float, state: StationState
    ) -> Turn | Enter | None:
        """Time has passed while the current game is in progress."""
        quiet_seconds = now - current.growth.grown_at
        is_stalled = quiet_seconds > self.stalled_seconds
        successor = self._successor(current.game, candidates, now) if is_stalled else None
        if successor is not None:
            return successor
        if quiet_seconds > self.idle_seconds:
            return Enter("idle", "the file has not grown for long")
        return Enter("stalled", "the file does not grow") if is_stalled and state == "playing" else None

    def _successor(self, current: Game, candidates: Iterable[Candidate], now: float) -> Turn | None:
        """The newest other game that is being played."""
        played = (
            candidate.game
            for candidate in candidates
            if candidate.game is not current
            and not candidate.arrived_whole
            and _is_played(candidate, now, self.stalled_seconds)
        )
        newest = max(played, key=lambda game: game.order, default=None)
        return None if newest is None else Turn(newest)


def _is_played(candidate: Candidate | None, now: float, max_quiet_seconds: float) -> bool:
    """Whether a game is in progress and its file was seen to grow, the last time at most this long ago."""
    if candidate is None or not candidate.game.in_progress or not candidate.growth.seen:
        return False
    return now - candidate.growth.grown_at <= max_quiet_seconds
