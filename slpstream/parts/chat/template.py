"""Templates of texts with placeholders, as users write them in the configuration.

`{winner}` stands for a value. `[[ on {stage}]]` is left out as a whole if any value in it is unknown. `{{` and `}}` are
braces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

_TOKEN = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{([^{}]*)\}|[{}]")
_BRACES = {"{{": "{", "}}": "}"}


class _Part(NamedTuple):
    """Text, or the name of a value."""

    text: str
    is_value: bool


class _Group(NamedTuple):
    """Consecutive parts. An `optional` group is left out if any value in it is unknown."""

    optional: bool
    parts: list[_Part]

    def format(self, values: Mapping[str, str | None]) -> str:
        texts = [(values.get(part.text) or "") if part.is_value else part.text for part in self.parts]
        unknown = any(part.is_value and not text for part, text in zip(self.parts, texts, strict=True))
        return "" if self.optional and unknown else "".join(texts)


class Template:
    """A parsed template."""

    def __init__(self, text: str, placeholders: Collection[str]) -> None:
        """Parse the text. Raises `ValueError` for wrong syntax and for placeholders that are not in `placeholders`."""
        self._groups = [_Group(optional=False, parts=[])]
        end = 0
        for token in _TOKEN.finditer(text):
            self._add(text[end : token.start()])
            self._take(token, placeholders)
            end = token.end()
        self._add(text[end:])
        if self._groups[-1].optional:
            raise ValueError("a `[[` has no `]]`")

    def format(self, values: Mapping[str, str | None]) -> str:
        """Return the text with these values, stripped. `None` and empty values are unknown."""
        return "".join(group.format(values) for group in self._groups).strip()

    def _take(self, token: re.Match[str], placeholders: Collection[str]) -> None:
        found = token[0]
        if found in _BRACES:
            self._add(_BRACES[found])
        elif found in ("[[", "]]"):
            opens = found == "[["
            if opens == self._groups[-1].optional:
                raise ValueError(f"a `{found}` is not part of a pair")
            self._groups.append(_Group(optional=opens, parts=[]))
        elif token[1] is None:
            raise ValueError(f"a single `{found}`; write it twice for a brace")
        elif token[1] not in placeholders:
            raise ValueError(f"unknown placeholder {{{token[1]}}}; known are {', '.join(sorted(placeholders))}")
        else:
            self._groups[-1].parts.append(_Part(token[1], is_value=True))

    def _add(self, text: str) -> None:
        if text:
            self._groups[-1].parts.append(_Part(text, is_value=False))
