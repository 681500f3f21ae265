"""How a game ended: its winners, scores and standings. We find them out from the final frames and the Game End.

In an online game of two players, a timeout can be decided by ledge grabs. If time runs out in Slippi Online, and a
player has grabbed ledges more than 45 times, then this player loses, unless the other one has done the same
(documented: release notes of Slippi Dolphin 3.4.1, for ranked, unranked and direct games, not for teams). Since you
can't see the version of Dolphin in a replay, we also apply this rule to games from before 3.4.1 (guessed). A grab is
the beginning of the action state 0xFC, just like in `ledgegrabCount` of the stats (observed). The game has a counter of
its own for this.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from msgspec import UNSET

from slpstream.formats.slippi import result
from slpstream.formats.slippi.assembler import FramesBefore
from slpstream.formats.slippi.commands import LEDGE_CATCH, POST_FRAME
from slpstream.formats.slippi.falls import FallCounter, PlayerScore
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.game_time import playable_seconds, timer_seconds, timer_start
from slpstream.formats.slippi.packed_frame import PackedFrame
from slpstream.model.events import EndReason, Event, Frame, GameEnd, final_frames

_ACTION_FIELDS = "action_state_id", "action_state_counter"

CountLedgeGrabs = Callable[[], Mapping[int, int]]
"""Returns the ledge grabs of a game, by player index."""


def _action(state: int, counter: Any = UNSET) -> tuple[int, Any]:
    return state, counter


class LedgeGrabs:
    """Counts how often each player grabs a ledge. Only final frames count."""

    def __init__(self, players: Iterable[int]) -> None:
        self.counts = dict.fromkeys(players, 0)
        """By player index."""
        self._last: dict[int, tuple[int, Any]] = {}

    def copy(self) -> LedgeGrabs:
        """Return a copy of this counter. It has the same state, but is independent from then on."""
        twin = copy.copy(self)
        twin.counts, twin._last = dict(self.counts), dict(self._last)
        return twin

    def take(self, frame: Frame) -> None:
        """Take the next final frame."""
        content = frame.content
        if type(content) is PackedFrame:
            # Decoding the frame would take longer than all other work on it.
            actions = content.events.fields(POST_FRAME, _ACTION_FIELDS, _action)(content.data)
        else:
            posts = {index: player.post for index, player in content.players.items() if player.post is not UNSET}
            actions = {index: (post.action_state_id, post.action_state_counter) for index, post in posts.items()}
        for index, (state, counter) in actions.items():
            self.add(index, state, counter)

    def add(self, index: int, state: int, counter: Any) -> None:
        """Take the action state of a player in a final frame, and how long it has lasted."""
        if state == LEDGE_CATCH and index in self.counts:
            last, last_counter = self._last.get(index, (None, UNSET))
            if last != LEDGE_CATCH or (counter is not UNSET and counter < last_counter):
                self.counts[index] += 1
            self._last[index] = state, counter
        elif index in self._last:
            del self._last[index]


class Outcome:
    """Makes the `GameEnd`. If falls or ledge grabs might decide the game, it also counts these."""

    def __init__(self, settings: Settings) -> None:
        self._falls = None if settings.takes_stocks else FallCounter(settings)
        self.needs_all_frames = self._falls is not None
        """Whether `take` needs all final frames, and not only those in which a player grabs a ledge and the next ones.
        """
        self._ledge_grabs: LedgeGrabs | None = None
        if result.limits_ledge_grabs(settings):
            self._ledge_grabs = LedgeGrabs(player.player_index for player in settings.players)
        self._count_ledge_grabs: CountLedgeGrabs = dict

    def copy(self) -> Self:
        """Return a copy. It has the same state, but is independent from then on."""
        twin = copy.copy(self)
        twin._falls = None if self._falls is None else self._falls.copy()
        twin._ledge_grabs = None if self._ledge_grabs is None else self._ledge_grabs.copy()
        return twin

    def count_ledge_grabs_with(self, count: CountLedgeGrabs) -> None:
        """If ledge grabs might decide the game, call `count` to get them, instead of counting them in the frames."""
        self._ledge_grabs, self._count_ledge_grabs = None, count

    def take(self, events: Iterable[Event]) -> None:
        """Take the next events of the game. A frame only counts when it is final."""
        if self._falls is None and self._ledge_grabs is None:
            return
        for frame in final_frames(events):
            if self._falls is not None:
                self._falls.take(frame.players)
            if self._ledge_grabs is not None:
                self._ledge_grabs.take(frame)

    def game_end(
        self,
        settings: Settings,
        frames: FramesBefore,
        reason: EndReason,
        payload: result.GameEndPayload | None,
        end_offset: int,
    ) -> GameEnd:
        """Return the end of the game after `frames`. If the game has a Game End, pass it as `payload`."""
        last = frames.last
        number = None if last is None else last.number
        players = {} if last is None else last.entry.players
        posts = {index: p.post for index, p in players.items() if p.post}
        gone = {index: post for index, post in frames.gone.items() if index not in players}
        last_seen = result.LastSeen(posts, gone)
        scores: list[PlayerScore] = [] if self._falls is None else self._falls.scores()
        starts_at = timer_start(frames.first)
        timed = None if frames.repeated else number
        tied = result.is_tied(settings, payload, scores, None if timed is None else timer_seconds(timed, starts_at))
        winners = [] if tied else result.winners(settings, payload, last_seen, self._counted_ledge_grabs, scores)
        values = result.score_values(scores, tied=tied)
        if reason == "raw_length" or (reason == "game_end" and payload is None):
            # The game has closed the file, so Game End was lost, or it does not contain how the game ended.
            cut = len(posts) < len(players)
            winners = [] if cut else result.inferred_winners(settings, last_seen)
            values |= {"basis": result.INFERRED} if winners else {}
        return GameEnd(
            end_offset,
            reason,
            payload,
            winners,
            number,
            None if timed is None else playable_seconds(timed, starts_at),
            values,
            standings=result.standings(settings, payload, last_seen),
        )

    def _counted_ledge_grabs(self) -> Mapping[int, int]:
        return self._count_ledge_grabs() if self._ledge_grabs is None else self._ledge_grabs.counts
