"""Escape text for CSV files, so that a spreadsheet shows the text instead of running it as a formula.

If a cell begins with `=`, `+`, `-` or `@`, or with the full-width form of one of these, spreadsheets take it for a
formula. They even skip white space before it (OWASP calls this CSV injection). Since players and files can have names
like that, we put an apostrophe in front of the text. Text that already begins with an apostrophe gets another one, so
you can always restore the original by removing a single apostrophe.
"""

from __future__ import annotations

import re

SPECIAL = r"\A([\t\r\n']|[\t\r\n ]*[=+\-@＝＋－＠])"
"""Matches the beginning of text that needs escaping, in `re` and in the regular expressions of Arrow (RE2)."""
_SPECIAL = re.compile(SPECIAL)


def csv_cell(text: str) -> str:
    """Return the text in a form that you can safely write to a cell of a CSV file."""
    return f"'{text}" if _SPECIAL.match(text) else text
