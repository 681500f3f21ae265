"""Make text safe for terminals, and names unique."""

from __future__ import annotations

from collections import Counter


def printable(text: object) -> str:
    """Escape all characters that aren't printable, such as line breaks.

    The names of files and players can contain any character, so without this, a name could be used to control a
    terminal.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def numbered(name: str, seen: Counter[str]) -> str:
    """Return a unique name. If `seen` already contains the name, `-2`, `-3` and so on is appended to it.

    The name is added to `seen`.
    """
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}-{seen[name]}"
