"""Templates for texts with placeholders, which users write in the configuration.

`{winner}` stands for a value. If you put a part in double brackets, such as `[[ on {stage}]]`, then this part is left
out if any value in it is unknown. To write a brace, double it: `{{` or `}}`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

_TOKEN = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{([^{}]*)\}|[{}]")
_BRACES = {"{{": "{", "}}": "}"}


class _Part(NamedTuple):
    """A part of a template, which is either plain text or the name of a value."""

    text: str
    is_value: bool


class _Group(NamedTuple):
    """Consecutive parts of a template. If the group is `optional`, it is left out when any value in it is unknown."""

    optional: bool
    parts: list[_Part]

    def format(self, values: Mapping[str, str | None]) -> str:
        texts = [(values.get(part.text) or "") if part.is_value else part.text for part in self.parts]
        unknown = any(part.is_value and not text for part, text in zip(self.parts, texts, strict=True))
        return "" if self.optional and unknown else "".join(texts)


class Template:
    """A template that was parsed, so that you can format it many times with different values."""

    def __init__(self, text: str, placeholders: Collection[str]) -> None:
        """Parse a template.

        Raises `ValueError` if the syntax is wrong, or if the text uses a placeholder that isn't in `placeholders`.
        """
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
        """Fill in the values and return the text without white space around it.

        `None` and empty values count as unknown.
        """
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
