"""Fuzzing: a damaged file gives a `FormatError` or a log that keeps the rules of all logs, and nothing else.

Each format is tried with the same `MIN_TRIED` files in every run, and with more until `SLPSTREAM_FUZZ_SECONDS` have
passed.
"""

from __future__ import annotations

import os
import random
import time
from itertools import count

import pytest

from slpstream.formats.registry import formats
from slpstream.formats.whole_file import WholeFileReader
from slpstream.model.events import Diagnostic, Event, Frame, GameEnd, GameStart
from tests.formats.logs import payload
from tests.formats.whole_files import FORMATS, WholeFiles

SECONDS = float(os.environ.get("SLPSTREAM_FUZZ_SECONDS", "5"))
MIN_TRIED = 60
STEP_FRAMES = 60
MAX_READ_FRAMES = 1000
CODES = {"wrong_format", "unsupported", "framing", "truncated", "checksum", "field"}
NUMBERS = (0, 1, 0x14, 0xFF, 0x8000, 1 << 31, (1 << 32) - 1)
RANGES = {"steer": -1, "pitch": -1, "strafe": -1, "throttle": 0, "brake": 0}
"""The lowest value of each input; the highest one is 1."""


def damaged(dice: random.Random, files: WholeFiles, seeds: list[bytes]) -> bytes:
    """A good file with bytes changed, removed, inserted or taken from another file, most often in its tables."""
    data = bytearray(dice.choice(seeds))
    for _ in range(dice.randint(0, 6)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(9):
            case 0:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 1 if dice.random() < 0.5:
                del data[at:]
            case 2:
                data[at:at] = dice.randbytes(dice.randint(1, 40))
            case 3:
                del data[at : at + dice.randrange(64)]
            case 4:
                other = dice.choice(seeds)
                data[at:] = other[dice.choice((at, dice.randrange(len(other) + 1))) :]
            case 5:
                data[at : at + 300] = bytes([dice.randrange(256)]) * len(data[at : at + 300])
            case _:
                at, size = files.number_at(dice, bytes(data))
                number = dice.choice(
                    (0, 1, 0xFF, 0x14, 0x8000, 1 << 31, len(data), dice.getrandbits(32), (1 << 32) - 1)
                )
                if at < len(data):
                    data[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, dice.choice(("big", "little")))
    return files.repaired(dice, bytes(data))


def check(files: WholeFiles, reader: WholeFileReader, data: bytes) -> bool:
    """Return whether the file could be read. Fails if its log is invalid."""
    events = reader.feed(data) + reader.finish()
    failure = reader.failure
    if failure is not None:
        [event] = events
        assert isinstance(event, Diagnostic)
        assert (event.severity, event.code, event.offset) == ("error", failure.code, failure.offset)
        assert 0 <= failure.offset <= len(data)
        assert failure.code in CODES
        assert reader.closed
        return False
    recording = reader.recording
    assert recording is not None
    frames, expected = [], range(recording.frame_count)
    if len(expected) <= MAX_READ_FRAMES:
        while reader.pending:
            events += reader.more(STEP_FRAMES)
    else:  # frames at the start come from the reader, those at the end from the recording
        events += reader.more(STEP_FRAMES)
        events += recording.frame_events(len(expected) - STEP_FRAMES, len(expected))
        events += recording.tail
        expected = [*expected[:STEP_FRAMES], *expected[-STEP_FRAMES:]]  # type: ignore[assignment]
    check_log(events, len(data))
    frames = [event.entry.native_frame for event in events if isinstance(event, Frame)]
    assert frames == list(expected)
    files.check_round_trip(data, recording)
    return True


def check_log(events: list[Event], size_bytes: int) -> None:
    assert isinstance(events[0], GameStart)
    assert isinstance(events[-1], GameEnd)
    assert sum(isinstance(event, GameStart | GameEnd) for event in events) == 2
    offset = 0
    for event in events:
        assert offset <= event.end_offset <= size_bytes
        offset = event.end_offset
        message = payload(event)  # which JSON can carry
        if isinstance(event, Diagnostic):
            assert event.severity != "error"
            assert 0 <= event.offset <= size_bytes
        for player in message["frame"]["players"].values() if isinstance(event, Frame) else ():
            assert all(low <= player["inputs"].get(axis, 0) <= 1 for axis, low in RANGES.items())


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_file_gives_a_log_or_a_format_error(name: str) -> None:
    files = FORMATS[name]
    # Damage to a large file seldom hits anything that matters, so most of the time goes to small ones.
    seeds = [*files.good().values()] * 4 + files.files()
    [format_] = [format_ for format_ in formats() if format_.name == name]
    assert format_.sniff is not None
    deadline = time.monotonic() + SECONDS
    tried = read = 0
    for seed in count():
        if tried >= MIN_TRIED and time.monotonic() > deadline:
            break
        dice = random.Random(seed)
        data = damaged(dice, files, seeds)
        file_name = dice.choice((files.name, files.name, "", "a.bin"))
        options = {} if name == "gci" else {"name": file_name}
        try:
            assert format_.sniff(data[:0x500], len(data), file_name) in {"yes", "no", "maybe"}
            read += check(files, files.reader(strict=dice.random() < 0.2, **options), data)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
        tried += 1
    assert tried // 8 < read < tried
