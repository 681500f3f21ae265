"""Comparison of two logs, message by message, for `slpstream verify`."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import click
import msgspec

from slpstream.api import messages, open_file
from slpstream.cli import EXIT_NO, naming
from slpstream.formats.registry import suffixes
from slpstream.formats.slplog.compare import CONTEXT_FRAMES
from slpstream.formats.slplog.open_log import is_log
from slpstream.model.errors import WrongFormat
from slpstream.model.messages import TOPIC_OF_TYPE, FramesMode

_MISSING = object()
_PLACE_KEYS = {"gameId", "cursor"}

Message = dict[str, Any]
Pair = tuple[Message | None, Message | None]


def compare(left: Iterator[Message], right: Iterator[Message]) -> int:
    """Return the number of messages of two equal logs; otherwise print the first difference and exit with 1."""
    count = 0
    other_game: tuple[int, Any, Any] | None = None
    before: deque[Pair] = deque(maxlen=CONTEXT_FRAMES)
    pairs = zip_longest(left, right, fillvalue=None)
    for ours, theirs in pairs:
        count += 1
        if ours == theirs:
            if ours is not None and ours.get("type") == "frame":
                before.append((ours, theirs))
            continue
        if _content(ours) == _content(theirs):
            # Only the game id differs. It is a hash of the file, so a difference in content follows, and says more.
            other_game = other_game or (count, ours, theirs)
            if ours is not None and ours.get("type") == "frame":
                before.append((ours, theirs))
            continue
        after = islice((pair for pair in pairs if pair[0] and pair[0].get("type") == "frame"), CONTEXT_FRAMES)
        _report(count, _content(ours), _content(theirs), [*before], after)
        sys.exit(EXIT_NO)
    if other_game is not None:
        _report(*other_game, [], iter(()))
        sys.exit(EXIT_NO)
    return count


def _content(message: Message | None) -> Message | None:
    """A message without game id and cursor."""
    return None if message is None else {key: value for key, value in message.items() if key not in _PLACE_KEYS}


def log_of(path: Path, frames: FramesMode, topics: frozenset[str], *, growing: bool = False) -> Iterator[Message]:
    """Iterate over the messages of a replay or a file of JSON lines as plain values. See `api.messages` for `growing`.

    Raises `SourceError` and `FormatError`.
    """
    with naming(path):
        if path.suffix.lower() in suffixes() or is_log(path) or not _is_lines(path):
            for message in messages(path, frames=frames, topics=topics, growing=growing):
                yield msgspec.json.decode(message.json())
        else:
            yield from _lines(path, topics)


def _is_lines(path: Path) -> bool:
    """Whether a file with an unknown name ending begins like JSON lines, or is empty."""
    with open_file(path) as file:
        start = file.read(64).lstrip()
    return not start or (start.startswith(b"{") and not start.startswith(b"{U"))


def _lines(path: Path, topics: frozenset[str]) -> Iterator[Message]:
    offset = 0
    with open_file(path) as file:
        for line in file:
            if line.strip():
                yield from _line(line, offset, topics)
            offset += len(line)


def _line(line: bytes, offset: int, topics: frozenset[str]) -> Iterator[Message]:
    try:
        values = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise WrongFormat("not a JSON line", offset=offset) from None
    values.pop("station", None)
    kind = values.get("type")
    if isinstance(kind, str) and TOPIC_OF_TYPE.get(kind) in topics:
        yield values


def _report(
    count: int, ours: Message | None, theirs: Message | None, before: list[Pair], after: Iterator[Pair]
) -> None:
    if ours is None or theirs is None:
        message = ours or theirs or {}
        click.echo(f"message {count}: only {'A' if ours else 'B'} has it: {_name(message)}")
        return
    path, a, b = difference_of(ours, theirs) or ((), ours, theirs)
    click.echo(f"message {count}: {_name(ours)}{_where(path)}: A has {_value(a)}, B has {_value(b)}")
    if ours.get("type") != "frame" or theirs.get("type") != "frame":
        return
    for x, y in (*before, (ours, theirs), *after):
        a, b = _value(_at(x, path)), _value(_at(y, path))
        mark = "   <-- here" if x is ours else ""
        click.echo(f"    {_name(x or {})}: {a}" + ("" if a == b else f"  |  {b}") + mark)


def _at(message: Message | None, path: tuple[str, ...]) -> Any:
    value: Any = message
    for key in path:
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else _MISSING
        else:
            value = value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
    return value


def difference_of(a: Any, b: Any, path: tuple[str, ...] = ()) -> tuple[tuple[str, ...], Any, Any] | None:
    """The path to the first difference between two plain values, and both values there; `None` when they are equal."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys((*a, *b)):
            found = difference_of(a.get(key, _MISSING), b.get(key, _MISSING), (*path, key))
            if found:
                return found
        return None
    if isinstance(a, list) and isinstance(b, list):
        for i, (x, y) in enumerate(zip_longest(a, b, fillvalue=_MISSING)):
            found = difference_of(x, y, (*path, str(i)))
            if found:
                return found
        return None
    return None if a == b and type(a) is type(b) else (path, a, b)


def _name(message: Message) -> str:
    frame = message.get("frame")
    number = frame.get("frame") if isinstance(frame, dict) else frame
    kind = str(message.get("type", "?"))
    return kind if number is None else f"{kind} {number}" if kind != "frame" else f"frame {number}"


def _where(path: tuple[str, ...]) -> str:
    """`frame.players.0.post.percent` as `, player 0, post.percent`."""
    parts = list(path[1:] if path[:1] == ("frame",) else path)
    if len(parts) > 1 and parts[0] in ("players", "followers"):
        return f", {parts[0][:-1]} {parts[1]}, {'.'.join(parts[2:]) or 'the whole'}"
    return f", {'.'.join(parts)}"


def _value(value: Any) -> str:
    return "nothing" if value is _MISSING else msgspec.json.encode(value).decode()[:200]
