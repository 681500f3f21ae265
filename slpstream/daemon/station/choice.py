"""The rules by which a station chooses its current game. They use neither a clock nor any I/O.

The current game is the one that is being played. Among the games whose files are growing, this is the one with the
newest Game Start. A file that arrives as a whole, such as a copy of an old replay, doesn't show that its game is being
played. Its game only becomes the current one if there is no other that was played on the station.

Each method of `GameChoice` handles one kind of event. It takes the time in seconds (from any steady clock), and returns
the transition that the event causes, or `None` if it does not cause any.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from slpstream.stream.game import Game, Role

if TYPE_CHECKING:
    from slpstream.stream.channel import StationState


class Growth:
    """Remembers when a file grew."""

    __slots__ = ("_read_to_end", "grown_at", "opened_at", "seen")

    def __init__(self, now: float) -> None:
        self.opened_at = self.grown_at = now
        self.seen = False
        """Whether the file has grown after it was read to its end."""
        self._read_to_end = False

    def note_growth(self, now: float) -> None:
        """Note that bytes were read."""
        self.grown_at = now
        self.seen = self.seen or self._read_to_end

    def note_end(self) -> None:
        """Note that the file was read to its end."""
        self._read_to_end = True


class Candidate(NamedTuple):
    """A game in a file that we follow."""

    game: Game
    growth: Growth
    arrived_whole: bool
    """Whether the file was already finished when we saw its first bytes."""


class Turn(NamedTuple):
    """The transition in which another game becomes the current one, and the station is `playing`."""

    game: Game


class Enter(NamedTuple):
    """The transition in which the station enters another state, while the current game stays the same."""

    state: StationState
    reason: str


class GameChoice(NamedTuple):
    """The rules, with the periods that they use."""

    stalled_seconds: float
    """If the file of a game hasn't grown for longer than this, the game gives way to one whose file is growing."""
    idle_seconds: float
    """If the file of a game hasn't grown for longer than this, the game is no longer being played."""
    played_seconds: float
    """Once a newer file has been open for this long, its game replaces a game that is being played."""

    def role_of_new(
        self,
        current: Game | None,
        current_file: Candidate | None,
        now: float,
        *,
        arrived_whole: bool,
        written_whole: bool,
    ) -> Role:
        """Return the role of a game that begins. A new game must not displace a game that is being played.

        `current_file` is the current game with its file, or `None` if we don't follow that file. `written_whole` is
        true for a format whose files are always written in one go.
        """
        if current is not None and current.role is Role.PLAYED:
            is_copied = arrived_whole and not written_whole
            if is_copied or _is_played(current_file, now, self.idle_seconds):
                return Role.SECONDARY
        return Role.RECORDED if arrived_whole or written_whole else Role.PLAYED

    def on_growth(self, grown: Candidate, current: Candidate | None, now: float) -> Turn | None:
        """Handle the growth of a file whose game isn't the current one."""
        if grown.arrived_whole or grown.game.catching_up or not _is_played(grown, now, self.stalled_seconds):
            return None
        if current is not None and _is_played(current, now, self.stalled_seconds):
            is_newer = grown.game.order > current.game.order
            if not is_newer or now - grown.growth.opened_at < self.played_seconds:
                return None
        return Turn(grown.game)

    def on_end(self, ended: Game, candidates: Iterable[Candidate], now: float, reason: str) -> Turn | Enter:
        """Handle the end or the loss of the current game, for the given reason."""
        return self._successor(ended, candidates, now) or Enter("idle", reason)

    def on_silence(
        self, current: Candidate, candidates: Iterable[Candidate], now: float, state: StationState
    ) -> Turn | Enter | None:
        """Handle the passing of time while the current game is in progress."""
        quiet_seconds = now - current.growth.grown_at
        is_stalled = quiet_seconds > self.stalled_seconds
        successor = self._successor(current.game, candidates, now) if is_stalled else None
        if successor is not None:
            return successor
        if quiet_seconds > self.idle_seconds:
            return Enter("idle", "the file has not grown for long")
        return Enter("stalled", "the file does not grow") if is_stalled and state == "playing" else None

    def _successor(self, current: Game, candidates: Iterable[Candidate], now: float) -> Turn | None:
        """Return the newest of the other games that are being played, if there is one."""
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
    """Whether a game is in progress and we have seen its file grow, with the last growth at most this long ago."""
    if candidate is None or not candidate.game.in_progress or not candidate.growth.seen:
        return False
    return now - candidate.growth.grown_at <= max_quiet_seconds
