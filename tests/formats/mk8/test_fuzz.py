"""Fuzzing: a damaged file gives a log or a `FormatError`, and nothing else.

python -m tests.formats.mk8.test_fuzz --seconds 600
"""

from __future__ import annotations

import argparse
import os
import random
import struct
import time
from functools import cache
from itertools import count

from slpstream.formats.mk8.header import BODY_BYTES
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.formats.mk8.sniff import sniff
from slpstream.model.events import GameEnd, GameStart
from slpstream.model.messages import body_of
from tests.formats.mk8 import built
from tests.replays import SHARED

SECONDS = float(os.environ.get("SLPSTREAM_FUZZ_SECONDS", "6"))


@cache
def seeds() -> list[bytes]:
    files = [
        built.ghost(built.replay_part(built.some_sections(count, subsections, count), subsections), outer=outer)
        for count, subsections in ((1, 15), (3, 16), (20, 17))
        for outer in (True, False)
    ]
    files.append(built.ghost(b""))
    # Damage to a large file seldom hits anything that matters, so most of the time goes to small ones.
    return files * 4 + [path.read_bytes() for path in sorted((SHARED / "mk8").rglob("*.dat"))]


def damaged(dice: random.Random) -> bytes:
    """A good file with bytes changed, removed, inserted or taken from another file, most often in the tables."""
    data = bytearray(dice.choice(seeds()))
    part = BODY_BYTES + (0x48 if data[:4] == b"CTG0" else 0)
    for _ in range(dice.randint(0, 4)):
        at = dice.randrange(len(data) + 1)
        number = struct.pack(
            ">I", dice.choice((0, 1, 0xFF, 0x8000, 1 << 31, 0xFFFFFFFF, len(data), dice.getrandbits(32)))
        )
        match dice.randrange(8):
            case 0:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del data[at:]
            case 2:
                data[at:at] = dice.randbytes(dice.randint(1, 40))
            case 3:
                other = dice.choice(seeds())
                data[at:] = other[dice.randrange(len(other) + 1) :]
            case 4 | 5:
                at = min(part + 4 * dice.randrange(0x30), len(data))
                data[at : at + 4] = number
            case 6:
                at = data.find(b"Yaz0", dice.randrange(len(data) + 1))
                if at >= 0:
                    at += dice.choice((0, 4, 16, 16 + dice.randrange(200)))
                    data[at : at + 4] = number
            case _:
                at = min(4 * dice.randrange(0x112), len(data))
                data[at : at + 4] = number
    return bytes(data)


def check(data: bytes, name: str, strict: bool, max_frames: int) -> bool:
    """Return whether the file could be read. Fails when its log is invalid."""
    assert sniff(data[:0x500], len(data), name) in ("yes", "no")
    reader = Mk8Reader(name=name, strict=strict)
    events = reader.feed(data) + built.log(reader, max_frames)
    if reader.failure is not None:
        assert 0 <= reader.failure.offset <= len(data)
        return False
    assert type(events[0]) is GameStart
    assert type(events[-1]) is GameEnd
    offset = 0
    for event in events:
        assert offset <= event.end_offset <= len(data)
        offset = event.end_offset
        assert b"NaN" not in body_of(event)[1]
    return True


def fuzz(seconds: float, first_seed: int = 0) -> tuple[int, int]:
    """Return the number of inputs that were tried, and how many of them could be read."""
    deadline = time.monotonic() + seconds
    read = 0
    for seed in count(first_seed):
        if time.monotonic() > deadline:
            return seed - first_seed, read
        dice = random.Random(seed)
        data, name = damaged(dice), dice.choice(("", "a.dat", f"{built.FILE_NAME}.dat"))
        try:
            read += check(data, name, dice.random() < 0.1, dice.choice((64, 1000, 1 << 20)))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
    raise AssertionError("never reached")


def test_damaged_files_give_a_log_or_a_format_error() -> None:
    tried, read = fuzz(SECONDS)
    assert tried > 30
    assert 0 < read < tried


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    print("tried %d inputs, of which %d could be read" % fuzz(parser.parse_args().seconds, 1_000_000))
