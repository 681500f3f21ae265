"""The facts about a game that you can search for, in the compact form in which the index stores them.

The index keeps one row with these facts for each game, and each search goes through all rows. To make this fast, the
rows are short. Terms that must match exactly are lines of one text, and texts that can be searched for a substring are
lines of another one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from slpstream.model.summary import GameSummary, PlayerSummary

RANKED, TEAMS, FINISHED, TIMED_OUT, QUIT = 1, 2, 4, 8, 16
"""The bits of `GameFacts.flags`."""
_ENDINGS = {"finished": FINISHED, "time": TIMED_OUT, "quit": QUIT}

PLAYS, PLACE, CODE, STATION, FORMAT = "c", "p", "#", "@", "f"
"""The kinds of terms: a character or machine, a stage or course, a connect code, a station, a format."""
WON, LOST = "w", "l"
"""The roles of players in the terms `PLAYS` and `CODE`. Players of a game without a known winner have none."""

NAMES_BEGIN, LOST_BEGIN, WON_BEGIN = "\x03", "\x02", "\x01"
"""The first characters of the parts of `GameFacts.words`, in this order; the file name and the codes come before."""

_PARTS = ("", NAMES_BEGIN, LOST_BEGIN, WON_BEGIN)
_DIGIT = re.compile("[0-9]")
_TERM = re.compile(r"\n([^\n]+\n[^\n]?)")
_APOSTROPHES = dict.fromkeys(map(ord, "'\u2019`"))


class GameFacts(NamedTuple):
    """The facts about one game, as one row of the index."""

    frames: int | None
    """Time of the last frame after the first one, in sixtieths of a second, or `None` if the length is unknown."""
    began_ms: int | None
    """Unix time of the beginning, or `None` if neither the file nor the daemon knows it."""
    flags: int
    terms: str
    """One line for each term, in the form of `term`."""
    words: str
    """Case-folded lines: file name and codes, then names of players without a known result, of losers, and of
    winners."""


def label(text: str) -> str:
    """Return the name of a character or place in the form that queries use.

    This means that it is in lower case, has no accents or apostrophes, and has `_` instead of spaces.
    """
    plain = "".join(each for each in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(each))
    return "_".join(plain.translate(_APOSTROPHES).split())


def fold(text: str) -> str:
    """Fold the case of the given text, and replace the control characters in it, because we use them to separate the
    facts.
    """
    return one_line(text).casefold()


def one_line(text: str) -> str:
    """Replace each control character of a text with a space, so that the text is sure to fit on one line."""
    return "".join(each if each >= " " else " " for each in text)


def term(kind: str, value: str, role: str = "") -> str:
    """Return a line for `GameFacts.terms`.

    If you leave out the role, the line is a prefix of the lines with a role. This makes it possible to search for all
    roles.
    """
    return f"\n{kind}{one_line(value)}\n{role}"


def split_terms(terms: str) -> list[str]:
    """Split `GameFacts.terms` into its lines. Each of them has the form that `term` returns."""
    return [f"\n{each}" for each in _TERM.findall(terms)]


def shape(file_name: str) -> str:
    """Replace each digit in a file name, or a part of one, with 0, because most file names differ only in their
    digits.
    """
    return _DIGIT.sub("0", file_name)


def split_words(words: str) -> tuple[str, list[str]]:
    """Split `GameFacts.words` into the file name and a list of the other lines, which are codes and names."""
    file_name, *lines = [line for line in words.split("\n") if line not in _PARTS]
    return file_name, lines


def facts_of(
    summary: GameSummary,
    *,
    format: str,
    stations: Iterable[str],
    file_name: str,
    duration_seconds: float | None,
    began_ms: int | None,
) -> GameFacts:
    """Collect the facts about a game with the given summary.

    `file_name` is the name of its file without any folders.
    """
    return GameFacts(
        None if duration_seconds is None else round(60 * duration_seconds) - 1,
        began_ms,
        flags_of(summary),
        terms_of(summary, format, stations),
        words_of(summary, file_name),
    )


def flags_of(summary: GameSummary) -> int:
    """Return the value of `GameFacts.flags` for a game with the given summary."""
    ending = 0 if summary.ending is None else _ENDINGS[summary.ending]
    return (RANKED if summary.match_id else 0) | (TEAMS if summary.is_teams else 0) | ending


def terms_of(summary: GameSummary, format: str, stations: Iterable[str]) -> str:
    """Return the value of `GameFacts.terms` for a game with the given summary."""
    terms = [term(FORMAT, format), *(term(STATION, station) for station in sorted(set(stations)))]
    if summary.place.text:
        terms.append(term(PLACE, label(summary.place.text)))
    for player in summary.players:
        role = _role(summary, player)
        if player.character.text:
            terms.append(term(PLAYS, label(player.character.text), role))
        if player.code:
            terms.append(term(CODE, player.code, role))
    return "".join(terms)


def words_of(summary: GameSummary, file_name: str) -> str:
    """Return the value of `GameFacts.words` for a game with the given summary."""
    names: dict[str, list[str]] = {"": [], LOST: [], WON: []}
    for player in summary.players:
        names[_role(summary, player)] += [name for name in dict.fromkeys((player.name, player.tag)) if name]
    parts = (
        ("", [file_name, *(player.code for player in summary.players if player.code)]),
        (NAMES_BEGIN, names[""]),
        (LOST_BEGIN, names[LOST]),
        (WON_BEGIN, names[WON]),
    )
    return "".join(f"{begin}\n" + "".join(f"{fold(line)}\n" for line in lines) for begin, lines in parts)


def _role(summary: GameSummary, player: PlayerSummary) -> str:
    if not summary.winners:
        return ""
    return WON if player.index in summary.winners else LOST
