"""Compares two logs message by message, for `slpstream verify`."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import click
import msgspec

from slpstream.api import messages
from slpstream.cli import EXIT_NO, error_context
from slpstream.formats.registry import suffixes
from slpstream.formats.slplog.compare import CONTEXT_FRAMES
from slpstream.formats.slplog.open_log import is_log
from slpstream.model.errors import WrongFormat
from slpstream.model.foreign_data import read_json
from slpstream.model.messages import FramesMode
from slpstream.model.topics import TOPIC_OF_TYPE
from slpstream.sources.replay_file import open_file

_MISSING = object()
_POSITION_KEYS = {"gameId", "cursor"}

Message = dict[str, Any]
Pair = tuple[Message | None, Message | None]


def compare(left: Iterator[Message], right: Iterator[Message]) -> int:
    """Return the number of messages if the logs are equal.

    Otherwise, print the first difference and exit with code 1.
    """
    count = 0
    other_game: tuple[int, Any, Any] | None = None
    before: deque[Pair] = deque(maxlen=CONTEXT_FRAMES)
    pairs = zip_longest(left, right, fillvalue=None)
    for left_message, right_message in pairs:
        count += 1
        if left_message == right_message:
            if left_message is not None and left_message.get("type") == "frame":
                before.append((left_message, right_message))
            continue
        if _content(left_message) == _content(right_message):
            # Only the game id or the cursor differs. A later difference in content is more useful to report.
            other_game = other_game or (count, left_message, right_message)
            if left_message is not None and left_message.get("type") == "frame":
                before.append((left_message, right_message))
            continue
        after = islice((pair for pair in pairs if pair[0] and pair[0].get("type") == "frame"), CONTEXT_FRAMES)
        _report(count, _content(left_message), _content(right_message), [*before], after)
        sys.exit(EXIT_NO)
    if other_game is not None:
        _report(*other_game, [], iter(()))
        sys.exit(EXIT_NO)
    return count


def _content(message: Message | None) -> Message | None:
    """Return a message without its game id and cursor."""
    return None if message is None else {key: value for key, value in message.items() if key not in _POSITION_KEYS}


def log_of(path: Path, frames: FramesMode, topics: frozenset[str], *, growing: bool = False) -> Iterator[Message]:
    """Iterate over the messages of a replay or a file of JSON lines as plain values.

    For `growing`, have a look at `api.messages`. Raises `SourceError` or `FormatError` if the file can't be read.
    """
    with error_context(path):
        if path.suffix.lower() in suffixes() or is_log(path) or not _is_json_lines(path):
            for message in messages(path, frames=frames, topics=topics, growing=growing):
                yield msgspec.json.decode(message.json())
        else:
            yield from _json_lines(path, topics)


def _is_json_lines(path: Path) -> bool:
    """Whether a file begins like JSON lines, or is empty."""
    with open_file(path) as file:
        start = file.read(64).lstrip()
    return not start or (start.startswith(b"{") and not start.startswith(b"{U"))


def _json_lines(path: Path, topics: frozenset[str]) -> Iterator[Message]:
    offset = 0
    with open_file(path) as file:
        for line in file:
            if line.strip():
                yield from _json_line(line, offset, topics)
            offset += len(line)


def _json_line(line: bytes, offset: int, topics: frozenset[str]) -> Iterator[Message]:
    values = read_json(line, dict[str, Any], lambda _: WrongFormat("not a JSON line", offset=offset))
    values.pop("station", None)
    kind = values.get("type")
    if isinstance(kind, str) and TOPIC_OF_TYPE.get(kind) in topics:
        yield values


def _report(
    count: int, left_message: Message | None, right_message: Message | None, before: list[Pair], after: Iterator[Pair]
) -> None:
    if left_message is None or right_message is None:
        message = left_message or right_message or {}
        click.echo(f"message {count}: only {'A' if left_message else 'B'} has it: {_title(message)}")
        return
    path, a, b = difference_of(left_message, right_message) or ((), left_message, right_message)
    click.echo(
        f"message {count}: {_title(left_message)}{_location(path)}: A has {_value_text(a)}, B has {_value_text(b)}"
    )
    if left_message.get("type") != "frame" or right_message.get("type") != "frame":
        return
    for x, y in (*before, (left_message, right_message), *after):
        a, b = _value_text(_value_at(x, path)), _value_text(_value_at(y, path))
        mark = "   <-- here" if x is left_message else ""
        click.echo(f"    {_title(x or {})}: {a}" + ("" if a == b else f"  |  {b}") + mark)


def _value_at(message: Message | None, path: tuple[str, ...]) -> Any:
    value: Any = message
    for key in path:
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else _MISSING
        else:
            value = value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
    return value


def difference_of(a: Any, b: Any, path: tuple[str, ...] = ()) -> tuple[tuple[str, ...], Any, Any] | None:
    """Find the first difference between two plain values.

    Returns its path and the two values there, or `None` if they are equal.
    """
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


def _title(message: Message) -> str:
    frame = message.get("frame")
    number = frame.get("frame") if isinstance(frame, dict) else frame
    kind = str(message.get("type", "?"))
    return kind if number is None else f"{kind} {number}" if kind != "frame" else f"frame {number}"


def _location(path: tuple[str, ...]) -> str:
    """Format a path. For example, `frame.players.0.post.percent` becomes `, player 0, post.percent`."""
    parts = list(path[1:] if path[:1] == ("frame",) else path)
    if len(parts) > 1 and parts[0] in ("players", "followers"):
        return f", {parts[0][:-1]} {parts[1]}, {'.'.join(parts[2:]) or 'the whole'}"
    return f", {'.'.join(parts)}"


def _value_text(value: Any) -> str:
    return "nothing" if value is _MISSING else msgspec.json.encode(value).decode()[:200]
