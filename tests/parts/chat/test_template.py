"""Templates with placeholders and optional groups."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.parts.chat.template import Template

NAMES = ("winner", "stage")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{winner} wins", "Ann wins"),
        ("{winner} wins[[ on {stage}]]", "Ann wins"),
        ("[[{winner} wins]] [[on {stage}]]", "Ann wins"),
        ("[[always]]{stage}", "always"),
        ("{{winner}} {winner}", "{winner} Ann"),
        ("[{winner}](link)", "[Ann](link)"),
        ("", ""),
    ],
)
def test_unknown_values_leave_out_their_group(text: str, shown: str) -> None:
    assert Template(text, NAMES).format({"winner": "Ann", "stage": None}) == shown


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{winer}", r"unknown placeholder \{winer\}; known are stage, winner"),
        ("{}", r"unknown placeholder \{\}"),
        ("{winner!r}", "unknown placeholder"),
        ("{winner", "a single `{`"),
        ("winner}", "a single `}`"),
        ("[[ {winner}", "has no `]]`"),
        ("{winner} ]]", "not part of a pair"),
        ("[[ a [[ b ]] ]]", "not part of a pair"),
    ],
)
def test_wrong_templates_are_refused(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Template(text, NAMES)


@given(st.text(alphabet="{}[]ab", max_size=20), st.text(max_size=5))
def test_values_are_never_parsed(text: str, value: str) -> None:
    """Any text is refused with a reason, or shows the same text around any value."""
    try:
        template = Template(text, ("a", "b", ""))
    except ValueError:
        return
    marker = "\N{SNOWMAN}"
    plain = template.format({"a": marker, "b": marker, "": marker})
    assert (
        template.format({"a": "x" + value, "b": "x" + value, "": "x" + value})
        == plain.replace(marker, "x" + value).strip()
    )
