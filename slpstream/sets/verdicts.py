"""Decide whether a game counts, and for which side. You get a verdict on each game, and a sentence that explains it.

There are several rules, and the first one that applies decides. They come in this order: the decision of the operator,
whether the game is in progress, sudden death, a missing end, players that aren't human, and whether the game was played
to its end. If a player has quit, it depends on whether this was early (which makes it a handwarmer), and on whether
quits count at all. Finally, we need to know the winner. This is the winner in the `game_end` of the game, or of the
sudden death that ended it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from slpstream.model.summary import Ending
from slpstream.sets.corrections import GameCorrection
from slpstream.sets.games import PlayedGame, Player, Rules, clock

Verdict = Literal[
    "playing",
    "counted",
    "handwarmer",
    "quit",
    "unfinished",
    "no_winner",
    "with_cpu",
    "sudden_death",
    "not_counted_by_operator",
]

_ENDINGS: Mapping[Ending | None, str] = {"time": "decided by time", "finished": "played to its end"}
"""How games ended, in words. Games that a player quit are not in the table."""


class Judgement(NamedTuple):
    """The verdict on a game."""

    verdict: Verdict
    reason: str
    """One sentence without its full stop."""
    side: int | None = None
    """The winner's place in `PlayedGame.sides`, even if the game does not count."""

    @property
    def counts(self) -> bool:
        """Whether `side` gets a point for the game."""
        return self.verdict == "counted"


def judge(game: PlayedGame, correction: GameCorrection, rules: Rules, *, newest: bool) -> Judgement:
    """Return the verdict on a game. Pass `newest=True` if no later game has begun on the station."""
    sides = game.sides()
    side = _side_of(_winners(game), sides)
    if correction.counts is False:
        return Judgement("not_counted_by_operator", "the operator says that it does not count", side)
    if correction.winner is not None:
        named = _side_of([correction.winner], sides)
        if named is not None:
            return Judgement("counted", "the operator says who won", named)
    if game.in_progress and newest:
        return Judgement("playing", "it is being played")
    if game.sudden_deaths and game.sudden_deaths[-1].in_progress and newest:
        return Judgement("playing", "sudden death is being played")
    if correction.counts:
        if side is None:
            return Judgement("no_winner", "the operator says that it counts, and nobody won")
        return Judgement("counted", "the operator says that it counts", side)
    for question in _QUESTIONS:
        answer = question(game, side, rules)
        if answer is not None:
            return answer._replace(side=side)
    return Judgement("no_winner", "nobody won", side)


def _sudden_death(game: PlayedGame, side: int | None, rules: Rules) -> Judgement | None:
    if not all(player.human for player in game.players):
        return None
    if game.sudden_death:
        return Judgement("sudden_death", "the sudden death of a game whose replay is missing")
    if not game.sudden_deaths:
        return None
    if side is not None:
        return Judgement("counted", "decided by sudden death")
    ending = game.sudden_deaths[-1].ending
    how = {"quit": "was quit", None: "has no end"}.get(ending, "had no winner")
    return Judgement("no_winner", f"it went to sudden death, which {how}")


def _unfinished(game: PlayedGame, side: int | None, rules: Rules) -> Judgement | None:
    if game.reason is None or game.in_progress:
        return Judgement("unfinished", "another game began before it ended")
    if game.reason == "error":
        return Judgement("unfinished", "its replay is damaged")
    if game.ending is None:
        return Judgement("unfinished", "its replay has no end")
    return None


def _with_cpu(game: PlayedGame, side: int | None, rules: Rules) -> Judgement | None:
    return None if all(player.human for player in game.players) else Judgement("with_cpu", "a CPU plays in it")


def _played(game: PlayedGame, side: int | None, rules: Rules) -> Judgement | None:
    how = _ENDINGS.get(game.ending)
    if how is None:
        return None
    if game.inferred:
        how = "decided by its last frame, because its replay has no end"
    if side is not None:
        return Judgement("counted", how)
    if game.tied:
        return Judgement("no_winner", f"{how}, with a tie{_at_score(game)} that goes on to sudden death")
    if game.mode:
        return Judgement("no_winner", f"{how}, and its replay does not have the winner")
    return Judgement("no_winner", f"{how}, and nobody won")


def _at_score(game: PlayedGame) -> str:
    """Return the highest score in the given game, for example ` at 3`.

    If we don't know it, or if there are teams, this is empty.
    """
    scores = [player.score for player in game.players if player.score is not None]
    return f" at {max(scores)}" if scores and not game.is_teams else ""


def _handwarmer(game: PlayedGame, side: int | None, rules: Rules) -> Judgement | None:
    if game.match_id:  # ranked games count from their first frame on
        return None
    seconds = _played_seconds(game)
    if seconds is not None and seconds < rules.handwarmer_seconds:
        return Judgement("handwarmer", f"quit{_after(game)}, before {clock(rules.handwarmer_seconds)}")
    if _few_stocks_lost(game, rules) and not _too_serious(game, rules):
        lost = _max_stocks_lost(game)
        stocks = f"more than {lost} stock{'s' if lost > 1 else ''}" if lost else "a stock"
        return Judgement("handwarmer", f"quit{_after(game)}, when nobody had lost {stocks}")
    return None


def _played_seconds(game: PlayedGame) -> float | None:
    """Return how long a game was, in seconds. If its frames don't tell us, this returns `None`.

    If a game doesn't have any frames, it has no percent either.
    """
    if game.duration_seconds is None and any(player.percent is not None for player in game.players):
        return None
    return game.duration_seconds or 0.0


def _after(game: PlayedGame) -> str:
    """Return how long a game was, for example ` after 1:32`. If we don't know it, this is empty."""
    seconds = _played_seconds(game)
    return "" if seconds is None else f" after {clock(seconds)}"


def _few_stocks_lost(game: PlayedGame, rules: Rules) -> bool:
    """Whether none of the players has lost more stocks than you would in a handwarmer."""
    lost = _max_stocks_lost(game)
    min_start = min((p.start_stocks for p in game.players if p.start_stocks is not None), default=0)
    # Players who begin with so few stocks cannot lose more, so the rule does not apply.
    return lost is not None and lost <= rules.handwarmer_stocks < min_start


def _too_serious(game: PlayedGame, rules: Rules) -> str:
    """Return the reason why a game isn't a handwarmer, even though only a few stocks were lost.

    This can be its length, or the damage of a player. For a handwarmer, the result is empty.
    """
    seconds = _played_seconds(game)
    if seconds is not None and seconds > rules.max_handwarmer_seconds:
        return f"after more than {clock(rules.max_handwarmer_seconds)}"
    percent = max((p.percent for p in game.players if p.percent is not None), default=0.0)
    return f"at {percent:.0f} %" if percent > rules.max_handwarmer_percent else ""


def _quit(game: PlayedGame, side: int | None, rules: Rules) -> Judgement | None:
    quitter = next((p for p in game.players if p.index == game.quitter), None)
    who = "quit" if quitter is None else f"port {quitter.port} quit"
    how = f"{who}{_after(game)}"
    if not rules.quit_counts:
        return Judgement("quit", f"{how}, and quits do not count")
    if side is None:
        return Judgement("no_winner", f"{how}, and {'it is not known by whom' if quitter is None else 'nobody won'}")
    if game.match_id:
        return Judgement("counted", f"{how}, in a ranked match")
    serious = _few_stocks_lost(game, rules) and _too_serious(game, rules)
    return Judgement("counted", f"{how}, which is no handwarmer: {serious}" if serious else how)


_QUESTIONS: Sequence[Callable[[PlayedGame, int | None, Rules], Judgement | None]] = (
    _sudden_death, _unfinished, _with_cpu, _played, _handwarmer, _quit,
)  # fmt: skip


def _winners(game: PlayedGame) -> Sequence[int]:
    """Return the winners. If there was a sudden death, it only has winners if it was played to its end."""
    if not game.sudden_deaths:
        return game.winners
    last = game.sudden_deaths[-1]
    return last.winners if last.ending == "finished" else ()


def _side_of(winners: Sequence[int], sides: Sequence[Sequence[Player]]) -> int | None:
    """Return the place of the side that has won, or `None` unless exactly one side has."""
    won = [place for place, side in enumerate(sides) if any(player.index in winners for player in side)]
    return won[0] if len(won) == 1 else None


def _max_stocks_lost(game: PlayedGame) -> int | None:
    """Return the largest number of stocks that a player has lost, or `None` if we don't know this for all players."""
    lost = [p.start_stocks - p.stocks for p in game.players if p.start_stocks is not None and p.stocks is not None]
    return max(lost) if len(lost) == len(game.players) and lost else None
