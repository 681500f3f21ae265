"""Replays of games in progress, and their ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from slpstream.formats.slippi.commands import FIRST_FRAME, FRAME_BOOKEND
from slpstream.formats.slippi.container import HEADER_BYTES, MAGIC
from slpstream.formats.slippi.framing import event_payloads_of, walk_events

_LENGTH = slice(len(MAGIC), HEADER_BYTES)


def begun(path: Path, data: bytes) -> Callable[[], None]:
    """Write the first half of a replay, with an unknown length. The returned function writes the rest."""
    half = len(data) // 2
    path.write_bytes(_of_unknown_length(data)[:half])
    return lambda: _finish(path, data, half)


def written_in_steps(path: Path, data: bytes, every_frames: int) -> Iterator[int]:
    """Write a replay in steps of so many frames. Yields the last frame that is written after each step but the last.

    With steps of quarters of a second, the dashboard gets these frames at its low rate too.
    """
    found = event_payloads_of(data)
    assert found is not None
    walk = walk_events(data, found[1], len(data), found[0].widths)
    ends = [end for command, _, end in walk if command == FRAME_BOOKEND.command]
    written = 0
    for frames in range(1 + -FIRST_FRAME % 15, len(ends), every_frames):
        with path.open("ab") as file:
            file.write(_of_unknown_length(data)[written : ends[frames - 1]])
        written = ends[frames - 1]
        yield FIRST_FRAME + frames - 1
    _finish(path, data, written)


def _of_unknown_length(data: bytes) -> bytes:
    return data[: _LENGTH.start] + bytes(4) + data[_LENGTH.stop :]


def _finish(path: Path, data: bytes, written: int) -> None:
    with path.open("rb+") as file:
        file.seek(written)
        file.write(data[written:])
        file.seek(_LENGTH.start)
        file.write(data[_LENGTH])
