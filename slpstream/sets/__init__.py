"""Group the games of a station into sets. You put in games, the corrections of an operator and the rules, and get out
sets.

The package doesn't have any state and doesn't do any I/O. This means that if the games, corrections and rules are the
same, you always get the same sets: now, after a restart, and on another machine. If you want to know the rules as a
user, have a look at `docs/howto/sets.md`.
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
