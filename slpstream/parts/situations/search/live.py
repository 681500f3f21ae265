"""Finds situations in the final frames of a running game.

A hit that may kill can only be judged when the opponent has died from it, or can't die from it any more. Because of
this, a query for kills waits for at most `KILL_FRAMES` frames. Later frames of the same two players have to wait as
well.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from msgspec import UNSET

from slpstream.formats.slippi.action_states import StateSet, states_called
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.game_time import timer_start
from slpstream.formats.slippi.names import BELOW, PLATFORM, stage_edge
from slpstream.formats.slippi.stats.crediting import HURT_THEMSELVES, is_magnifying_glass
from slpstream.model.events import Event, Frame, final_frames
from slpstream.model.occurrence import Occurrence
from slpstream.parts.situations.search.messages import GameSetup
from slpstream.parts.situations.search.players import pairs_of
from slpstream.parts.situations.search.posts import Post, Row, read_row
from slpstream.parts.situations.search.query import (
    FRAMES_PER_SECOND,
    KILL_FRAMES,
    About,
    AnyOf,
    At,
    Bound,
    Condition,
    Grabs,
    InStates,
    Kills,
    Lands,
    Measure,
    Not,
    Query,
    Starts,
    Term,
    Whose,
)
from slpstream.parts.situations.search.steps import Chain
from slpstream.parts.situations.search.vocabulary import HIT_STATES, STATES


class _Side:
    """One player in a frame, as one opponent sees it."""

    __slots__ = ("before", "hits", "kills", "post", "timer_frames")

    def __init__(self, post: Post, before: Post | None, timer_frames: int, *, hits: bool, kills: bool) -> None:
        self.post: Any = post
        self.timer_frames = timer_frames
        """How many frames the timer has run."""
        self.before: Any = before
        """The player in the frame before, if both players were in that frame."""
        self.hits = hits
        """Whether the player hits the opponent in this frame."""
        self.kills = kills
        """Whether the opponent dies from this hit."""


_Holds = Callable[[int, _Side, _Side], bool]
"""Returns whether a condition holds, given the frame number, the player and the opponent."""


class _Waiting(NamedTuple):
    """A frame that is waiting to be judged."""

    position: int
    row: Row
    before: Row
    hits: frozenset[tuple[int, int]]
    kills: set[tuple[int, int]]


class _Pair:
    """The state of the search between one player and one opponent."""

    __slots__ = ("chain", "open_for", "opponent", "player", "runs", "waiting")

    def __init__(
        self, player: int, opponent: int, chain: Chain, runs: list[int], whose_kills: frozenset[Whose]
    ) -> None:
        self.player = player
        self.opponent = opponent
        self.chain = chain
        self.runs = runs
        """For how many frames the condition of each step has held."""
        directions: Mapping[Whose, tuple[int, int]] = {"own": (player, opponent), "opponent": (opponent, player)}
        self.open_for = [directions[whose] for whose in whose_kills]
        """The hits that have to be decided before we can judge later frames. Each is a pair of hitter and victim."""
        self.waiting: deque[_Waiting] = deque()

    def copy(self, waiting: Mapping[int, _Waiting]) -> _Pair:
        """Return an independent pair in the same state.

        `waiting` contains copies of all waiting frames, by position.
        """
        twin = _Pair(self.player, self.opponent, self.chain.copy(), list(self.runs), frozenset())
        twin.open_for = self.open_for
        twin.waiting = deque(waiting[each.position] for each in self.waiting)
        return twin


class LiveSituations:
    """Finds the situations of one query in one game, from its events in order. Only final frames count."""

    def __init__(self, query: Query, settings: Settings | GameSetup) -> None:
        edge = stage_edge(settings.stage_id)
        self._steps = [(_compiled(step.condition, edge), step.held_frames) for step in query.steps]
        limits = [step.within_frames for step in query.steps]
        self._pairs = [
            _Pair(player, opponent, Chain(limits), [0] * len(limits), query.asks_for_kills)
            for player, opponent in pairs_of(query, settings)
        ]
        named = {(pair.player, pair.opponent) for pair in self._pairs}
        self._directions = sorted(named | {(opponent, player) for player, opponent in named})
        self._kill_directions = sorted({direction for pair in self._pairs for direction in pair.open_for})
        self._two_players = len(settings.players) == 2
        self._before = Row(0, {})
        self._count = 0
        self._timer_start = 0
        self._open: dict[tuple[int, int], _Waiting] = {}
        """The latest hit of each player on each opponent, as long as it may still kill."""

    @property
    def is_possible(self) -> bool:
        """Whether there are a player and an opponent in the game that the query is about."""
        return bool(self._pairs)

    @property
    def dying(self) -> frozenset[int]:
        """The players who are dying in the newest frame."""
        return frozenset(index for index, post in self._before.posts.items() if _is_in(_DEAD, post))

    def copy(self) -> Self:
        """Return an independent search in the same state."""
        twin = copy.copy(self)
        # Waiting frames are changed when a kill is found, so they are not shared.
        waiting = {each.position: each for pair in self._pairs for each in pair.waiting}
        copies = {position: each._replace(kills=set(each.kills)) for position, each in waiting.items()}
        twin._pairs = [pair.copy(copies) for pair in self._pairs]
        twin._open = {pair: copies[each.position] for pair, each in self._open.items()}
        return twin

    def take(self, events: Iterable[Event]) -> list[Occurrence]:
        """Take the next events of the game, and return the situations that we know now."""
        found: list[Occurrence] = []
        for frame in final_frames(events):
            found += self.feed(frame)
        return found

    def finish(self) -> list[Occurrence]:
        """End the game, which judges the frames that are still waiting."""
        self._open.clear()
        return self._judge_waiting()

    def feed(self, frame: Frame) -> list[Occurrence]:
        """Take the next final frame. You can use this instead of events, with each number once and in order."""
        if not self._pairs:
            return []
        if not self._count:
            self._timer_start = timer_start(frame.number)
        row, before = read_row(frame), self._before
        self._before = row
        hits = frozenset(direction for direction in self._directions if self._hits(direction, row, before))
        new = _Waiting(self._count, row, before, hits, set())
        self._count += 1
        for direction in self._kill_directions:
            self._follow_kill(direction, new)
        for pair in self._pairs:
            pair.waiting.append(new)
        return self._judge_waiting()

    def _hits(self, direction: tuple[int, int], row: Row, before: Row) -> bool:
        player, opponent = direction
        post, last = row.posts.get(opponent), before.posts.get(opponent)
        if post is None or last is None or player not in row.posts or player not in before.posts:
            return False
        damage = post.percent - last.percent
        if not damage > 0:
            return False
        if not HIT_STATES.has(post.internal_character_id, post.action_state_id) and (
            is_magnifying_glass(damage) or post.internal_character_id in HURT_THEMSELVES
        ):
            return False
        return self._two_players or bool(post.last_hit_by == player)

    def _follow_kill(self, direction: tuple[int, int], new: _Waiting) -> None:
        """Decide whether the latest hit of a player on an opponent kills, as far as this frame shows it."""
        player, opponent = direction
        posts, last = new.row.posts, new.before.posts
        if direction in new.hits:
            self._open.pop(direction, None)
            if posts[opponent].last_hit_by == player:
                self._open[direction] = new
            return
        hit = self._open.get(direction)
        if hit is None:
            return
        if player not in posts or opponent not in posts or new.row.number > hit.row.number + KILL_FRAMES:
            del self._open[direction]
        elif _is_in(_DEAD, posts[opponent]) and not _is_in(_DEAD, last[opponent]):
            hit.kills.add(direction)
            del self._open[direction]
        elif posts[opponent].last_hit_by != player:
            del self._open[direction]

    def _judge_waiting(self) -> list[Occurrence]:
        """Judge the frames for which we know whether their hits kill."""
        found: list[Occurrence] = []
        for pair in self._pairs:
            hits = (self._open.get(direction) for direction in pair.open_for)
            first_open = min((hit.position for hit in hits if hit is not None), default=self._count)
            waiting = pair.waiting
            while waiting and waiting[0].position < first_open:
                found += self._judge(pair, waiting.popleft())
        return sorted(found, key=lambda occurrence: occurrence.order) if len(found) > 1 else found

    def _judge(self, pair: _Pair, now: _Waiting) -> Iterator[Occurrence]:
        number, posts = now.row
        last = now.before.posts
        player, opponent = pair.player, pair.opponent
        post, other_post = posts.get(player), posts.get(opponent)
        if post is None or other_post is None:
            pair.runs = [0] * len(pair.runs)
            return
        known = player in last and opponent in last
        forth, back = (player, opponent), (opponent, player)
        played = number - self._timer_start
        before, other_before = (last[player], last[opponent]) if known else (None, None)
        own = _Side(post, before, played, hits=forth in now.hits, kills=forth in now.kills)
        other = _Side(other_post, other_before, played, hits=back in now.hits, kills=back in now.kills)
        for step in range(len(self._steps) - 1, -1, -1):
            holds, held_frames = self._steps[step]
            if not holds(number, own, other):
                pair.runs[step] = 0
                continue
            pair.runs[step] += 1
            if pair.runs[step] == held_frames:
                frames = pair.chain.happen(number, step)
                if frames is not None:
                    yield Occurrence(player, opponent, frames, self._before.number)


_DEAD = states_called(STATES["dead"])
_LEDGE = states_called(STATES["ledge"])
_GRABBED = states_called(STATES["grabbed"])
_GRABBING = states_called(STATES["grabbing"])


def _is_in(states: StateSet, post: Any) -> bool:
    return states.has(post.internal_character_id, post.action_state_id)


def _compiled(condition: Condition, edge: float | None) -> _Holds:
    if isinstance(condition, About):
        holds = _TERMS[type(condition.term)](condition.term, edge)
        if condition.whose == "own":
            return holds
        return lambda number, own, other: holds(number, other, own)
    if isinstance(condition, Not):
        negated = _compiled(condition.part, edge)
        return lambda number, own, other: not negated(number, own, other)
    parts = [_compiled(part, edge) for part in condition.parts]
    if isinstance(condition, AnyOf):
        return lambda number, own, other: any(part(number, own, other) for part in parts)
    return lambda number, own, other: all(part(number, own, other) for part in parts)


def _in_states(term: InStates, edge: float | None) -> _Holds:
    states = term.states
    return lambda number, own, other: _is_in(states, own.post)


def _starts(term: Starts, edge: float | None) -> _Holds:
    states = term.states

    def holds(number: int, own: _Side, other: _Side) -> bool:
        post, before = own.post, own.before
        if before is None or not _is_in(states, post):
            return False
        if not _is_in(states, before):
            return True
        if post.action_state_id != before.action_state_id or post.action_state_counter is UNSET:
            return False
        return bool(post.action_state_counter < before.action_state_counter)

    return holds


def _lands(term: Lands, edge: float | None) -> _Holds:
    moves = term.moves
    if moves is None:
        return lambda number, own, other: own.hits
    return lambda number, own, other: own.hits and own.post.last_attack_landed in moves


def _grabs(term: Grabs, edge: float | None) -> _Holds:
    return lambda number, own, other: (
        other.before is not None
        and _is_in(_GRABBED, other.post)
        and not _is_in(_GRABBED, other.before)
        and _is_in(_GRABBING, own.post)
    )


def _kills(term: Kills, edge: float | None) -> _Holds:
    return lambda number, own, other: own.kills


def _at(term: At, edge: float | None) -> _Holds:
    return _PLACES[term.place](math.nan if edge is None else edge)


def _off_stage(edge: float) -> _Holds:
    if math.isnan(edge):
        return lambda number, own, other: False
    return lambda number, own, other: (
        own.post.is_airborne is True
        and (own.post.position_x > edge or own.post.position_x < -edge or own.post.position_y < BELOW)
        and not _is_in(_DEAD, own.post)
        and not _is_in(_LEDGE, own.post)
    )


_PLACES: Mapping[str, Callable[[float], _Holds]] = {
    "ground": lambda edge: lambda number, own, other: own.post.is_airborne is False,
    "air": lambda edge: lambda number, own, other: own.post.is_airborne is True,
    "offstage": _off_stage,
    "onstage": lambda edge: (
        lambda number, own, other: -edge <= own.post.position_x <= edge and own.post.position_y >= BELOW
    ),
    "platform": lambda edge: (
        lambda number, own, other: edge > 0 and own.post.is_airborne is False and own.post.position_y > PLATFORM
    ),
}
"""For each name of a place, a function that takes the x of the ledge (NaN if we don't know it), and returns the test
whether a player is there."""


def _bound(term: Bound, edge: float | None) -> _Holds:
    value = _MEASURES[term.measure]
    low = -math.inf if term.low is None else term.low
    high = math.inf if term.high is None else term.high
    low_included, high_included = term.low_included, term.high_included

    def holds(number: int, own: _Side, other: _Side) -> bool:
        found = value(number, own)
        return bool(
            (low < found or (low_included and low == found)) and (found < high or (high_included and found == high))
        )

    return holds


_MEASURES: Mapping[Measure, Callable[[int, _Side], float]] = {
    "percent": lambda number, side: side.post.percent,
    "stocks": lambda number, side: side.post.stocks_remaining,
    "x": lambda number, side: side.post.position_x,
    "y": lambda number, side: side.post.position_y,
    "frame": lambda number, side: number,
    "time": lambda number, side: side.timer_frames / FRAMES_PER_SECOND,
}

_TERMS: Mapping[type[Term], Callable[[Any, float | None], _Holds]] = {
    InStates: _in_states,
    Starts: _starts,
    Lands: _lands,
    Grabs: _grabs,
    Kills: _kills,
    At: _at,
    Bound: _bound,
}
