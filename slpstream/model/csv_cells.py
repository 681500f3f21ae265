"""Text in CSV files that spreadsheets show and do not compute.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, in full width too, and skips white space
before it (OWASP, CSV injection). Anybody can name a player or a file so. Such text gets an apostrophe in front. So does
text with an apostrophe of its own in that place, so that removing one apostrophe from the front always restores the
text.
"""

from __future__ import annotations

import re

SPECIAL = r"\A([\t\r\n']|[\t\r\n ]*[=+\-@＝＋－＠])"
"""What begins a text that is escaped, for `re` and for the regular expressions of Arrow (RE2)."""
_SPECIAL = re.compile(SPECIAL)


def csv_cell(text: str) -> str:
    """The text as a cell of a CSV file."""
    return f"'{text}" if _SPECIAL.match(text) else text
