"""The facts about a game that queries select, in the compact form that the index searches.

The index keeps a row of these facts for each game and scans all rows, so the row is short: exact terms are lines of one
text, and texts that are searched for a substring are lines of another one.
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
    """The facts about one game."""

    frames: int | None
    """Time of the last frame after the first one, in sixtieths of a second; `None` if the length is unknown."""
    began_ms: int | None
    """Unix time of the beginning; `None` if neither the file nor the daemon knows it."""
    flags: int
    terms: str
    """One line for each term, in the form of `term`."""
    words: str
    """Case-folded lines: file name and codes, then names of players without a known result, of losers, and of
    winners."""


def label(text: str) -> str:
    """Return the name of a character or place in queries: lower case, no accents or apostrophes, `_` for spaces."""
    plain = "".join(each for each in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(each))
    return "_".join(plain.translate(_APOSTROPHES).split())


def fold(text: str) -> str:
    """Return a text with case folded and without control characters, which separate the facts."""
    return one_line(text).casefold()


def one_line(text: str) -> str:
    """Return a text with control characters replaced by spaces."""
    return "".join(each if each >= " " else " " for each in text)


def term(kind: str, value: str, role: str = "") -> str:
    """Return a line of `GameFacts.terms`. The line without a role is a prefix of the line with any role."""
    return f"\n{kind}{one_line(value)}\n{role}"


def split_terms(terms: str) -> list[str]:
    """Return the lines of `GameFacts.terms`, each as `term` returns it."""
    return [f"\n{each}" for each in _TERM.findall(terms)]


def shape(file_name: str) -> str:
    """Return a file name, or a part of one, with 0 for each digit. Most file names differ only in digits."""
    return _DIGIT.sub("0", file_name)


def split_words(words: str) -> tuple[str, list[str]]:
    """Return the file name in `GameFacts.words`, and the other lines: codes and names."""
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
    """Return the facts about a game with this summary. `file_name` is the name of its file without folders."""
    return GameFacts(
        None if duration_seconds is None else round(60 * duration_seconds) - 1,
        began_ms,
        flags_of(summary),
        terms_of(summary, format, stations),
        words_of(summary, file_name),
    )


def flags_of(summary: GameSummary) -> int:
    """Return `GameFacts.flags` of a game with this summary."""
    ending = 0 if summary.ending is None else _ENDINGS[summary.ending]
    return (RANKED if summary.match_id else 0) | (TEAMS if summary.is_teams else 0) | ending


def terms_of(summary: GameSummary, format: str, stations: Iterable[str]) -> str:
    """Return `GameFacts.terms` of a game with this summary."""
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
    """Return `GameFacts.words` of a game with this summary."""
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
