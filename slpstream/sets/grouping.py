"""Group the games of a station into sets.

We go through the games once, in order. For each game, we decide whether it continues the set or begins another one. It
begins another set if the operator has decided so, if the set is over, if the players are different, if there was a long
break, or if it belongs to another ranked match. Then we match the sides of the game with the sides of the set, and the
verdict on the game tells us whether a side gets a point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from slpstream.sets.corrections import (
    EMPTY,
    NO_DETAILS,
    NOTHING,
    Corrections,
    PlayerDetails,
    Seat,
    SetCorrection,
    person,
)
from slpstream.sets.crew_turns import Turn, stocks_left
from slpstream.sets.crews import CREWS, CrewBattle
from slpstream.sets.games import PlayedGame, Player, Rules, break_seconds
from slpstream.sets.matching import REPLAY_NAMES, crew_places, folded, is_same_person, others, paired, places
from slpstream.sets.verdicts import Judgement, judge

Place = tuple[str, str]
"""Where a correction of a set is stored: the name of the table in `Corrections` and the key in it."""

_USUAL_PORTS = (0, 1)


class Member:
    """A member of a set, with everything that we know from the newest game."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.port = index + 1
        self.connect_code = ""
        self.netplay_name = ""
        self.tag = ""
        self.name = ""
        """The operator's name."""
        self.seat: Seat | None = None
        """The name that the member entered; the operator's name takes precedence."""
        self.details = NO_DETAILS
        self.character_id: int | None = None
        self.character_color: int | None = None
        self.team: int | None = None
        """`None` in games without teams."""
        self.indices: dict[Place, frozenset[int]] = {}
        """The player indices at each place where a correction of the set can be stored."""

    @property
    def shown_name(self) -> str | None:
        """The name that you should show, or `None` if the member doesn't have any name."""
        said = "" if self.seat is None else self.seat.name
        return self.name or said or self.netplay_name or self.tag or None

    def plays(self, player: Player, place: Place, *, in_team: bool) -> None:
        """Update this member from a game. If the replay lacks a name, the old one stays."""
        self.index, self.port = player.index, player.port
        self.connect_code = player.connect_code or self.connect_code
        self.netplay_name = player.netplay_name or self.netplay_name
        self.tag = player.tag or self.tag
        self.character_id, self.character_color = player.character_id, player.character_color
        self.team = player.team if in_team else None
        self.indices[place] = frozenset({player.index})


class Side:
    """One side of a set, which is either a player or a team."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = list(members)
        self.won = 0
        """Number of won games that count; in a crew battle, the remaining stocks."""
        self.added = 0
        """Points added by the operator; may be negative."""
        self.carried: int | None = None
        """In a crew battle: the stocks of the player who stays, or `None` if the next player enters."""
        self.indices: dict[Place, frozenset[int]] = {}
        """The player indices of the members at each place where a correction of the set can be stored."""

    @property
    def score(self) -> int:
        """The score. It never drops below 0."""
        return max(0, self.won + self.added)


class SetGame(NamedTuple):
    """A game of a set."""

    game: PlayedGame
    judgement: Judgement
    places: Sequence[int]
    """The place of each side of the game among the sides of the set."""
    winner: int | None
    """The winner's place among the sides of the set."""
    score: Sequence[int]
    """The scores of all sides after the game."""
    turns: Sequence[Turn] = ()
    """In a crew battle: the turn of each side's player, in the order of `PlayedGame.sides`."""


class Set:
    """One set, up to its newest game."""

    def __init__(self, previous_game_id: str, rules: Rules) -> None:
        """`previous_game_id` is the id of the game before the set. For the first set of a station, it is empty."""
        self.previous_game_id = previous_game_id
        self.best_of = rules.best_of
        self.crew_battle: CrewBattle | None = None
        """The crews, if the set is a crew battle."""
        self.round: str | None = None
        """The operator's name of the round."""
        self.swapped = False
        """Whether pictures show the sides in reverse order."""
        self.sides: list[Side] = []
        self.entries: list[SetGame] = []
        self.all_games: Sequence[PlayedGame] = ()
        """The games of this set and of earlier sets, as far back as they were read."""
        self.places: list[Place] = []
        """Where corrections of this set may be stored."""

    @property
    def games(self) -> list[PlayedGame]:
        """The games in order."""
        return [entry.game for entry in self.entries]

    @property
    def last(self) -> PlayedGame | None:
        """The newest game, or `None` if the set has not begun yet."""
        return self.entries[-1].game if self.entries else None

    @property
    def place(self) -> Place:
        """The place where a new correction should be stored."""
        return ("after", self.previous_game_id) if self.last is None else ("since", self.last.game_id)

    @property
    def wins_needed(self) -> int:
        """How many wins a side needs to win the set, which is more than half of the games.

        In a crew battle, this is 0, because it is decided by stocks.
        """
        return 0 if self.crew_battle is not None else self.best_of // 2 + 1

    @property
    def over(self) -> bool:
        """Whether the set is over.

        This is the case if a side has won more than half of the games, or if each game has a winner. A crew battle is
        over when one of the crews has no stocks left.
        """
        scores = [side.score for side in self.sides]
        if self.crew_battle is not None:
            return 0 in scores
        return max(scores, default=0) >= self.wins_needed or sum(scores) >= self.best_of

    @property
    def winner(self) -> int | None:
        """The place of the side that has won. It is `None` if the set isn't over yet, or if it ended in a tie."""
        scores = [side.score for side in self.sides]
        best = max(scores, default=0)
        return scores.index(best) if self.over and scores.count(best) == 1 else None

    @property
    def members(self) -> list[Member]:
        """The members of all sides, in the order of the sides."""
        return [member for side in self.sides for member in side.members]

    def given_names(self) -> dict[str, dict[int, str]]:
        """Return the names to show that come from operators and phones, by game id and by the player index in that
        game.
        """
        found: dict[str, dict[int, str]] = {}
        for game_id, names in self._given_names():
            found.setdefault(game_id, {}).update(names)
        return {each: found[game.game_id] for game in self.games if game.game_id in found for each in game.ids}

    def _given_names(self) -> Iterator[tuple[str, dict[int, str]]]:
        for entry in self.entries:  # most players of a crew battle have left by now
            turns = zip(entry.game.sides(), entry.turns, strict=False)
            yield entry.game.game_id, {team[0].index: turn.name for team, turn in turns if turn.name}
        for member in self.members:
            name = member.shown_name
            if name is not None and (member.name or member.seat is not None):
                for (kind, game_id), indices in member.indices.items():
                    if kind == "since":
                        yield game_id, dict.fromkeys(indices, name)

    def begin_crew_battle(self, crews: CrewBattle | None) -> None:
        """Turn the set into a crew battle before its first game.

        If it isn't a set of two players, this does nothing.
        """
        if crews is not None and len(self.sides) == CREWS and all(len(side.members) == 1 for side in self.sides):
            self.crew_battle = crews
            for side, crew in zip(self.sides, crews.crews, strict=True):
                side.won, side.carried = crew.stocks, None

    def member(self, index: int) -> Member | None:
        """Return the member who had this player index in the newest game."""
        return next((member for member in self.members if member.index == index), None)

    def side(self, index: int) -> Side | None:
        """Return the side of the member who had this player index in the newest game."""
        return next((side for side in self.sides if any(m.index == index for m in side.members)), None)

    def identity(self, member: Member) -> str | None:
        """Return a key by which we can recognise a member in other sets, or `None` if there is none.

        This is the most reliable of the names in the replays that no other member has.
        """
        for kind in REPLAY_NAMES:
            name = folded(getattr(member, kind))
            if name and [folded(getattr(other, kind)) for other in self.members].count(name) == 1:
                return person(kind, name)
        return None


def sets_of(games: Sequence[PlayedGame], corrections: Corrections, rules: Rules) -> list[Set]:
    """Return all sets, beginning with the oldest. The last one is the one to show.

    If a game only has a single side, it doesn't belong to any set.
    """
    played = [game for game in games if len(game.sides()) > 1]
    crews: dict[str, CrewBattle] = {}
    while True:
        grouping = _Grouping(corrections, rules, played, crews)
        for index, game in enumerate(played):
            grouping.take(game, newest=index == len(played) - 1)
        if not grouping.late_crews:
            break
        # The operator made a set a crew battle after its first game, and its stocks count from there.
        crews |= grouping.late_crews
    newest_id = played[-1].game_id if played else ""
    if newest_id in corrections.after or not grouping.sets:
        grouping.expect(newest_id)
    return grouping.sets


def newest_set(games: Sequence[PlayedGame], corrections: Corrections, rules: Rules) -> Set:
    """Return the set to show. If there are no games, this is a set that has not begun yet."""
    return sets_of(games, corrections, rules)[-1]


def since_break(games: Sequence[PlayedGame], corrections: Corrections, rules: Rules) -> int | None:
    """Return the index of the game before the last long break, or `None` if there wasn't one.

    Games before that can't affect the newest set.
    """
    for index in range(len(games) - 1, 0, -1):
        joined = corrections.games.get(games[index].game_id, NOTHING).begins_set is False
        if not joined and break_seconds(games[index - 1], games[index]) > rules.new_set_seconds:
            return index - 1
    return None


def newest_set_since_break(
    games: Sequence[PlayedGame], corrections: Corrections, rules: Rules, *, more: bool
) -> tuple[Set, Sequence[PlayedGame]] | None:
    """Return the set to show, and the games that affect it.

    Set `more` if there are earlier games that you don't pass. If these could make a difference, this returns `None`.
    """
    first = since_break(games, corrections, rules)
    if first is None and more:
        return None
    games = games[first or 0 :]
    return newest_set(games, corrections, rules), games


class _Grouping:
    """The sets of a station, which are built up game by game."""

    def __init__(
        self,
        corrections: Corrections,
        rules: Rules,
        games: Sequence[PlayedGame],
        crews: Mapping[str, CrewBattle],
    ) -> None:
        """`crews` contains the crews of all sets that we know to be crew battles, by the ids of their first games."""
        self.sets: list[Set] = []
        self.late_crews: dict[str, CrewBattle] = {}
        """The crews of sets that were found to be crew battles after their first games."""
        self._unconfirmed: Sequence[tuple[Member, Seat | None]] = ()
        """The members who took their seats after the newest game, with their earlier seats."""
        self._crews = crews
        self._corrections = corrections
        self._rules = rules
        self._games = games

    def take(self, game: PlayedGame, *, newest: bool) -> None:
        """Add the next game to the set that it belongs to."""
        place = ("since", game.game_id)
        corrected = self._corrections.since.get(game.game_id, EMPTY)
        names = {**{index: seat.name for index, seat in corrected.seats.items()}, **corrected.names}
        teams = game.sides()
        order = self._joins(game, names)
        if order is None:
            self._withdraw_seats(game)
            current = self._begin(game)
            order = self._order(game) or tuple(range(len(teams)))
            arranged = sorted(zip(order, teams, strict=True))
            current.sides = [Side([Member(player.index) for player in team]) for _, team in arranged]
            current.begin_crew_battle(self._crews.get(game.game_id))
        else:
            current = self.sets[-1]
            if current.crew_battle is not None:
                _let_next_players_enter(current, teams, order, names)
        current.places.append(place)
        members = paired([side.members for side in current.sides], teams, order, names)
        for team, side, playing in zip(teams, order, members, strict=True):
            for member, player in zip(playing, team, strict=True):
                member.plays(player, place, in_team=game.is_teams)
            # People change sides only if an operator joined the game to the set.
            stayed = [member for member in current.sides[side].members if member in playing]
            current.sides[side].members = [*stayed, *(member for member in playing if member not in stayed)]
        if not current.entries and current.previous_game_id in self._corrections.after:
            self._apply(current, ("after", current.previous_game_id))
        self._apply(current, place)
        self._name(current)
        judgement = judge(game, self._corrections.games.get(game.game_id, NOTHING), self._rules, newest=newest)
        winner = None if judgement.side is None else order[judgement.side]
        turns: Sequence[Turn] = ()
        if current.crew_battle is not None:
            stocks = self._corrections.games.get(game.game_id, NOTHING).stocks
            turns = _carry_over(current, current.crew_battle, teams, order, judgement, stocks)
        elif judgement.counts and winner is not None:
            current.sides[winner].won += 1
        score = tuple(side.score for side in current.sides)
        current.entries.append(SetGame(game, judgement, order, winner, score, turns))
        taking = [member for member in current.members if member.index in corrected.seats_between]
        self._unconfirmed = [(member, member.seat) for member in taking]
        for member in taking:
            member.seat = corrected.seats_between[member.index]

    def expect(self, previous_game_id: str) -> None:
        """Add a set that has not begun yet. It has the ports of the last players, but not their names.

        If people are named at other ports, and each side is a single player, they take the places of the players
        without a name.
        """
        before = self.sets[-1].sides if self.sets else [Side([Member(index)]) for index in _USUAL_PORTS]
        indices = [[member.index for member in side.members] for side in before]
        correction = self._corrections.after.get(previous_game_id, EMPTY)
        named = {*correction.names, *correction.score, *correction.details, *correction.seats}
        further = sorted(named - {index for side in indices for index in side})
        replaced = [side for side in reversed(indices) if len(side) == 1 and side[0] not in named][: len(further)]
        indices = [*(side for side in indices if side not in replaced), *([index] for index in further)]
        if replaced:
            indices.sort()
        current = Set(previous_game_id, self._rules)
        current.all_games = self._games
        current.sides = [Side([Member(index) for index in side]) for side in indices]
        for member in current.members:
            member.indices["after", previous_game_id] = frozenset({member.index})
        current.places.append(("after", previous_game_id))
        self._apply(current, ("after", previous_game_id))
        self.sets.append(current)

    def _joins(self, game: PlayedGame, names: Mapping[int, str]) -> tuple[int, ...] | None:
        """Return the place of each side of the given game among the sides of the newest set, or `None` if the game
        begins another set.
        """
        if not self.sets:
            return None
        current = self.sets[-1]
        before = current.games[-1]
        begins = self._corrections.games.get(game.game_id, NOTHING).begins_set
        if begins or (begins is None and self._breaks(current, before, game)):
            return None
        teams = game.sides()
        sizes = [len(side.members) for side in current.sides]
        order = self._order(game)
        if current.crew_battle is not None and order is None and sizes == [len(team) for team in teams]:
            members = [side.members[0] for side in current.sides]
            stays = [side.carried is not None for side in current.sides]
            return crew_places(members, stays, [team[0] for team in teams], names)
        if order is not None and sizes == [len(team) for _, team in sorted(zip(order, teams, strict=True))]:
            return order
        order = places([side.members for side in current.sides], teams, names)
        if order is None and begins is False:
            # The operator decided that the players are the same people: match them by port if the sizes of the sides
            # agree.
            return tuple(range(len(sizes))) if sizes == [len(team) for team in teams] else None
        return order

    def _order(self, game: PlayedGame) -> tuple[int, ...] | None:
        """Return the places that the operator gave to the sides of the given game, or `None` if there are none or they
        aren't valid.
        """
        order = self._corrections.games.get(game.game_id, NOTHING).sides
        return order if order is not None and sorted(order) == list(range(len(game.sides()))) else None

    def _breaks(self, current: Set, before: PlayedGame, game: PlayedGame) -> bool:
        """Whether a game begins another set for a reason that has nothing to do with its sides."""
        matches = {before.match_id, game.match_id} - {""}
        return (
            before.game_id in self._corrections.after
            or current.over
            or len(matches) > 1
            or before.is_teams != game.is_teams
            or break_seconds(before, game) > self._rules.new_set_seconds
            or (current.crew_battle is None and others(current.members, game.players))
        )

    def _withdraw_seats(self, game: PlayedGame) -> None:
        """If this game begins another set, and the operator hasn't decided so, withdraw the seats that were taken after
        the newest game.
        """
        if not self.sets or self.sets[-1].over or self.sets[-1].games[-1].game_id in self._corrections.after:
            return
        if not self._corrections.games.get(game.game_id, NOTHING).begins_set:
            for member, seat in self._unconfirmed:
                member.seat = seat

    def _begin(self, game: PlayedGame) -> Set:
        previous_game_id = self.sets[-1].games[-1].game_id if self.sets else ""
        current = Set(previous_game_id, self._rules)
        current.all_games = self._games
        if previous_game_id in self._corrections.after:
            current.places.append(("after", previous_game_id))
        self.sets.append(current)
        return current

    def _apply(self, current: Set, place: Place) -> None:
        """Apply the corrections that are stored at the given place."""
        kind, key = place
        correction: SetCorrection = getattr(self._corrections, kind).get(key, EMPTY)
        current.best_of = correction.best_of or current.best_of
        current.round = correction.round or current.round
        current.swapped = current.swapped if correction.swapped is None else correction.swapped
        if correction.crew_battle is not None and current.crew_battle != correction.crew_battle:
            self._crew_battle_found(current, correction.crew_battle)
        for member in current.members:
            member.indices.setdefault(place, frozenset({member.index}))
        for side in current.sides:
            side.indices[place] = frozenset(member.index for member in side.members)
        for index, name in correction.names.items():
            named = current.member(index)
            if named is not None:
                named.name = name
        for index, seat in correction.seats.items():
            seated = current.member(index)
            if seated is not None:
                # Nobody has two seats. A name that an operator gave to this port can hide that the person has moved.
                for member in current.members:
                    if member.seat is not None and folded(member.seat.name) == folded(seat.name):
                        member.seat = None
                seated.seat = seat
        for index, details in correction.details.items():
            described = current.member(index)
            if described is not None:
                described.details = _merged(described.details, details)
        for index, added in correction.score.items():
            scored = current.side(index)
            if scored is not None:
                scored.added += added

    def _crew_battle_found(self, current: Set, crews: CrewBattle) -> None:
        if not current.entries:
            current.begin_crew_battle(crews)
        elif current.games[0].game_id not in self._crews:
            self.late_crews.setdefault(current.games[0].game_id, crews)

    def _name(self, current: Set) -> None:
        """Apply the corrections for people who have a name in the replays. These can come from earlier sets too."""
        for member in current.members:
            identity = current.identity(member)
            if identity is not None and identity in self._corrections.people:
                member.name = self._corrections.people[identity]
            if identity is not None and identity in self._corrections.details:
                member.details = _merged(member.details, self._corrections.details[identity])


def _let_next_players_enter(
    current: Set, teams: Sequence[Sequence[Player]], order: Sequence[int], names: Mapping[int, str]
) -> None:
    """Replace those members who have left by new ones."""
    for team, place in zip(teams, order, strict=True):
        side = current.sides[place]
        if side.carried is None or not is_same_person(side.members[0], team[0], names):
            side.members = [Member(team[0].index)]


def _carry_over(
    current: Set,
    crews: CrewBattle,
    teams: Sequence[Sequence[Player]],
    order: Sequence[int],
    judgement: Judgement,
    corrected: Mapping[int, int],
) -> Sequence[Turn]:
    """Subtract the stocks that were lost in a game of a crew battle. Returns the turns of its players."""
    sides = [current.sides[place] for place in order]
    entered = [
        min(crews.stocks_per_player if side.carried is None else side.carried, side.score or crews.stocks_per_player)
        for side in sides
    ]
    names = [side.members[0].shown_name or "" for side in sides]
    if not judgement.counts:
        return [Turn(name, had, None) for name, had in zip(names, entered, strict=True)]
    left = stocks_left([team[0] for team in teams], entered, judgement.side, corrected)
    for side, had, kept in zip(sides, entered, left, strict=True):
        side.won += kept - had
        side.carried = kept or None
    return [Turn(name, had, kept) for name, had, kept in zip(names, entered, left, strict=True)]


def _merged(details: PlayerDetails, newer: PlayerDetails) -> PlayerDetails:
    known = {name: value for name in newer.__struct_fields__ if (value := getattr(newer, name)) is not None}
    return msgspec.structs.replace(details, **known)
