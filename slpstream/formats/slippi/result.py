"""How a game ended: its winners, scores and standings. We find them out from the final frames and the Game End.

We follow the rules of slippi-js 9.1 (`getWinners`), but without its bugs. If a no contest doesn't have an initiator,
there's no winner, and a second Game End doesn't change anything. Before 3.13, there are no placements. If such a game
didn't end because someone quit or time ran out, stocks decide it, and then percent. We also know some things that
slippi-js doesn't: the team of a player who quits loses, the last frame can decide a game whose Game End was lost, and
ledge grabs can decide a timeout.

In an online game of two players, if time runs out, and a player has grabbed ledges more than 45 times, then this player
loses, unless the other one has done the same (documented: release notes of Slippi Dolphin 3.4.1, for ranked, unranked
and direct games, not for teams). Since you can't see the version of Dolphin in a replay, we also apply this rule to
games from before 3.4.1 (guessed). A grab is the beginning of the action state 0xFC, just like in `ledgegrabCount` of
the stats (observed). The game has a counter of its own for this.

In modes without stocks, the placements decide, or else the score of time mode. If players have the same score, the game
ranks them by KOs, falls and port, and then plays sudden death. So if the first placements are in this order, it is a
tie (documented by the public decompilation; two real games of a minute without a fall have such placements). In stamina
mode, the placements decide, or else who has stocks left (guessed: no replay of it was at hand).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

import msgspec
from msgspec import UNSET, UnsetType

from slpstream.formats.slippi.assembler import FramesBefore
from slpstream.formats.slippi.commands import FRAMES_PER_SECOND, LAST_DYING, LEDGE_CATCH, POST_FRAME
from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.falls import FallCounter, PlayerScore
from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE, PLAYERS, TIME_MODE, Settings
from slpstream.formats.slippi.game_time import playable_frames, timer_start
from slpstream.formats.slippi.packed_frame import PackedFrame
from slpstream.model.events import EndReason, Event, Frame, GameEnd, final_frames

INFERRED: Literal["inferred"] = "inferred"
"""The `basis` of winners that the last frame shows, in a replay without Game End."""

UNRESOLVED, TIME, GAME, RESOLVED, NO_CONTEST = 0, 1, 2, 3, 7
_QUIT = (UNRESOLVED, NO_CONTEST)
MAX_LEDGE_GRABS = 45
_OPPONENTS = 2
"""Number of sides in a game in which one loses when the other wins."""
_ACTION_FIELDS = "action_state_id", "action_state_counter"


class Placement(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """slippi-js `PlacementType`: a player and its position, 0 for the first."""

    player_index: int
    position: int | UnsetType


class GameEndPayload(msgspec.Struct, rename="camel", frozen=True, gc=False, omit_defaults=True):
    """slippi-js `GameEndType`. `placements` always has four entries; before 3.13 they lack the `position`."""

    game_end_method: int
    lras_initiator_index: Any = UNSET
    placements: list[Placement] = []

    @classmethod
    def of(cls, event: Any) -> Self:
        """Return a decoded Game End event in this form."""
        positions = [event.placement_1, event.placement_2, event.placement_3, event.placement_4]
        placements = [Placement(i, position) for i, position in enumerate(positions)]
        return cls(event.game_end_method, event.lras_initiator_index, placements)


def limits_ledge_grabs(settings: Settings) -> bool:
    """Whether a timeout can be decided by ledge grabs if a game has these settings."""
    online = settings.game_mode == MAJOR_SCENE_ONLINE
    return settings.takes_stocks and online and len(settings.players) == _OPPONENTS and not settings.is_teams


class LedgeGrabs(Computer):
    """Counts how often each player grabs a ledge. Only final frames count."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        """By player index."""
        self._last: dict[int, Any] = {}
        """How long the players that hold a ledge have been in this action state."""

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
            if state == LEDGE_CATCH:
                if index not in self._last or (counter is not UNSET and counter < self._last[index]):
                    self.counts[index] += 1
                self._last[index] = counter
            else:
                self._last.pop(index, None)


def _action(state: int, counter: Any = UNSET) -> tuple[int, Any]:
    return state, counter


class Outcome(Computer):
    """Makes the `GameEnd`. If falls or ledge grabs might decide the game, it also counts these."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._falls = None if settings.takes_stocks else FallCounter(settings)
        self.needs_all_frames = self._falls is not None
        """Whether `take` needs all final frames, or only those in which a player grabs a ledge, and the next ones."""
        self._ledge_grabs = LedgeGrabs() if limits_ledge_grabs(settings) else None

    def take(self, events: Iterable[Event]) -> None:
        """Take the next events of the game. A frame only counts when it is final."""
        if self._falls is not None:
            for frame in final_frames(events):
                self._falls.take(frame.players)
        elif self._ledge_grabs is not None:
            for frame in final_frames(events):
                self._ledge_grabs.take(frame)

    def game_end(
        self,
        frames: FramesBefore,
        reason: EndReason,
        payload: GameEndPayload | None,
        end_offset: int,
    ) -> GameEnd:
        """Return the end of the game after `frames`. If the game has a Game End, pass it as `payload`."""
        last, starts_at = frames.last, timer_start(frames.first)
        timed = None if last is None or frames.repeated else last.number
        scores = [] if self._falls is None else self._falls.scores()
        ending = _Ending(self._settings, payload, frames, scores)
        tied = ending.is_tied(None if timed is None else max(0, timed - starts_at))
        grabs = {} if self._ledge_grabs is None else self._ledge_grabs.counts
        winners = [] if tied else ending.winners(grabs)
        values: dict[str, Any] = ({"scores": scores} if scores else {}) | ({"tied": True} if tied else {})
        if reason == "raw_length" or (reason == "game_end" and payload is None):
            # The game has closed the file, so Game End was lost, or it does not contain how the game ended.
            winners = ending.inferred_winners()
            values |= {"basis": INFERRED} if winners else {}
        return GameEnd(
            end_offset,
            reason,
            payload,
            winners,
            None if last is None else last.number,
            None if timed is None else playable_frames(timed, starts_at) / FRAMES_PER_SECOND,
            values,
            standings=ending.standings(),
        )


class _Ending:
    """The rules by which the winners follow from the end of a game."""

    def __init__(
        self, settings: Settings, end: GameEndPayload | None, frames: FramesBefore, scores: Sequence[PlayerScore]
    ) -> None:
        """`scores` are those of a game without stocks."""
        self._settings = settings
        self._end = end
        self._scores = scores
        shown = {} if frames.last is None else frames.last.entry.players
        self._posts = {index: player.post for index, player in shown.items() if player.post}
        """The Post-Frame Updates in the last frame, by player index."""
        self._is_cut = len(self._posts) < len(shown)
        self._gone = {index: post for index, post in frames.gone.items() if index not in shown}
        """The last Post-Frame Updates of players whom the last frame lacks."""
        sides: dict[int, list[int]] = {}
        for player in settings.players:
            side = player.team_id if settings.is_teams else player.player_index
            sides.setdefault(side, []).append(player.player_index)
        self._sides = list(sides.values())
        """The players that win together: the teams, or if there are none, each player alone."""
        self._stocks = self._stocks_at_end()
        self._left = [side for side in self._sides if any(self._stocks[player] != 0 for player in side)]
        """The sides of a stock game that might have stocks."""

    def winners(self, ledge_grabs: Mapping[int, int]) -> list[Placement]:
        """Return the winners. There can be several if there are teams, and none if we don't know who has won.

        If the replay has placements, they keep their positions, and otherwise, all of them have position 0.
        `ledge_grabs` is how often each player has grabbed a ledge, by player index.
        """
        end, settings, stocks, left = self._end, self._settings, self._stocks, self._left
        if end is None:
            return []
        if end.game_end_method in _QUIT:
            stayed = [side for side in self._sides if end.lras_initiator_index not in side]
            return _first(stayed[0] if len(self._sides) == _OPPONENTS and len(stayed) == 1 else [])
        placed = self._placed_first(end)
        if not settings.takes_stocks:
            return _first(self._best_score()) if placed is None else placed
        if any(player.stamina_mode for player in settings.players):
            return _first(left[0] if len(left) == 1 else []) if placed is None else placed
        if not left and any(player.start_stocks for player in settings.players):
            return []
        if end.game_end_method == TIME and limits_ledge_grabs(settings):
            within = [player for player in stocks if ledge_grabs.get(player, 0) <= MAX_LEDGE_GRABS]
            if len(within) == 1:
                return _first(within)
        known = {player: count for player, count in stocks.items() if count is not None}
        if end.game_end_method == TIME and len(stocks) == len(known) == _OPPONENTS:
            return _first(self._ahead([[player] for player in stocks], known))
        if placed is not None:
            return placed
        if len(stocks) < _OPPONENTS or end.game_end_method not in (TIME, GAME, RESOLVED):
            return []
        if end.game_end_method != TIME and len(left) == 1:
            return _first(left[0])
        return _first(self._ahead(self._sides, known)) if len(known) == len(stocks) else []

    def is_tied(self, timer_frames: int | None) -> bool:
        """Whether a game of time mode ended with several sides in first place, so that sudden death has to decide it.

        `timer_frames` is how long the timer ran, or `None` if we don't know this.
        """
        end, settings = self._end, self._settings
        if end is None or settings.in_game_mode != TIME_MODE or end.game_end_method in _QUIT:
            return False
        if len(self._sides) < _OPPONENTS:
            return False
        first = {p.player_index for p in end.placements if p.position == 0}
        if sum(1 for side in self._sides if first & {*side}) > 1:
            return True
        if self._best_score():
            return False
        if not _has_placements(end):
            return True
        # A game that was cut short before any fall has no meaningful score.
        ran_out = timer_frames is not None and timer_frames >= settings.starting_timer_seconds * FRAMES_PER_SECOND
        counted = any(each.falls for each in self._scores) or ran_out
        return counted and (settings.is_teams or first == {max(self._scores, key=_rank).player_index})

    def inferred_winners(self) -> list[Placement]:
        """Return the winners of a stock game whose Game End was lost, which is the only side that isn't out.

        If several sides might have stocks, or none has any, or the last frame is cut off, the result is empty.
        """
        if self._is_cut or not self._settings.takes_stocks or len(self._sides) < _OPPONENTS:
            return []
        shown = self._posts.keys() | self._gone.keys()
        return _first(self._left[0]) if len(self._left) == 1 and shown & {*self._left[0]} else []

    def standings(self) -> dict[int, dict[str, Any]]:
        """Return how many stocks and how much percent each player had at the end, by player index.

        If a player was out by then, they have 0 stocks. In modes without stocks, you only get the percent. If we don't
        know anything about a player, they are left out. If there was no frame, the result is empty.
        """
        if not self._posts:
            return {}
        if not self._settings.takes_stocks:
            return {p: {"percent": self._posts[p].percent} for p in self._stocks if p in self._posts}
        found: dict[int, dict[str, Any]] = {}
        for player, stocks in self._stocks.items():
            post = self._posts.get(player)
            if post is None and stocks is None:
                post = self._gone.get(player)
            if post is not None:
                found[player] = {"stocks": post.stocks_remaining, "percent": post.percent}
            elif stocks is not None:
                found[player] = {"stocks": stocks, "percent": 0.0}
        return found

    def _stocks_at_end(self) -> dict[int, int | None]:
        """Return how many stocks each player had at the end of a stock game, or `None` where we don't know.

        If a game was played to its end, there's only one side left. So if one of the players in its last frame has
        stocks, then those who are missing in it are out.
        """
        stocks = {player.player_index: self._stocks_of(player.player_index) for player in self._settings.players}
        played_out = self._end is not None and self._end.game_end_method in (GAME, RESOLVED)
        if played_out and any(post.stocks_remaining for post in self._posts.values()):
            return {player: count or 0 for player, count in stocks.items()}
        return stocks

    def _stocks_of(self, player: int) -> int | None:
        """Return how many stocks a player has in the last frame, or `None` if we don't know.

        A player who is out has no updates in later frames, but an update can also be missing because of damage. So if a
        player isn't in the last frame, they only count as out if the update before shows it, because it has no stocks,
        or one and its death.
        """
        if player in self._posts:
            return int(self._posts[player].stocks_remaining)
        post = self._gone.get(player)
        is_dying = post is not None and post.stocks_remaining == 1 and post.action_state_id <= LAST_DYING
        return 0 if post is not None and (post.stocks_remaining == 0 or is_dying) else None

    def _ahead(self, sides: list[list[int]], stocks: Mapping[int, int]) -> list[int]:
        """Return the side with the most stocks, then the lowest sum of whole percents. In a tie, this is empty."""

        def percent(player: int) -> float:
            value = self._posts[player].percent if player in self._posts else 0.0
            return math.trunc(value) if math.isfinite(value) else math.inf

        return _best(sides, [(sum(stocks[p] for p in side), -sum(percent(p) for p in side)) for side in sides])

    def _placed_first(self, end: GameEndPayload) -> list[Placement] | None:
        """Return the places of the side of the player in first place, or `None` if the replay has no placements."""
        if not _has_placements(end):
            return None
        best = next((p.player_index for p in end.placements if p.position == 0), None)
        return [p for side in self._sides if best in side for p in end.placements if p.player_index in side]

    def _best_score(self) -> list[int]:
        """Return the side with the highest sum of scores. In a tie, or a mode without scores, the result is empty."""
        scores = {each.player_index: each.score for each in self._scores if each.score is not UNSET}
        if len(self._sides) < _OPPONENTS or len(scores) < len(self._stocks):
            return []
        return _best(self._sides, [sum(scores[player] for player in side) for side in self._sides])


def _has_placements(end: GameEndPayload) -> bool:
    """Whether there are placements, from 0 to 3. A build between 3.12 and 3.13 wrote 16 and 17 (observed)."""
    positions = [placement.position for placement in end.placements if placement.position is not UNSET]
    return bool(positions) and max(positions) < PLAYERS


def _best(sides: list[list[int]], ranks: list[Any]) -> list[int]:
    """Return the side with the highest rank. If there's a tie, the result is empty."""
    best = max(ranks)
    return sides[ranks.index(best)] if ranks.count(best) == 1 else []


def _rank(player: PlayerScore) -> tuple[int, int, int, int]:
    """Return a key that sorts players in the same way as the game: by score, KOs, falls and port."""
    score = 0 if player.score is UNSET else player.score
    return score, player.kos, -player.falls, -player.player_index


def _first(players: list[int]) -> list[Placement]:
    return [Placement(player, 0) for player in players]
