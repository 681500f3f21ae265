"""The games of a station in order, what an operator said, and the rules, to its sets.

A walk over the games. Each one either goes on with the set or begins another: because the operator says so, the set was
over, the players are others, nobody played for long, or the game itself counts it to another match. Then its sides are
matched with those of the set, and its verdict gives a point to one of them or to none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slpstream.sets.corrections import EMPTY, NOTHING, Corrections, SetCorrection, person
from slpstream.sets.games import PlayedGame, Player, Rules, break_seconds
from slpstream.sets.matching import SAID, folded, others, pair, places
from slpstream.sets.verdicts import Judgement, judge

Place = tuple[str, str]
"""Where a correction of a set is kept: the name of the table in `Corrections` and the key in it."""

_USUAL_PORTS = (0, 1)


class Member:
    """Somebody of a set: what is known by the newest game, and where he sat."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.port = index + 1
        self.connect_code = ""
        self.netplay_name = ""
        self.tag = ""
        self.name = ""
        """Operator's."""
        self.character_id: int | None = None
        self.character_color: int | None = None
        self.team: int | None = None
        """Where there are teams."""
        self.indices: dict[Place, frozenset[int]] = {}

    def plays(self, player: Player, place: Place, *, in_team: bool) -> None:
        """He is this player of a game. What a replay does not say stays as it was known."""
        self.index, self.port = player.index, player.port
        self.connect_code = player.connect_code or self.connect_code
        self.netplay_name = player.netplay_name or self.netplay_name
        self.tag = player.tag or self.tag
        self.character_id, self.character_color = player.character_id, player.character_color
        self.team = player.team if in_team else None
        self.indices[place] = frozenset({player.index})


class Side:
    """A player, or a team."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = list(members)
        self.won = 0
        """Games that count."""
        self.added = 0
        """By the operator."""

    @property
    def score(self) -> int:
        """Never below 0."""
        return max(0, self.won + self.added)


class SetGame(NamedTuple):
    """A game of a set."""

    game: PlayedGame
    judgement: Judgement
    places: Sequence[int]
    """For each side of the game the side of the set."""
    winner: int | None
    """Side of the set."""
    score: Sequence[int]
    """Of all sides, after it."""


class Set:
    """One set, as far as it was played."""

    def __init__(self, behind: str, rules: Rules) -> None:
        """`behind` is the id of the game before its first one; empty when there is none."""
        self.behind = behind
        self.best_of = rules.best_of
        self.sides: list[Side] = []
        self.entries: list[SetGame] = []
        self.all_games: Sequence[PlayedGame] = ()
        """Of this set and those before it, as far as they were looked at."""
        self.places: list[Place] = []
        """Where corrections of this set can be."""

    @property
    def games(self) -> list[PlayedGame]:
        """In order."""
        return [entry.game for entry in self.entries]

    @property
    def last(self) -> PlayedGame | None:
        """The newest game; `None` when it has not begun."""
        return self.entries[-1].game if self.entries else None

    @property
    def place(self) -> Place:
        """Where a correction is kept that is made now."""
        return ("after", self.behind) if self.last is None else ("since", self.last.game_id)

    @property
    def wins_needed(self) -> int:
        """More than half."""
        return self.best_of // 2 + 1

    @property
    def over(self) -> bool:
        """A side has won more than half, or all games were played."""
        scores = [side.score for side in self.sides]
        return max(scores, default=0) >= self.wins_needed or sum(scores) >= self.best_of

    @property
    def winner(self) -> int | None:
        """The side that has won; `None` while nobody has, or when it is a tie."""
        scores = [side.score for side in self.sides]
        best = max(scores, default=0)
        return scores.index(best) if self.over and scores.count(best) == 1 else None

    @property
    def members(self) -> list[Member]:
        """Of all sides, in their order."""
        return [member for side in self.sides for member in side.members]

    def member(self, index: int) -> Member | None:
        """Who sits at a port in the newest game."""
        return next((member for member in self.members if member.index == index), None)

    def side(self, index: int) -> Side | None:
        """The side of who sits at a port in the newest game."""
        return next((side for side in self.sides if any(m.index == index for m in side.members)), None)

    def identity(self, member: Member) -> str | None:
        """Under which key somebody is known beyond this set: the surest that the replays say; `None` without."""
        for kind in SAID:
            name = folded(getattr(member, kind))
            if name and [folded(getattr(other, kind)) for other in self.members].count(name) == 1:
                return person(kind, name)
        return None


def sets_of(games: Sequence[PlayedGame], corrections: Corrections, rules: Rules) -> list[Set]:
    """All sets, the oldest first; the last one is what there is to show. Games of one side alone are in none."""
    played = [game for game in games if len(game.sides()) > 1]
    walk = _Walk(corrections, rules, played)
    for at, game in enumerate(played):
        walk.take(game, newest=at == len(played) - 1)
    behind = played[-1].game_id if played else ""
    if behind in corrections.after or not walk.sets:
        walk.expect(behind)
    return walk.sets


def newest_set(games: Sequence[PlayedGame], corrections: Corrections, rules: Rules) -> Set:
    """The set that there is to show; without games one that has not begun."""
    return sets_of(games, corrections, rules)[-1]


def since_break(games: Sequence[PlayedGame], corrections: Corrections, rules: Rules) -> int | None:
    """The place of the game before the last long break: what was before it makes no difference to the newest set.
    `None` when there was no such break."""
    for at in range(len(games) - 1, 0, -1):
        joined = corrections.games.get(games[at].game_id, NOTHING).begins_set is False
        if not joined and break_seconds(games[at - 1], games[at]) > rules.new_set_seconds:
            return at - 1
    return None


class _Walk:
    """The sets so far."""

    def __init__(self, corrections: Corrections, rules: Rules, games: Sequence[PlayedGame]) -> None:
        self.sets: list[Set] = []
        self._corrections = corrections
        self._rules = rules
        self._games = games

    def take(self, game: PlayedGame, *, newest: bool) -> None:
        """The next game."""
        place = ("since", game.game_id)
        said = self._corrections.since.get(game.game_id, EMPTY)
        teams = game.sides()
        order = self._joins(game, said.names)
        if order is None:
            current = self._begin(game)
            current.sides = [Side([Member(player.index) for player in team]) for team in teams]
            order = tuple(range(len(teams)))
        else:
            current = self.sets[-1]
        current.places.append(place)
        for team, at in zip(teams, order, strict=True):
            for member, player in pair(current.sides[at].members, team, said.names):
                member.plays(player, place, in_team=game.is_teams)
        if not current.entries and current.behind in self._corrections.after:
            self._apply(current, ("after", current.behind))
        self._apply(current, place)
        self._name(current)
        judgement = judge(game, self._corrections.games.get(game.game_id, NOTHING), self._rules, newest=newest)
        winner = None if judgement.side is None else order[judgement.side]
        if judgement.counts and winner is not None:
            current.sides[winner].won += 1
        score = tuple(side.score for side in current.sides)
        current.entries.append(SetGame(game, judgement, order, winner, score))

    def expect(self, behind: str) -> None:
        """A set that has not begun: of those who played last, without their names."""
        before = self.sets[-1].sides if self.sets else [Side([Member(index)]) for index in _USUAL_PORTS]
        indices = [[member.index for member in side.members] for side in before]
        if not self.sets:
            said = self._corrections.after.get(behind, EMPTY)
            further = {*said.names, *said.score} - {index for side in indices for index in side}
            indices += [[index] for index in sorted(further)]
        current = Set(behind, self._rules)
        current.all_games = self._games
        current.sides = [Side([Member(index) for index in side]) for side in indices]
        for member in current.members:
            member.indices["after", behind] = frozenset({member.index})
        current.places.append(("after", behind))
        self._apply(current, ("after", behind))
        self.sets.append(current)

    def _joins(self, game: PlayedGame, names: Mapping[int, str]) -> tuple[int, ...] | None:
        """For each side of the game that of the set; `None` when another set begins."""
        if not self.sets:
            return None
        current = self.sets[-1]
        before = current.games[-1]
        begins = self._corrections.games.get(game.game_id, NOTHING).begins_set
        if begins or (begins is None and self._breaks(current, before, game)):
            return None
        teams = game.sides()
        order = places([side.members for side in current.sides], teams, names)
        if order is None and begins is False:
            # The operator says that they are the same: by port, then in order, where the numbers allow it.
            sizes = [len(side.members) for side in current.sides]
            return tuple(range(len(sizes))) if sizes == [len(team) for team in teams] else None
        return order

    def _breaks(self, current: Set, before: PlayedGame, game: PlayedGame) -> bool:
        matches = {before.match_id, game.match_id} - {""}
        return (
            before.game_id in self._corrections.after
            or current.over
            or len(matches) > 1
            or before.is_teams != game.is_teams
            or break_seconds(before, game) > self._rules.new_set_seconds
            or others(current.members, game.players)
        )

    def _begin(self, game: PlayedGame) -> Set:
        behind = self.sets[-1].games[-1].game_id if self.sets else ""
        current = Set(behind, self._rules)
        current.all_games = self._games
        if behind in self._corrections.after:
            current.places.append(("after", behind))
        self.sets.append(current)
        return current

    def _apply(self, current: Set, place: Place) -> None:
        """What was said when the set was there."""
        kind, key = place
        said: SetCorrection = getattr(self._corrections, kind).get(key, EMPTY)
        current.best_of = said.best_of or current.best_of
        for member in current.members:
            member.indices.setdefault(place, frozenset({member.index}))
        for index, name in said.names.items():
            named = current.member(index)
            if named is not None:
                named.name = name
        for index, added in said.score.items():
            side = current.side(index)
            if side is not None:
                side.added += added

    def _name(self, current: Set) -> None:
        """Those whom the operator has named before, and whom the replays name."""
        for member in current.members:
            identity = current.identity(member)
            if identity is not None and identity in self._corrections.people:
                member.name = self._corrections.people[identity]
