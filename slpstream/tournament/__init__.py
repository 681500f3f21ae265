"""Sets from games, pure: what is played on a station, what an operator has said, and the rules give the sets.

There is no state in here. Whoever has the same games, corrections and rules gets the same sets, now, after a restart
and on another machine. The rules as people read them are in `deploy/docs/sets.md`.
"""

from slpstream.tournament.corrections import Corrections, ImpossibleCorrection, SetPatch, corrected
from slpstream.tournament.games import PlayedGame, Player, Rules
from slpstream.tournament.scores import SetScore, score_of
from slpstream.tournament.sets import Set, newest_set, sets_of, since_break

__all__ = [
    "Corrections",
    "ImpossibleCorrection",
    "PlayedGame",
    "Player",
    "Rules",
    "Set",
    "SetPatch",
    "SetScore",
    "corrected",
    "newest_set",
    "score_of",
    "sets_of",
    "since_break",
]
