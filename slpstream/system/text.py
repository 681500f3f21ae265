"""Text for terminals."""

from __future__ import annotations


def printable(text: object) -> str:
    """Escape unprintable characters: line breaks, and the control characters by which a name could steer a terminal.

    Names of files and players can have any characters.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
