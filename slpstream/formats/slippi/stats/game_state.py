"""The state of one game: its players, how they are related, and what their computers share."""

from __future__ import annotations

from typing import Any, Self

from slpstream.formats.slippi.commands import FIRST_FRAME
from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.falls import FallCounter
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.names import stage_edge
from slpstream.formats.slippi.stats.actions import Actions
from slpstream.formats.slippi.stats.hits import Hits
from slpstream.formats.slippi.stats.inputs import Inputs
from slpstream.formats.slippi.stats.positions import Positions
from slpstream.formats.slippi.stats.punishes import Entries, Punishes
from slpstream.formats.slippi.stats.schema import Combo, Conversion, FirstBlood, Rollbacks, Stock
from slpstream.model.events import Event, GameEvent

PAIR = 2
"""Number of players in a game in which each is the other's only opponent."""
_EVENTS = (
    ("rollback",),
    ("game_paused",),
    ("transformed",),
    ("player_spawned", "stock_lost", "fall"),
    ("percent_changed",),
    ("conversion_started", "conversion_ended"),
    ("combo_started", "combo_extended", "combo_ended"),
    ("lcancel", "tech", "ledge_grab"),
    ("highlight",),
)
"""The order of the events of a frame. Those in one row are ordered by player index."""
_RANKS = {kind: rank for rank, kinds in enumerate(_EVENTS) for kind in kinds}


class Player(Computer):
    """One player. `post` is the Post-Frame Update of the current frame, and `prev` is the one before it."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.post: Any = None
        self.prev: Any = None
        self.restarted = False
        """Whether the action began again: `action_state_counter` fell."""
        self.last_hit: tuple[int, int] | None = None
        """Player index of the last hitter, and the hitter's action state in the frame before the hit; `None` once the
        hitter has left the action."""
        self.self_destructs = 0
        """Stocks lost without an open conversion and without a hitter."""
        self.given_up = 0
        """In a crew battle: stocks lost before the first hit."""
        self.stocks: Entries[Stock] = Entries()
        self.conversions: Punishes[Conversion] = Punishes(index, Conversion)
        self.combos: Punishes[Combo] = Punishes(index, Combo)
        self.actions = Actions(index)
        self.inputs = Inputs()
        self.positions = Positions()
        self.hits = Hits()


class GameState(Computer):
    """The state of one game. All tables that describe how players are related use player indices as keys.

    `compat` and `crew` have the same meaning as in `SlippiStats`.
    """

    def __init__(self, settings: Settings, *, compat: bool, crew: bool) -> None:
        self.compat = compat
        self.crew = crew
        edge = stage_edge(settings.stage_id)
        self.edge = float("inf") if edge is None else edge
        """The x of the right ledge; infinite if it is unknown."""
        self.players = [Player(player.player_index) for player in settings.players]
        self.stocks: list[Stock] = []
        self.conversions: list[Conversion] = []
        self.combos: list[Combo] = []
        self.is_pair = len(self.players) == PAIR
        self.teams = (
            {p.player_index: p.team_id for p in settings.players} if settings.is_teams and not self.is_pair else {}
        )
        self.falls = None if compat or settings.takes_stocks else FallCounter(settings)
        """Decides which lives end, in modes without stocks."""
        self.uses_last_hit_by = crew or not self.is_pair
        """Whether `last_hit_by` says who has hit a player. Otherwise, it is the only opponent."""
        self.counts_all_damage = not compat
        """Whether damage without hitstun is credited too, and each first move of a conversion counts."""
        self.number = FIRST_FRAME - 1
        """The number of the current frame."""
        self.first_number: int | None = None
        self.timer_start = 0
        """The frame in which the timer starts; for slippi-js always 0."""
        self.pauses = self.paused_frames = 0
        self.expected_counter: int | None = None
        """The `scene_frame_counter` of the next frame if there is no pause."""
        self.rollbacks = Rollbacks(0, 0, 0)
        self._rollback_run = 0
        self._rollback_number: int | None = None
        self.any_hit = False
        self.first_blood: FirstBlood | None = None
        self.ended: list[Conversion] = []
        """The conversions that ended in the current frame."""
        self.pending: list[tuple[str, dict[str, Any]]] = []
        """Kind and payload of the events of the current frame."""
        self._link()

    def copy(self) -> Self:
        """Return a copy that is independent from then on, and shares the entries of the lists."""
        twin = super().copy()
        twin.players = [player.copy() for player in self.players]
        twin._link()
        return twin

    def _link(self) -> None:
        # Not in `Player`: players that refer to each other are freed only by the garbage collector, and its runs stop a
        # daemon with many games.
        players, teams = self.players, self.teams
        self.by_index = {player.index: player for player in players}
        self.others = {player.index: [other for other in players if other is not player] for player in players}
        self.opponents = {
            index: [other for other in others if not teams or teams[other.index] != teams[index]]
            for index, others in self.others.items()
        }
        for player in players:
            player.stocks.all = self.stocks
            player.conversions.all = self.conversions
            player.combos.all = self.combos

    def emit(self, kind: str, **values: Any) -> None:
        """Add an event of the current frame."""
        self.pending.append((kind, values))

    def take_scene_counter(self, counter: int) -> None:
        """Take the `scene_frame_counter` of a Frame Start (since 3.10), which tells us about pauses.

        It keeps counting during a pause, so in the first frame after it, it jumps by the length of the pause.
        """
        if self.expected_counter is not None and counter > self.expected_counter:
            paused_frames = counter - self.expected_counter
            self.pauses += 1
            self.paused_frames += paused_frames
            self.emit("game_paused", frames=paused_frames)
        self.expected_counter = counter + 1

    def count_rollback(self, number: int, revision: int) -> None:
        """Count a final frame that was sent several times, so that its `revision` is above 0."""
        self._rollback_run = self._rollback_run + 1 if self._rollback_number == number - 1 else 1
        self._rollback_number = number
        known, run = self.rollbacks, self._rollback_run
        self.rollbacks = Rollbacks(known.frames + 1, known.sendings + revision + 1, max(known.longest, run))
        self.emit("rollback", sent=revision + 1, frames=run)

    def take_events(self, number: int, end_offset: int) -> list[Event]:
        """Return the events of a frame, in order, and forget them."""
        if len(self.pending) > 1:
            self.pending.sort(key=_order)
        events: list[Event] = [GameEvent(end_offset, kind, number, values) for kind, values in self.pending]
        self.pending.clear()
        return events


def _order(event: tuple[str, dict[str, Any]]) -> tuple[int, int]:
    kind, values = event
    return _RANKS[kind], values.get("playerIndex", -1)
