"""`slpstream verify`: the first difference between two logs, and between what a daemon says and a file."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from slpstream.api import messages, open_file, open_replay, read_chunks
from slpstream.cli import EXIT_NO, naming
from slpstream.cli.dump import frames_option, topics_option
from slpstream.formats.registry import suffixes
from slpstream.formats.slplog.compare import CONTEXT_FRAMES, Found, first_difference
from slpstream.formats.slplog.open_log import is_log
from slpstream.model.errors import FormatError, WrongFormat
from slpstream.model.messages import TOPIC_OF_TYPE, FramesMode

_MISSING = object()

_NAMES = {"gameId", "cursor"}
_OUTSIDE_THE_LOG = {"header", "file"}
"""Where two replays may differ and still say the same."""

Message = dict[str, Any]
Pair = tuple[Message | None, Message | None]


@click.command()
@click.argument("files", nargs=-1, metavar="A B", type=click.Path(path_type=Path))
@click.option(
    "--live", "url", metavar="URL", help="Compare a running daemon's station, http://HOST:PORT/STATION, with FILE."
)
@click.option("--token-file", type=click.Path(path_type=Path), help="With --live: file whose first line is the token.")
@frames_option
@topics_option("game,frame")  # events and stats follow from the frames
def command(
    files: tuple[Path, ...], url: str | None, token_file: Path | None, frames: FramesMode, topics: frozenset[str]
) -> None:
    """The first difference between two logs, each a replay, a replay log or a file of JSON lines: event or message,
    frame, player, field, both values, and the frames around it.

    Two Slippi replays are compared field by field, bit by bit; with --frames or --topics only their messages are.
    `station` is not compared. With --live what a daemon says of its current game, from the first message on, is
    compared with FILE, by default with the daemon's own file of that game. Exit code 0 when they are equal, 1 when they
    differ.
    """
    if url is not None:
        from slpstream.cli.live import compare_live

        if len(files) > 1:
            raise click.UsageError("--live takes one file, or none")
        compare_live(url, files[0] if files else None, frames, topics, token_file)
        return
    if len(files) != 2:
        raise click.UsageError("expected two logs, A and B")
    left, right = files
    context = click.get_current_context()
    asked = any(context.get_parameter_source(name) is not ParameterSource.DEFAULT for name in ("frames", "topics"))
    found = None if asked else _in_bytes(left, right)
    if found is not None and found.event not in _OUTSIDE_THE_LOG:
        click.echo("\n".join(found.lines()))
        sys.exit(EXIT_NO)
    count = compare(log_of(left, frames, topics), log_of(right, frames, topics))
    click.echo(f"equal: {count} messages")
    if found is not None:
        click.echo(f"the files differ outside of the log: {found.lines()[0]}")


def _in_bytes(left: Path, right: Path) -> Found | None:
    """The first difference of two Slippi replays; `None` for anything else."""
    try:
        data = []
        for path in (left, right):
            if not (path.suffix.lower() in suffixes() or is_log(path)) or open_replay(path).format != "slippi":
                return None
            data.append(b"".join(read_chunks(path)))
        return first_difference(*data)
    except FormatError:
        return None  # what is wrong with it comes out when its messages are read


def compare(left: Iterator[Message], right: Iterator[Message]) -> int:
    """How many messages two logs have when they are equal; else the first difference is printed, and exit code 1."""
    count = 0
    named_apart: tuple[int, Any, Any] | None = None
    before: deque[Pair] = deque(maxlen=CONTEXT_FRAMES)
    pairs = zip_longest(left, right, fillvalue=None)
    for ours, theirs in pairs:
        count += 1
        if ours == theirs:
            if ours is not None and ours.get("type") == "frame":
                before.append((ours, theirs))
            continue
        if _content(ours) == _content(theirs):
            # Another game id, which is a hash of the file: what makes it differ is of more use, and comes later.
            named_apart = named_apart or (count, ours, theirs)
            if ours is not None and ours.get("type") == "frame":
                before.append((ours, theirs))
            continue
        behind = islice((pair for pair in pairs if pair[0] and pair[0].get("type") == "frame"), CONTEXT_FRAMES)
        _report(count, _content(ours), _content(theirs), [*before], behind)
        sys.exit(EXIT_NO)
    if named_apart is not None:
        _report(*named_apart, [], iter(()))
        sys.exit(EXIT_NO)
    return count


def _content(message: Message | None) -> Message | None:
    """A message without what names its place."""
    return None if message is None else {key: value for key, value in message.items() if key not in _NAMES}


def log_of(path: Path, frames: FramesMode, topics: frozenset[str], *, growing: bool = False) -> Iterator[Message]:
    """The messages of a replay or of a file of JSON lines, as plain values. `growing` is that of `api.messages`."""
    with naming(path):
        if path.suffix.lower() in suffixes() or is_log(path) or not _is_lines(path):
            for message in messages(path, frames=frames, topics=topics, growing=growing):
                yield msgspec.json.decode(message.json())
        else:
            yield from _lines(path, topics)


def _is_lines(path: Path) -> bool:
    """Whether a file whose name says nothing begins like JSON, or is empty."""
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
    count: int, ours: Message | None, theirs: Message | None, before: list[Pair], behind: Iterator[Pair]
) -> None:
    if ours is None or theirs is None:
        message = ours or theirs or {}
        click.echo(f"message {count}: only {'A' if ours else 'B'} has it: {_name(message)}")
        return
    path, a, b = difference_of(ours, theirs) or ((), ours, theirs)
    click.echo(f"message {count}: {_name(ours)}{_where(path)}: A has {_value(a)}, B has {_value(b)}")
    if ours.get("type") != "frame" or theirs.get("type") != "frame":
        return
    for x, y in (*before, (ours, theirs), *behind):
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
    """Where two plain values differ first, and how; `None` when they are equal."""
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
