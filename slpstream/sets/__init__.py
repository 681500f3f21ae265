"""Sets from games, pure: what is played on a station, what an operator has said, and the rules give the sets.

There is no state in here. Whoever has the same games, corrections and rules gets the same sets, now, after a restart
and on another machine. The rules as people read them are in `deploy/docs/sets.md`.
"""

from slpstream.sets.corrections import Corrections, ImpossibleCorrection, SetPatch, corrected
from slpstream.sets.games import PlayedGame, Player, Rules
from slpstream.sets.grouping import Set, newest_set, sets_of, since_break
from slpstream.sets.scores import SetScore, score_of

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
