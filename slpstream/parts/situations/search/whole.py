"""Finds situations in the columns of a whole game (extra `analysis`). The result is the same as frame by frame.

Each condition becomes a mask over all frames. Only the columns that the query needs are read from the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from slpstream.formats.slippi.action_states import StateSet, states_called
from slpstream.formats.slippi.game_time import timer_start
from slpstream.formats.slippi.names import BELOW, PLATFORM, stage_edge
from slpstream.formats.slippi.stats.crediting import HURT_THEMSELVES
from slpstream.model.occurrence import Occurrence
from slpstream.parts.services import OddsOfGame
from slpstream.parts.situations.search.players import pairs_of
from slpstream.parts.situations.search.query import (
    FRAMES_PER_SECOND,
    KILL_FRAMES,
    About,
    AllOf,
    At,
    Bound,
    Condition,
    Grabs,
    InStates,
    Kills,
    Lands,
    Not,
    Query,
    Starts,
    Step,
    Term,
    Whose,
)
from slpstream.parts.situations.search.steps import Chain
from slpstream.parts.situations.search.swings import is_within, span_of
from slpstream.parts.situations.search.vocabulary import HIT_STATES, STATES

if TYPE_CHECKING:
    from slpstream.formats.slippi.columns import EventColumns, Frames
    from slpstream.formats.slippi.game_start import Settings
    from slpstream.formats.slippi.whole_game import WholeGame

Mask = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]


def whole_situations(
    query: Query, game: WholeGame, begin_odds: Callable[[Settings, Frames], OddsOfGame | None] | None = None
) -> list[Occurrence] | None:
    """Return the situations in a finished game, or `None` if its events have to be read one by one.

    Without `begin_odds`, which begins the odds of a game, no situation swings them.
    """
    settings = game.start.settings
    pairs = pairs_of(query, settings)
    if not pairs:
        return []
    if not game.is_plain:
        return None
    columns = _Game(game.frames, stage_edge(settings.stage_id), two_players=len(settings.players) == 2)
    found = [occurrence for player, opponent in pairs for occurrence in columns.find(query, player, opponent)]
    if query.swing is not None and found:
        odds = None if begin_odds is None else begin_odds(settings, game.frames)
        found = [] if odds is None else list(_swinging(query.swing, found, columns, odds))
    return sorted(found, key=lambda occurrence: occurrence.order)


def _swinging(wanted: Bound, found: list[Occurrence], columns: _Game, odds: OddsOfGame) -> Iterator[Occurrence]:
    """Yield the situations that change the odds as wanted."""
    return (each for each in found if is_within(wanted, odds.swing(span_of(each, columns.dying(each.known_frame)))))


class _Player:
    """The columns of one player. Each of them is read from the file when it is first used."""

    def __init__(self, post: EventColumns) -> None:
        self._post = post
        self._columns: dict[str, Array] = {}
        self._in_states: dict[StateSet, Mask] = {}

    @property
    def present(self) -> Mask:
        """Whether the player is in each frame."""
        return self._post.present

    def has(self, name: str) -> bool:
        """Whether the replay has this field."""
        return name in self._post.fields

    def column(self, name: str) -> Array:
        """Return a field over all frames, in the byte order of this machine.

        Floats have double precision, as in Python.
        """
        column = self._columns.get(name)
        if column is None:
            values = self._post[name]
            column = values.astype(np.float64) if values.dtype.kind == "f" else values
            self._columns[name] = column
        return column

    @cached_property
    def moves(self) -> bytes:
        """The last move that the player has landed, by frame.

        This is `bytes`, because finding a move in it is faster than in an array.
        """
        return self.column("last_attack_landed").tobytes()

    def is_in(self, states: StateSet) -> Mask:
        """Whether the player is in one of these states."""
        found = self._in_states.get(states)
        if found is None:
            ids = self.column("action_state_id")
            found = _lookup(states.common)[ids]
            if states.by_fighter:
                fighters = self.column("internal_character_id")
                for fighter in set(np.unique(fighters).tolist()) & states.by_fighter.keys():
                    found = found | (_lookup(states.by_fighter[fighter])[ids] & (fighters == fighter))
            self._in_states[states] = found
        return found


@lru_cache(maxsize=256)
def _lookup(states: frozenset[int]) -> Mask:
    table = np.zeros(1 << 16, np.bool_)
    table[list(states)] = True
    return table


def _shifted(mask: Mask) -> Mask:
    """Return the mask one frame later. In the first frame, it is false."""
    shifted = np.zeros_like(mask)
    shifted[1:] = mask[:-1]
    return shifted


class _Game:
    """The columns of one game."""

    def __init__(self, frames: Frames, edge: float | None, *, two_players: bool) -> None:
        self.number = frames.number
        self.timer_start = timer_start(int(self.number[0]) if len(self.number) else None)
        self.edge = math.nan if edge is None else edge
        self.two_players = two_players
        self.players = {index: _Player(character.post) for index, character in frames.players.items()}

    def dying(self, number: int) -> frozenset[int]:
        """Return the players who are dying in a frame."""
        row = int(np.searchsorted(self.number, number))
        return frozenset(
            index for index, player in self.players.items() if player.present[row] and player.is_in(_DEAD)[row]
        )

    def find(self, query: Query, player: int, opponent: int) -> Iterator[Occurrence]:
        """Yield the occurrences with one player and one opponent."""
        if player not in self.players or opponent not in self.players:
            return
        pair = _Pair(self, player, opponent)
        if not all(_is_possible(step.condition, pair) for step in query.steps):
            return
        happen: list[tuple[int, int]] = []
        last = len(query.steps) - 1
        for position, step in enumerate(query.steps):
            rows = _rows(step, _mask(step.condition, pair) & pair.present)
            if not rows:
                return
            happen += [(row, last - position) for row in rows]
        if last:
            happen.sort()
        chain = Chain([step.within_frames for step in query.steps])
        numbers, known = self.number, pair.known_rows(query.asks_for_kills)
        for row, to_go in happen:
            frames = chain.happen(int(numbers[row]), last - to_go)
            if frames is not None:
                yield Occurrence(player, opponent, frames, int(numbers[row if known is None else known[row]]))


class _Pair:
    """The columns of one player and one opponent."""

    def __init__(self, game: _Game, player: int, opponent: int) -> None:
        self.game = game
        self.indices = player, opponent
        self.own, self.other = game.players[player], game.players[opponent]

    @cached_property
    def reversed(self) -> _Pair:
        """The pair with the roles exchanged."""
        return _Pair(self.game, self.indices[1], self.indices[0])

    @cached_property
    def present(self) -> Mask:
        """Whether both are in each frame."""
        return self.own.present & self.other.present

    @cached_property
    def known(self) -> Mask:
        """Whether both are in each frame and also in the frame before."""
        return self.present & _shifted(self.present)

    @cached_property
    def hits(self) -> Mask:
        """Whether the player hits the opponent."""
        found = np.zeros_like(self.present)
        other = self.other
        percent = other.column("percent")
        rows = np.flatnonzero((percent[1:] > percent[:-1]) & self.known[1:])
        damage = percent[rows + 1] - percent[rows]
        in_hit = other.is_in(HIT_STATES)[rows + 1]
        # As `is_magnifying_glass`. Nearly all hits are in a state of being hit, and need no other column.
        others = ~in_hit & ~(np.abs(damage - 1.0) < 1e-4)
        if others.any():
            others &= ~np.isin(other.column("internal_character_id")[rows + 1], list(HURT_THEMSELVES))
        counts = in_hit | others
        if not self.game.two_players:
            counts &= other.column("last_hit_by")[rows + 1] == self.indices[0]
        found[rows[counts] + 1] = True
        return found

    @cached_property
    def decided(self) -> tuple[Array, Array]:
        """The rows of the player's hits, and for each hit the row in which we know whether it kills.

        If the game ends before that, this is the number of rows.
        """
        hits, numbers = np.flatnonzero(self.hits), self.game.number
        of_other = self.other.column("last_hit_by") != self.indices[0]
        deciding = np.flatnonzero(self.hits | self._dies | of_other | ~self.present)
        found = np.append(deciding, len(numbers))[np.searchsorted(deciding, hits, side="right")]
        found = np.minimum(found, np.searchsorted(numbers, numbers[hits].astype(np.int64) + KILL_FRAMES, side="right"))
        return hits, np.where(of_other[hits], hits, found)

    @cached_property
    def kills(self) -> Mask:
        """Whether the player hits the opponent, who dies from it."""
        hits, decided = self.decided
        within = decided < len(self.present)
        hits, decided = hits[within], decided[within]
        numbers = self.game.number.astype(np.int64)
        died = self._dies[decided] & ~self.hits[decided] & (numbers[decided] <= numbers[hits] + KILL_FRAMES)
        found = np.zeros_like(self.present)
        found[hits[died & (decided > hits)]] = True
        return found

    def known_rows(self, whose_kills: Collection[Whose]) -> Array | None:
        """Return the row in which each row can be judged, or `None` if no row has to wait."""
        if not whose_kills:
            return None
        rows = np.arange(len(self.present))
        for whose in whose_kills:
            hits, decided = (self if whose == "own" else self.reversed).decided
            rows[hits] = np.maximum(rows[hits], np.minimum(decided, len(rows) - 1))
        known: Array = np.maximum.accumulate(rows)
        return known

    @cached_property
    def _dies(self) -> Mask:
        """Whether the opponent begins to die."""
        dead = self.other.is_in(_DEAD)
        return dead & ~_shifted(dead) & self.known


_DEAD = states_called(STATES["dead"])
_LEDGE = states_called(STATES["ledge"])
_GRABBED = states_called(STATES["grabbed"])
_GRABBING = states_called(STATES["grabbing"])


def _rows(step: Step, mask: Mask) -> list[int]:
    """Return the rows in which a step happens."""
    begins = np.flatnonzero(mask & ~_shifted(mask))
    if step.held_frames == 1:
        return [int(row) for row in begins]
    ends = np.flatnonzero(_shifted(mask) & ~mask)
    if len(ends) < len(begins):
        ends = np.append(ends, len(mask))
    held = begins[ends - begins >= step.held_frames]
    return [int(row) + step.held_frames - 1 for row in held]


def _is_possible(condition: Condition, pair: _Pair) -> bool:
    """Whether the condition may hold in some frame. To find out, we use the columns that can be read fastest.

    This is worth it, because most games lack one of the moves.
    """
    if isinstance(condition, About):
        term = condition.term
        own = pair.own if condition.whose == "own" else pair.other
        return not isinstance(term, Lands) or term.moves is None or any(move in own.moves for move in term.moves)
    if isinstance(condition, Not):
        return True
    found = (_is_possible(part, pair) for part in condition.parts)
    return all(found) if isinstance(condition, AllOf) else any(found)


def _mask(condition: Condition, pair: _Pair) -> Mask:
    if isinstance(condition, About):
        return _TERMS[type(condition.term)](condition.term, pair if condition.whose == "own" else pair.reversed)
    if isinstance(condition, Not):
        return ~_mask(condition.part, pair)
    found = _mask(condition.parts[0], pair)
    for part in condition.parts[1:]:
        if isinstance(condition, AllOf):
            if not found.any():
                break
            found = found & _mask(part, pair)
        else:
            found = found | _mask(part, pair)
    return found


def _in_states(term: InStates, pair: _Pair) -> Mask:
    return pair.own.is_in(term.states)


def _starts(term: Starts, pair: _Pair) -> Mask:
    own = pair.own
    inside = own.is_in(term.states)
    was_inside = _shifted(inside)
    again = np.zeros_like(inside)
    if own.has("action_state_counter"):
        states, counter = own.column("action_state_id"), own.column("action_state_counter")
        again[1:] = (states[1:] == states[:-1]) & (counter[1:] < counter[:-1])
    return inside & (~was_inside | again) & pair.known


def _lands(term: Lands, pair: _Pair) -> Mask:
    if term.moves is None:
        return pair.hits
    found = pair.hits.copy()
    rows = np.flatnonzero(found)
    found[rows] = _lookup(term.moves)[pair.own.column("last_attack_landed")[rows]]
    return found


def _grabs(term: Grabs, pair: _Pair) -> Mask:
    grabbed = pair.other.is_in(_GRABBED)
    return grabbed & ~_shifted(grabbed) & pair.own.is_in(_GRABBING) & pair.known


def _kills(term: Kills, pair: _Pair) -> Mask:
    return pair.kills


def _at(term: At, pair: _Pair) -> Mask:
    return _PLACES[term.place](pair.own, pair.game.edge)


def _airborne(own: _Player, wanted: bool) -> Mask:
    if not own.has("is_airborne"):
        return np.zeros_like(own.present)
    found: Mask = own.column("is_airborne") == wanted
    return found


def _off_stage(own: _Player, edge: float) -> Mask:
    x, y = own.column("position_x"), own.column("position_y")
    beyond = (x > edge) | (x < -edge) | ((y < BELOW) & (edge > 0))
    return beyond & _airborne(own, True) & ~own.is_in(_DEAD) & ~own.is_in(_LEDGE)


def _on_stage(own: _Player, edge: float) -> Mask:
    x, y = own.column("position_x"), own.column("position_y")
    found: Mask = (x >= -edge) & (x <= edge) & (y >= BELOW)
    return found


def _on_platform(own: _Player, edge: float) -> Mask:
    found: Mask = (own.column("position_y") > PLATFORM) & (edge > 0) & _airborne(own, False)
    return found


_PLACES: Mapping[str, Callable[[_Player, float], Mask]] = {
    "ground": lambda own, edge: _airborne(own, False),
    "air": lambda own, edge: _airborne(own, True),
    "offstage": _off_stage,
    "onstage": _on_stage,
    "platform": _on_platform,
}
"""For each name of a place, a function that returns in which frames a player is there. It takes the player and the x of
the ledge, which is NaN if we don't know it."""

_COLUMNS = {"percent": "percent", "stocks": "stocks_remaining", "x": "position_x", "y": "position_y"}


def _bound(term: Bound, pair: _Pair) -> Mask:
    name = _COLUMNS.get(term.measure)
    values = pair.game.number if name is None else pair.own.column(name)
    if term.measure == "time":
        values = (values - np.float64(pair.game.timer_start)) / FRAMES_PER_SECOND
    found = np.ones(len(values), np.bool_)
    if term.low is not None:
        low = np.float64(term.low)
        found &= values >= low if term.low_included else values > low
    if term.high is not None:
        high = np.float64(term.high)
        found &= values <= high if term.high_included else values < high
    return found


_TERMS: Mapping[type[Term], Callable[[Any, _Pair], Mask]] = {
    InStates: _in_states,
    Starts: _starts,
    Lands: _lands,
    Grabs: _grabs,
    Kills: _kills,
    At: _at,
    Bound: _bound,
}
