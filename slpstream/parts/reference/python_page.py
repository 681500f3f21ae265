"""The reference page of the Python API, which is made from signatures and docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import FunctionType
from typing import Any

import slpstream

EXAMPLES: Mapping[str, str] = {
    "connect": """\
>>> with slpstream.connect("http://127.0.0.1:5151", topics=["game"], cursor="start") as client:
...     for message in client:
...         if message["type"] == "station":
...             break
>>> message["station"], message["state"]
('main', 'idle')
""",
    "follow": """\
>>> with slpstream.follow("Game_20261121T052951.slp", topics=["game"]) as messages:
...     [message.type for message in messages]
['game_start', 'game_end', 'metadata']
""",
    "messages": """\
>>> for message in slpstream.messages("Game_20261121T052951.slp", topics=["event"]):
...     event = json.loads(message.json())
...     if event["kind"] == "combo_ended":
...         print("on player", event["playerIndex"], "until frame", event["combo"]["endFrame"])
on player 1 until frame 115
on player 0 until frame 203
""",
    "open_replay": """\
>>> replay = slpstream.open_replay("Game_20261121T052951.slp")
>>> replay.settings.stage_id, [player.character_id for player in replay.settings.players]
(31, [2, 9])
>>> replay.game_end.reason
'game_end'
""",
}
"""An example of each function, for the replay of the page. A test runs them."""
_CLASSES = ("Replay", "LiveIterator", "Client", "LogMessage")
_ERRORS = ("SlpstreamError", "FormatError", "Unsupported", "SourceError", "SubscriberError")


def python_page() -> Iterator[str]:
    """Yield the lines of the page about the functions of the Python API, their results and errors."""
    yield from ("# Functions for Python", "")
    yield "This page lists the functions of the package `slpstream`, their results and errors, for programmers."
    yield "`docs/howto/python.md` introduces them, and `docs/reference/columns.md` describes `frames`. The examples"
    yield "begin with `import json, slpstream`."
    for name, example in EXAMPLES.items():
        function = getattr(slpstream, name)
        yield from ("", f"## {name}", "", "```python", *_signature(name, function), "```", "", _text(function))
        yield from ("", "```pycon", example.rstrip(), "```")
    for name in _CLASSES:
        described = getattr(slpstream, name)
        yield from ("", f"## {name}", "", _text(described), "", "| member | description |", "| --- | --- |")
        for member, value in _members(described):
            yield f"| `{member}` | {_first_paragraph(value)} |"
    yield from ("", "## Errors", "", "| class | base class | description |", "| --- | --- | --- |")
    for name in _ERRORS:
        error = getattr(slpstream, name)
        yield f"| `{name}` | `{error.__bases__[0].__name__}` | {_first_paragraph(error)} |"


def _signature(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """Yield a signature with one argument on a line."""
    signature = inspect.signature(function)
    yield f"{name}("
    keyword_only = False
    for argument in signature.parameters.values():
        if argument.kind is argument.KEYWORD_ONLY and not keyword_only:
            yield "    *,"
            keyword_only = True
        default = "" if argument.default is argument.empty else f" = {argument.default!r}"
        yield f"    {argument.name}: {argument.annotation}{default},"
    yield f") -> {signature.return_annotation}"


def _members(described: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class that it has itself, in the order of the source."""
    for name, value in vars(described).items():
        if name.startswith("_") or not getattr(value, "__doc__", None):
            continue
        if isinstance(value, FunctionType):
            yield f"{name}({', '.join(_arguments(value))})", value
        elif isinstance(value, property | cached_property):
            yield name, value


def _arguments(method: FunctionType) -> Iterator[str]:
    for name, argument in list(inspect.signature(method).parameters.items())[1:]:
        yield name if argument.default is argument.empty else f"{name}={argument.default!r}"


def _text(described: Any) -> str:
    return inspect.cleandoc(described.__doc__ or "")


def _first_paragraph(described: Any) -> str:
    return " ".join(_text(described).partition("\n\n")[0].split()).replace("|", "\\|")
