"""Make text safe for terminals."""

from __future__ import annotations


def printable(text: object) -> str:
    """Escape all characters that aren't printable, such as line breaks.

    The names of files and players can contain any character, so without this, a name could be used to control a
    terminal.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
