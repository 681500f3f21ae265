"""`slpstream verify A B`: the first difference between two logs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click
import msgspec

from slpstream.api import messages, open_file
from slpstream.cli import EXIT_NO, naming
from slpstream.cli.dump import frames_option, topics_option
from slpstream.errors import WrongFormat
from slpstream.formats import suffixes
from slpstream.messages import TOPIC_OF_TYPE, FramesMode

_MISSING = object()


_NAMES = {"gameId", "cursor"}


@click.command()
@click.argument("left", metavar="A", type=click.Path(path_type=Path))
@click.argument("right", metavar="B", type=click.Path(path_type=Path))
@frames_option
@topics_option
def command(left: Path, right: Path, frames: FramesMode, topics: frozenset[str]) -> None:
    """The first difference between two logs, each a replay or a file of JSON lines: message, frame, player, field,
    both values.

    `station` is not compared. Exit code 0 when they are equal, 1 when they differ.
    """
    count = 0
    named_apart: tuple[int, Any, Any] | None = None
    for ours, theirs in zip_longest(_log(left, frames, topics), _log(right, frames, topics), fillvalue=None):
        count += 1
        if ours == theirs:
            continue
        if _content(ours) == _content(theirs):
            # Another game id, which is a hash of the file: what makes it differ is of more use, and comes later.
            named_apart = named_apart or (count, ours, theirs)
            continue
        _report(count, _content(ours), _content(theirs))
        sys.exit(EXIT_NO)
    if named_apart is not None:
        _report(*named_apart)
        sys.exit(EXIT_NO)
    click.echo(f"equal: {count} messages")


def _content(message: dict[str, Any] | None) -> dict[str, Any] | None:
    """A message without what names its place."""
    return None if message is None else {key: value for key, value in message.items() if key not in _NAMES}


def _log(path: Path, frames: FramesMode, topics: frozenset[str]) -> Iterator[dict[str, Any]]:
    """The messages of a replay or of a file of JSON lines, as plain values."""
    with naming(path):
        if path.suffix.lower() in suffixes() or not _is_lines(path):
            for message in messages(path, frames=frames, topics=topics):
                yield msgspec.json.decode(message.json())
        else:
            yield from _lines(path, topics)


def _is_lines(path: Path) -> bool:
    """Whether a file whose name says nothing begins like JSON, or is empty."""
    with open_file(path) as file:
        start = file.read(64).lstrip()
    return not start or (start.startswith(b"{") and not start.startswith(b"{U"))


def _lines(path: Path, topics: frozenset[str]) -> Iterator[dict[str, Any]]:
    offset = 0
    with open_file(path) as file:
        for line in file:
            if line.strip():
                yield from _line(line, offset, topics)
            offset += len(line)


def _line(line: bytes, offset: int, topics: frozenset[str]) -> Iterator[dict[str, Any]]:
    try:
        values = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise WrongFormat("not a JSON line", offset=offset) from None
    values.pop("station", None)
    kind = values.get("type")
    if isinstance(kind, str) and TOPIC_OF_TYPE.get(kind) in topics:
        yield values


def _report(count: int, ours: dict[str, Any] | None, theirs: dict[str, Any] | None) -> None:
    if ours is None or theirs is None:
        message = ours or theirs or {}
        click.echo(f"message {count}: only {'A' if ours else 'B'} has it: {_name(message)}")
        return
    path, a, b = first_difference(ours, theirs) or ((), ours, theirs)
    click.echo(f"message {count}: {_name(ours)}{_where(path)}: A has {_value(a)}, B has {_value(b)}")


def first_difference(a: Any, b: Any, path: tuple[str, ...] = ()) -> tuple[tuple[str, ...], Any, Any] | None:
    """Where two plain values differ first, and how; `None` when they are equal."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys((*a, *b)):
            found = first_difference(a.get(key, _MISSING), b.get(key, _MISSING), (*path, key))
            if found:
                return found
        return None
    if isinstance(a, list) and isinstance(b, list):
        for i, (x, y) in enumerate(zip_longest(a, b, fillvalue=_MISSING)):
            found = first_difference(x, y, (*path, str(i)))
            if found:
                return found
        return None
    return None if a == b and type(a) is type(b) else (path, a, b)


def _name(message: dict[str, Any]) -> str:
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
