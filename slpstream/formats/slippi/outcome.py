"""The outcome of a game: winners, scores and standings, from the final frames and the Game End."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Self

from slpstream.formats.slippi import result
from slpstream.formats.slippi.assembler import Assembler
from slpstream.formats.slippi.falls import FinalFalls, PlayerScore
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.game_time import playable_seconds, timer_seconds, timer_start
from slpstream.formats.slippi.ledge_grabs import LedgeGrabs, have_limit
from slpstream.model.events import EndReason, Event, GameEnd

CountLedgeGrabs = Callable[[], Mapping[int, int]]
"""Returns the ledge grabs of a game, by player index."""


class Outcome:
    """Counts falls and ledge grabs in the games that they decide, and makes the `GameEnd`."""

    def __init__(self, settings: Settings) -> None:
        self._falls = None if settings.takes_stocks else FinalFalls(settings)
        self._ledge_grabs: LedgeGrabs | None = None
        if have_limit(settings):
            self._ledge_grabs = LedgeGrabs(player.player_index for player in settings.players)
        self._count_ledge_grabs: CountLedgeGrabs = dict

    def copy(self) -> Self:
        """An independent copy in the same state."""
        twin = copy.copy(self)
        twin._falls = None if self._falls is None else self._falls.copy()
        twin._ledge_grabs = None if self._ledge_grabs is None else self._ledge_grabs.copy()
        return twin

    def count_ledge_grabs_with(self, count: CountLedgeGrabs) -> None:
        """Call `count` if ledge grabs can decide the game, instead of counting them in the frames."""
        self._ledge_grabs, self._count_ledge_grabs = None, count

    def take(self, events: Iterable[Event]) -> None:
        """Take the next events of the game; a frame counts when it is final."""
        if self._falls is not None:
            self._falls.take(events)
        if self._ledge_grabs is not None:
            self._ledge_grabs.take(events)

    def game_end(
        self,
        settings: Settings,
        frames: Assembler,
        reason: EndReason,
        payload: result.GameEndPayload | None,
        end_offset: int,
    ) -> GameEnd:
        """The end of the game, after its last frame. `payload` is the Game End, if the game has one."""
        last = frames.last.frame
        number = None if last is None else last.number
        players = {} if last is None else last.entry.players
        posts = {index: p.post for index, p in players.items() if p.post}
        gone = {index: post for index, post in frames.last.gone.items() if index not in players}
        last_seen = result.LastSeen(posts, gone)
        scores: list[PlayerScore] = [] if self._falls is None else self._falls.counter.scores()
        starts_at = timer_start(frames.numbers.first)
        timed = number if frames.numbers.count_time else None
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
