"""Fuzzing: a damaged file gives a log or a `FormatError`, and nothing else.

python -m tests.formats.stunts.test_fuzz --seconds 600
"""

from __future__ import annotations

import argparse
import os
import random
import time
from functools import cache
from itertools import count

from slpstream.formats.stunts.layout import LayoutName
from slpstream.formats.stunts.reader import StuntsReader, StuntsRecording
from slpstream.formats.stunts.sniff import sniff
from slpstream.formats.stunts.track import draw
from slpstream.model.events import Frame, GameEnd, GameStart
from slpstream.model.messages import body_of
from tests.formats.stunts import built
from tests.formats.stunts.writer import encode
from tests.replays import SHARED

SECONDS = float(os.environ.get("SLPSTREAM_FUZZ_SECONDS", "5"))
TIC_COUNT_OFFSETS = {"new": 0x18, "old": 0x16}


@cache
def seeds() -> list[bytes]:
    layouts: tuple[LayoutName, ...] = ("new", "old")
    files = [encode(built.replay(layout, ticks)) for layout in layouts for ticks in (0, 5, 18, 20, 300)]
    return files + [path.read_bytes() for path in sorted((SHARED / "stunts").rglob("*.rpl"))]


def damaged(dice: random.Random) -> bytes:
    """A good file with bytes changed, removed, inserted or taken from another file."""
    data = bytearray(dice.choice(seeds()))
    for _ in range(dice.randint(0, 4)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(5):
            case 0:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del data[at:]
            case 2:
                data[at:at] = dice.randbytes(dice.randint(1, 40))
            case 3:
                other = dice.choice(seeds())
                data[at:] = other[dice.randrange(len(other) + 1) :]
            case _:
                at = dice.randrange(min(len(data), 30) + 1)
                data[at : at + 2] = dice.choice((b"\0\0", b"\xff\xff", b"\x14\0", dice.randbytes(2)))
    if dice.random() < 0.6:  # correct the tic count; otherwise most files would be rejected for their length
        layout = dice.choice(("new", "old"))
        at = TIC_COUNT_OFFSETS[layout]
        rest = len(data) - at - 2 - 1802
        if 0 <= rest <= 0xFFFF:
            data[at : at + 2] = rest.to_bytes(2, "little")
    return bytes(data)


def check(data: bytes, name: str) -> bool:
    """Return whether the file could be read. Fails when its log is invalid."""
    assert sniff(data[:0x500], len(data), name) in ("yes", "no", "maybe")
    reader = StuntsReader(name=name)
    events = reader.feed(data) + reader.finish()
    if reader.failure is not None:
        assert 0 <= reader.failure.offset <= len(data)
        return False
    frames = 0
    offset = 0
    while events:
        for event in events:
            assert offset <= event.end_offset <= len(data)
            offset = event.end_offset
            frames += type(event) is Frame
        for event in (events[0], events[-1]):
            assert b"NaN" not in body_of(event)[1]
        last = events[-1]
        assert type(events[0]) is GameStart or frames or type(last) is GameEnd
        events = reader.more(5000)
    recording = reader.recording
    assert isinstance(recording, StuntsRecording)
    assert len(draw(recording.replay.track).splitlines()) > 30
    assert encode(recording.replay) == data
    assert frames == recording.frame_count
    return True


def fuzz(seconds: float, first_seed: int = 0) -> tuple[int, int]:
    """Return the number of inputs that were tried, and how many of them could be read."""
    deadline = time.monotonic() + seconds
    read = 0
    for seed in count(first_seed):
        if time.monotonic() > deadline:
            return seed - first_seed, read
        dice = random.Random(seed)
        data, name = damaged(dice), dice.choice(("a.rpl", "", "a.dat"))
        try:
            read += check(data, name)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
    raise AssertionError("never reached")


def test_damaged_files_give_a_log_or_a_format_error() -> None:
    tried, read = fuzz(SECONDS)
    assert tried > 50
    assert 0 < read < tried


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    print("tried %d inputs, of which %d could be read" % fuzz(parser.parse_args().seconds, 1_000_000))
