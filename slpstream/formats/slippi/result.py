"""The winners of a game, which you get in `game_end`, and how many stocks and how much percent the players had at the
end.

We follow the rules of slippi-js 9.1 (`getWinners`), but without its bugs. If a no contest doesn't have an initiator,
there's no winner, and a second Game End doesn't change anything. Before 3.13, there are no placements. If such a game
didn't end because someone quit or time ran out, stocks decide it, and then percent. We also know some things that
slippi-js doesn't: the team of a player who quits loses, the last frame can decide a game whose Game End was lost, and
ledge grabs can decide a timeout (`outcome`).

In modes without stocks, the placements decide, or else the score of time mode. If players have the same score, the game
ranks them by KOs, falls and port, and then plays sudden death. So if the first placements are in this order, it is a
tie (documented by the public decompilation; two real games of a minute without a fall have such placements). In stamina
mode, the placements decide, or else who has stocks left (guessed: no replay of it was at hand).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from slpstream.formats.slippi.commands import LAST_DYING
from slpstream.formats.slippi.falls import PlayerScore
from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE, PLAYERS, TIME_MODE, Settings

INFERRED: Literal["inferred"] = "inferred"
"""The `basis` of winners that the last frame shows, in a replay without Game End."""

UNRESOLVED, TIME, GAME, RESOLVED, NO_CONTEST = 0, 1, 2, 3, 7
_QUIT = (UNRESOLVED, NO_CONTEST)
MAX_LEDGE_GRABS = 45
_PAIR = 2
_OPPONENTS = 2
"""Number of sides in a game in which one loses when the other wins."""


class Placement(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """slippi-js `PlacementType`: a player and its position, 0 for the first."""

    player_index: int
    position: int | UnsetType


class GameEndPayload(msgspec.Struct, rename="camel", frozen=True, gc=False, omit_defaults=True):
    """slippi-js `GameEndType`. `placements` always has four entries; before 3.13 they lack the `position`."""

    game_end_method: int
    lras_initiator_index: Any = UNSET
    placements: list[Placement] = []


class LastSeen(NamedTuple):
    """The last Post-Frame Updates of the players, by player index.

    A player who is out has no updates in later frames, but an update can also be missing because of damage. So if a
    player isn't in the last frame, they only count as out if the update before shows it, because it has no stocks, or
    one and its death.
    """

    posts: Mapping[int, Any]
    """Those in the last frame."""
    gone: Mapping[int, Any]
    """Those of players whom the last frame lacks."""

    def stocks(self, player: int) -> int | None:
        """Return how many stocks a player has, or `None` if we don't know."""
        if player in self.posts:
            return int(self.posts[player].stocks_remaining)
        return 0 if player in self.gone and _is_out(self.gone[player]) else None


def _is_out(post: Any) -> bool:
    stocks, state = int(post.stocks_remaining), int(post.action_state_id)
    return stocks == 0 or (stocks == 1 and state <= LAST_DYING)


def limits_ledge_grabs(settings: Settings) -> bool:
    """Whether a timeout can be decided by ledge grabs if a game has these settings (`outcome`)."""
    online = settings.game_mode == MAJOR_SCENE_ONLINE
    return online and len(settings.players) == _PAIR and not settings.is_teams


def game_end_payload(event: Any) -> GameEndPayload:
    """Return the decoded Game End event in the form of `game_end` messages."""
    positions = [event.placement_1, event.placement_2, event.placement_3, event.placement_4]
    placements = [Placement(i, position) for i, position in enumerate(positions)]
    return GameEndPayload(event.game_end_method, event.lras_initiator_index, placements)


def winners(
    settings: Settings,
    end: GameEndPayload | None,
    seen: LastSeen,
    ledge_grabs: Callable[[], Mapping[int, int]] = dict,
    scores: Sequence[PlayerScore] = (),
) -> list[Placement]:
    """Return the winners. There can be several if there are teams, and none if we don't know who has won.

    If the replay has placements, they keep their positions, and otherwise, all of them have position 0. If ledge grabs
    can decide the game, `ledge_grabs` is called to get them by player index. If it is a game without stocks, you have
    to pass its `scores`.
    """
    if end is None:
        return []
    players = [p.player_index for p in settings.players]
    if end.game_end_method in _QUIT:
        return _first(_remaining(settings, end.lras_initiator_index))
    if not settings.takes_stocks:
        return _placed_first(settings, end) if _has_placements(end) else _first(_best_score(settings, scores))
    stocks = _stocks_at_end(settings, end, seen)
    left = [side for side in _sides(settings) if any(stocks[player] != 0 for player in side)]
    if any(player.stamina_mode for player in settings.players):
        return _placed_first(settings, end) if _has_placements(end) else _first(left[0] if len(left) == 1 else [])
    if not left and any(player.start_stocks for player in settings.players):
        return []
    if end.game_end_method == TIME and limits_ledge_grabs(settings):
        grabs = ledge_grabs()
        within = [player for player in players if grabs.get(player, 0) <= MAX_LEDGE_GRABS]
        if len(within) == 1:
            return _first(within)
    known = {player: count for player, count in stocks.items() if count is not None}
    if end.game_end_method == TIME and len(players) == 2 and len(known) == 2:
        return _first(_ahead([[player] for player in players], known, seen.posts))
    if _has_placements(end):
        return _placed_first(settings, end)
    if len(players) > 1 and end.game_end_method in (TIME, GAME, RESOLVED):
        if end.game_end_method != TIME and len(left) == 1:
            return _first(left[0])
        return _first(_ahead(_sides(settings), known, seen.posts)) if len(known) == len(stocks) else []
    return []


def is_tied(
    settings: Settings, end: GameEndPayload | None, scores: Sequence[PlayerScore], played_seconds: float | None
) -> bool:
    """Whether a game of time mode ended with several sides in first place, so that it has to be decided by sudden
    death.

    `played_seconds` is how long the timer ran, or `None` if you don't know this.
    """
    if end is None or settings.in_game_mode != TIME_MODE or end.game_end_method in _QUIT or len(_sides(settings)) == 1:
        return False
    first = {p.player_index for p in end.placements if p.position == 0}
    if sum(1 for side in _sides(settings) if first & {*side}) > 1:
        return True
    if _best_score(settings, scores):
        return False
    if not _has_placements(end):
        return True
    # A game that was cut short before any fall has no meaningful score.
    ran_out = played_seconds is not None and played_seconds >= settings.starting_timer_seconds
    counted = any(each.falls for each in scores) or ran_out
    return counted and (settings.is_teams or first == {max(scores, key=_rank).player_index})


def score_values(scores: Sequence[PlayerScore], *, tied: bool) -> dict[str, Any]:
    """Return those members of `game_end` that only games without stocks have."""
    if not scores:
        return {}
    return {"scores": list(scores), "tied": True} if tied else {"scores": list(scores)}


def inferred_winners(settings: Settings, seen: LastSeen) -> list[Placement]:
    """Return the winners of a stock game whose Game End was lost, which is the only side that isn't out.

    If several sides might have stocks, or none has any, the result is empty.
    """
    sides = _sides(settings)
    if not settings.takes_stocks or len(sides) < _OPPONENTS:
        return []
    left = [side for side in sides if any(seen.stocks(player) != 0 for player in side)]
    shown = [side for side in left if any(player in seen.posts or player in seen.gone for player in side)]
    return _first(left[0]) if len(left) == 1 and shown else []


def standings(settings: Settings, end: GameEndPayload | None, seen: LastSeen) -> dict[int, dict[str, Any]]:
    """Return how many stocks and how much percent each player had at the end, by player index.

    If a player was out by then, they have 0 stocks. In modes without stocks, you only get the percent. If we don't know
    anything about a player, they are left out. If there was no frame, the result is empty.
    """
    if not seen.posts:
        return {}
    if not settings.takes_stocks:
        return {
            p.player_index: {"percent": seen.posts[p.player_index].percent}
            for p in settings.players
            if p.player_index in seen.posts
        }
    found: dict[int, dict[str, Any]] = {}
    for player, stocks in _stocks_at_end(settings, end, seen).items():
        post = seen.posts.get(player)
        if post is None and stocks is None:
            post = seen.gone.get(player)
        if post is not None:
            found[player] = {"stocks": post.stocks_remaining, "percent": post.percent}
        elif stocks is not None:
            found[player] = {"stocks": stocks, "percent": 0.0}
    return found


def shows_stocks(settings: Settings, end: GameEndPayload, posts: Mapping[int, Any]) -> bool:
    """Whether we can tell from the Post-Frame Updates of the last frame how many stocks all players had at the end."""
    return None not in _stocks_at_end(settings, end, LastSeen(posts, {})).values()


def _stocks_at_end(settings: Settings, end: GameEndPayload | None, seen: LastSeen) -> dict[int, int | None]:
    """Return how many stocks each player had at the end of a stock game, or `None` where we don't know.

    If a game was played to its end, there's only one side left. So if one of the players in its last frame has stocks,
    then those who are missing in it are out.
    """
    played_out = end is not None and end.game_end_method in (GAME, RESOLVED)
    if played_out and any(post.stocks_remaining for post in seen.posts.values()):
        return {p.player_index: seen.stocks(p.player_index) or 0 for p in settings.players}
    return {p.player_index: seen.stocks(p.player_index) for p in settings.players}


def _remaining(settings: Settings, initiator: Any) -> list[int]:
    """If one of two sides has quit, return the other one. If we don't know who quit, the result is empty."""
    sides = _sides(settings)
    stayed = [side for side in sides if initiator not in side]
    return stayed[0] if len(sides) == _OPPONENTS and len(stayed) == 1 else []


def _sides(settings: Settings) -> list[list[int]]:
    """Return the players that win together. These are the teams, or if there are none, each player alone."""
    if not settings.is_teams:
        return [[p.player_index] for p in settings.players]
    sides: dict[int, list[int]] = {}
    for player in settings.players:
        sides.setdefault(player.team_id, []).append(player.player_index)
    return list(sides.values())


def _ahead(sides: list[list[int]], stocks: Mapping[int, int], last_posts: Mapping[int, Any]) -> list[int]:
    """Return the side with the most stocks. If there are several, it is the one with the lowest sum of whole percents.

    In the case of a tie, the result is empty.
    """

    def percent(player: int) -> float:
        value = last_posts[player].percent if player in last_posts else 0.0
        return math.trunc(value) if math.isfinite(value) else math.inf

    ranks = [(sum(stocks[p] for p in side), -sum(percent(p) for p in side)) for side in sides]
    best = max(ranks)
    return sides[ranks.index(best)] if ranks.count(best) == 1 else []


def _has_placements(end: GameEndPayload) -> bool:
    """Whether there are placements, which range from 0 to 3.

    A build between 3.12 and 3.13 wrote 16 and 17 (observed).
    """
    positions = [placement.position for placement in end.placements if placement.position is not UNSET]
    return bool(positions) and max(positions) < PLAYERS


def _placed_first(settings: Settings, end: GameEndPayload) -> list[Placement]:
    """Return the side of the player in first place, with the places of all its players."""
    best = next((p.player_index for p in end.placements if p.position == 0), None)
    return [p for side in _sides(settings) if best in side for p in end.placements if p.player_index in side]


def _best_score(settings: Settings, scores: Sequence[PlayerScore]) -> list[int]:
    """Return the side with the highest sum of scores.

    If there's a tie, or the mode has no scores, the result is empty.
    """
    by_index = {each.player_index: each.score for each in scores if each.score is not UNSET}
    sides = _sides(settings)
    if len(sides) == 1 or len(by_index) < sum(map(len, sides)):
        return []
    sums = [sum(by_index[player] for player in side) for side in sides]
    return sides[sums.index(max(sums))] if sums.count(max(sums)) == 1 else []


def _rank(player: PlayerScore) -> tuple[int, int, int, int]:
    """Return a key that sorts players in the same way as the game: by score, KOs, falls and port."""
    score = 0 if player.score is UNSET else player.score
    return score, player.kos, -player.falls, -player.player_index


def _first(players: list[int]) -> list[Placement]:
    return [Placement(player, 0) for player in players]
