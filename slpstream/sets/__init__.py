"""Groups the games of a station into sets. Pure: games, an operator's corrections and the rules go in, sets come out.

The package has no state: the same games, corrections and rules give the same sets now, after a restart and on another
machine. `docs/howto/sets.md` describes the rules for users.
"""

from slpstream.sets.changes import Change, ChangedValue, Ledger, changed, undone
from slpstream.sets.corrections import Corrections
from slpstream.sets.games import PlayedGame, Player, Rules, played_games
from slpstream.sets.grouping import Set, newest_set, newest_set_since_break, sets_of, since_break
from slpstream.sets.patches import ImpossibleCorrection, SetPatch, corrected
from slpstream.sets.scores import SetScore, score_of

__all__ = [
    "Change",
    "ChangedValue",
    "Corrections",
    "ImpossibleCorrection",
    "Ledger",
    "PlayedGame",
    "Player",
    "Rules",
    "Set",
    "SetPatch",
    "SetScore",
    "changed",
    "corrected",
    "newest_set",
    "newest_set_since_break",
    "played_games",
    "score_of",
    "sets_of",
    "since_break",
    "undone",
]
