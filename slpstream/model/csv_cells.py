"""Escape text for CSV files, so that spreadsheets show it and do not run it as a formula.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, in full width too, and skips white space
before it (OWASP, CSV injection). Names of players and files can begin like that. The text then gets an apostrophe in
front. Text that already begins with an apostrophe gets another one, so that removing one apostrophe always restores the
text.
"""

from __future__ import annotations

import re

SPECIAL = r"\A([\t\r\n']|[\t\r\n ]*[=+\-@＝＋－＠])"
"""Matches the beginning of text that needs escaping, in `re` and in the regular expressions of Arrow (RE2)."""
_SPECIAL = re.compile(SPECIAL)


def csv_cell(text: str) -> str:
    """Return the text as a cell of a CSV file."""
    return f"'{text}" if _SPECIAL.match(text) else text
