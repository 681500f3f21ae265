"""The reference page of the Python API, which is made from signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from types import FunctionType
from typing import Any, get_args

import msgspec
from msgspec import UNSET, UnsetType

import slpstream
from slpstream.formats.slippi.stats import schema
from slpstream.model import errors
from slpstream.model.occurrence import Occurrence

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
_CLASSES = (slpstream.Replay, Occurrence, slpstream.LiveIterator, slpstream.Client, slpstream.LogMessage)
_STATS = (
    *(schema.Stats, schema.Overall, schema.InputCounts, schema.Ratio, schema.Stock, schema.Conversion, schema.Combo),
    *(schema.Move, schema.ActionCounts, schema.Successes, schema.EdgeCancels, schema.Attacks, schema.Throws),
    *(schema.GroundTechs, schema.Extra, schema.PlayerExtra, schema.KillMove, schema.HitTotals),
    *(schema.CharacterTotals, schema.FirstBlood, schema.Rollbacks),
)
_ERRORS = (
    *(errors.SlpstreamError, errors.FormatError, errors.WrongFormat, errors.FramingError, errors.FieldError),
    *(errors.Unsupported, errors.SourceError, errors.Truncated, errors.Replaced, errors.Vanished, errors.Unreadable),
    *(errors.SubscriberError, errors.ProtocolViolation, errors.NotAuthorised, errors.NoSuchGame, errors.CursorGone),
)


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
    for described in _CLASSES:
        yield from ("", f"## {described.__name__}", "", _text(described), "")
        yield from ("| member | description |", "| --- | --- |")
        yield from (f"| `{member}` | {_cell(text)} |" for member, text in (*_fields(described), *_members(described)))
    yield from _stats()
    yield from ("", "## Errors", "")
    yield "`slpstream` itself has the classes in bold, and `slpstream.model.errors` has all of them."
    yield from ("", "| class | base class | description |", "| --- | --- | --- |")
    for error in _ERRORS:
        name = f"`{error.__name__}`"
        shown = f"**{name}**" if error.__name__ in slpstream.__all__ else name
        description, _, _ = _text(error).partition("\n\n")
        yield f"| {shown} | `{error.__bases__[0].__name__}` | {_cell(description)} |"


def _stats() -> Iterator[str]:
    """Yield the section about the stats of a game."""
    yield from ("", "## Stats", "")
    yield "`Replay.stats` returns `Stats`, which is made of the other classes. `docs/reference/stats.md` says how each"
    yield "value is counted, with the names of messages: `openingsPerKill` is `openings_per_kill` in Python. A member"
    yield from ("in italics can be `msgspec.UNSET`, which is false, if there is no value.", "")
    yield "`msgspec.to_builtins` turns all of it into dicts and lists, with the names of messages and without absent"
    yield from ("values. This is a table with a row for each player:", "")
    yield from ("```python", "table = pandas.json_normalize(msgspec.to_builtins(replay.stats().overall))", "```", "")
    yield from ("| class | members | description |", "| --- | --- | --- |")
    for described in _STATS:
        members = (
            f"*`{field.name}`*" if field.default is UNSET or UnsetType in get_args(field.type) else f"`{field.name}`"
            for field in msgspec.structs.fields(described)
        )
        yield f"| `{described.__name__}` | {', '.join(members)} | {_cell(_text(described))} |"


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


def _fields(described: type) -> Iterator[tuple[str, str]]:
    """Yield the fields of a class that have a docstring in its source."""
    [definition] = ast.parse(inspect.getsource(described)).body
    for field, after in pairwise(definition.body if isinstance(definition, ast.ClassDef) else ()):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, text


def _members(described: type) -> Iterator[tuple[str, str]]:
    """Yield the public methods and properties of a class that it has itself, in the order of the source."""
    for name, value in vars(described).items():
        if name.startswith("_") or not getattr(value, "__doc__", None):
            continue
        if isinstance(value, FunctionType):
            yield f"{name}({', '.join(_arguments(value))})", _text(value)
        elif isinstance(value, property | cached_property):
            yield name, _text(value)


def _arguments(method: FunctionType) -> Iterator[str]:
    for name, argument in list(inspect.signature(method).parameters.items())[1:]:
        yield name if argument.default is argument.empty else f"{name}={argument.default!r}"


def _text(described: Any) -> str:
    return inspect.cleandoc(described.__doc__ or "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
