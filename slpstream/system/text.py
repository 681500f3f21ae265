"""Text for terminals."""

from __future__ import annotations


def printable(text: object) -> str:
    """Escape unprintable characters: line breaks, and control characters with which a name could control a terminal.

    Names of files and players can contain any character.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
