"""The words of a query for situations, each with its place in the text.

A key is a word with its colon (`percent:`), and before `<` and `>` also without it. A subject is a word with its dot
(`opponent.`). The only other colon is the one after the players.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from slpstream.model.query_problem import QueryProblem

MAX_QUERY_CHARACTERS = 2000

Kind = Literal["key", "subject", "duration", "number", "code", "text", "word", "mark", "end"]

KEYS = ("percent", "stocks", "x", "y", "frame", "time", "swing", "starts", "state", "for", "within")
SUBJECTS = ("own", "opponent")

# `a`: in Unicode, a long s (U+017F) also matches an s if case is ignored, but `lower` does not turn it into an s.
_PATTERN = re.compile(
    rf"""
    (?P<space>\s+)
    | (?P<key>(?ai:{"|".join(KEYS)})(?:\s*:|(?=\s*[<>])))
    | (?P<subject>(?ai:{"|".join(SUBJECTS)})\.)
    | (?P<duration>\d+(?:\.\d+)?(?ai:[fs])(?![\w.]))
    | (?P<code>[^\W_]+\#\d+)
    | (?P<word>(?ai:0x[0-9a-f]+)|[^\W\d_][^\W_]*(?:[-'&][^\W_]+)*)
    | (?P<number>-?\d+(?:\.\d+)?(?![^\W_])(?:\s*%)?)
    | (?P<text>"[^"]*")
    | (?P<mark>->|\.\.|<=|>=|[<>,|!():])
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """A word of a query.

    `value` is its text in lower case, and without the colon of a key, the dot of a subject, or the quotes of a text.
    """

    kind: Kind
    value: str
    position: int
    length: int

    def problem(self, kind: str, message: str) -> QueryProblem:
        """Return a problem with this word."""
        return QueryProblem(kind, message, self.position, self.length)


def tokens_of(query: str) -> list[Token] | QueryProblem:
    """Return the words of a query, or the first problem in it. The last word is always one of the kind `end`."""
    if len(query) > MAX_QUERY_CHARACTERS:
        message = f"the query is longer than {MAX_QUERY_CHARACTERS} characters"
        return QueryProblem("too_long", message, MAX_QUERY_CHARACTERS, len(query) - MAX_QUERY_CHARACTERS)
    found: list[Token] = []
    position = 0
    while position < len(query):
        match = _PATTERN.match(query, position)
        if match is None:
            if query[position] == '"':
                return QueryProblem("unclosed_text", "the closing quote is missing", position, len(query) - position)
            return QueryProblem("unknown_character", f"{query[position]!r} has no meaning here", position, 1)
        name, text = match.lastgroup, match.group()
        if name == "key":
            found.append(Token("key", text.rstrip(":").strip().lower(), position, len(text)))
        elif name == "subject":
            found.append(Token("subject", text[:-1].lower(), position, len(text)))
        elif name == "text":
            found.append(Token("text", text[1:-1], position, len(text)))
        elif name != "space":
            found.append(Token(name, text.lower(), position, len(text)))  # type: ignore[arg-type]
        position = match.end()
    return [*found, Token("end", "", len(query), 0)]
