"""The formats whose files are written in one go: good files, damage that reaches their readers, and the worst files."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from slpstream.formats.gci.bits import OutOfBits
from slpstream.formats.gci.body import InputRun, Racer, read_body
from slpstream.formats.gci.container import BODY_AT, CHECKSUM_AT, read_container
from slpstream.formats.gci.reader import GciReader
from slpstream.formats.mk8.header import BODY_BYTES, OUTER_BYTES
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.formats.mk8.sections import BLOCK_BYTES, MAX_SECTIONS
from slpstream.formats.stunts.reader import StuntsReader
from slpstream.formats.stunts.track import TRACK_BYTES
from slpstream.formats.whole_file import Recording, WholeFileReader
from tests.formats.gci import logs as gci
from tests.formats.gci import writer as gci_writer
from tests.formats.mk8 import built as mk8
from tests.formats.stunts import built as stunts
from tests.formats.stunts import writer as stunts_writer
from tests.replays import SHARED


class WholeFiles(NamedTuple):
    """Files of one format, and how to damage them."""

    reader: Callable[..., WholeFileReader]
    name: str
    """A file name that the format takes."""
    good: Callable[[], Mapping[str, bytes]]
    real: str
    """The pattern of the real files, if there are any."""
    number_at: Callable[[random.Random, bytes], tuple[int, int]]
    """Offset and size of a number in the headers or tables."""
    repaired: Callable[[random.Random, bytes], bytes]
    """The file with a checksum or length that fits it."""
    check_round_trip: Callable[[bytes, Any], None]
    """Checks that a decoded file is written back byte for byte."""

    def new_reader(self, **options: Any) -> WholeFileReader:
        """A reader of a file with a fitting name."""
        return self.reader(**({} if self.reader is GciReader else {"name": self.name}), **options)

    def files(self) -> list[bytes]:
        """The good files, and the real ones."""
        return [*self.good().values(), *(path.read_bytes() for path in sorted(SHARED.glob(self.real)))]


@cache
def gci_files() -> Mapping[str, bytes]:
    humans = [Racer(color=0), Racer(color=1, custom=gci.custom_machine()), Racer(human=0)]
    replays = {
        "time attack": gci.time_attack(40),
        "grand prix": gci.grand_prix(),
        "custom machine": gci.with_custom(),
        "long runs": gci_writer.new_replay([InputRun(frames=256)] * 30),
        "two humans": gci_writer.new_replay(gci.runs(30), racers=humans, mode=1),
        **{f"racer array type {array_type}": gci.of_array_type(array_type) for array_type in (0, 2, 3, 4, 6)},
    }
    return {name: gci_writer.encode(replay) for name, replay in replays.items()}


def gci_number_at(dice: random.Random, data: bytes) -> tuple[int, int]:
    return dice.choice((dice.randrange(0x80), BODY_AT + dice.randrange(40), BODY_AT + dice.randrange(600))), 1


def gci_repaired(dice: random.Random, data: bytes) -> bytes:
    return gci.with_checksum(data) if dice.random() < 0.5 and len(data) > CHECKSUM_AT + 2 else data


def check_gci_round_trip(data: bytes, recording: Recording) -> None:
    if read_body(read_container(data).body).damage is None:
        assert gci_writer.encode(gci_writer.read_replay(data)) == gci.with_checksum(data)
        return
    try:
        gci_writer.read_replay(data)
    except OutOfBits:
        return
    raise AssertionError("a damaged body was read to its end")


@cache
def mk8_files() -> Mapping[str, bytes]:
    ghosts = {
        f"{count} sections, outer header: {outer}": mk8.ghost(
            mk8.replay_part(mk8.some_sections(count, subsections, count), subsections), outer=outer
        )
        for count, subsections in ((1, 15), (3, 16), (20, 17))
        for outer in (True, False)
    }
    return ghosts | {"no sections": mk8.ghost(b"")}


def mk8_number_at(dice: random.Random, data: bytes) -> tuple[int, int]:
    part = BODY_BYTES + (OUTER_BYTES if data[:4] == b"CTG0" else 0)
    block = data.find(b"Yaz0", dice.randrange(len(data) + 1))
    in_block = max(block, 0) + dice.choice((0, 4, 16, 16 + dice.randrange(200)))
    return dice.choice((part + 4 * dice.randrange(0x30), 4 * dice.randrange(0x112), in_block)), 4


@cache
def stunts_files() -> Mapping[str, bytes]:
    return {
        f"{layout}, {ticks} tics": stunts_writer.encode(stunts.replay(layout, ticks))
        for layout in ("new", "old")
        for ticks in (0, 5, 18, 20, 300)
    }


def stunts_repaired(dice: random.Random, data: bytes) -> bytes:
    """Without the right number of tics, most files would be rejected for their length."""
    at = dice.choice((0x18, 0x16))
    rest = len(data) - at - 2 - TRACK_BYTES
    if dice.random() < 0.4 or not 0 <= rest <= 0xFFFF:
        return data
    return data[:at] + rest.to_bytes(2, "little") + data[at + 2 :]


def check_stunts_round_trip(data: bytes, recording: Any) -> None:
    assert stunts_writer.encode(recording.replay) == data


FORMATS = {
    "gci": WholeFiles(GciReader, "a.gci", gci_files, "gci/**/*.gci", gci_number_at, gci_repaired, check_gci_round_trip),
    "mk8": WholeFiles(
        Mk8Reader,
        f"{mk8.FILE_NAME}.dat",
        mk8_files,
        "mk8/**/*.dat",
        mk8_number_at,
        lambda dice, data: data,
        lambda data, recording: None,
    ),
    "stunts": WholeFiles(
        StuntsReader,
        "a.rpl",
        stunts_files,
        "stunts/**/*.rpl",
        lambda dice, data: (dice.randrange(30), 2),
        stunts_repaired,
        check_stunts_round_trip,
    ),
}


def longest_gci() -> bytes:
    """The largest possible body: 31 custom machines, 255 checkpoints, 16,384 runs of 256 frames."""
    replay = gci_writer.new_replay(
        [InputRun(buttons=index & 0xFF, frames=256) for index in range(1 << 14)],
        racers=[Racer(machine=50, color=0, custom=gci.custom_machine())] * 31,
        checkpoints=gci.equal_checkpoints(255),
        total_frames=(1 << 20) - 1,
    )
    return gci_writer.encode(replay)


def longest_stunts() -> bytes:
    """As many tics as fit, each with another input than the one before."""
    return stunts_writer.encode(stunts.replay(inputs=bytes(tick % 63 for tick in range(0xFFFF))))


def bombs() -> Mapping[str, list[bytes]]:
    """Lists of Yaz0 blocks that take as much work to unpack as a file can declare, by name."""
    copies = b"\x80A" + b"\x10\x00" * 7 + (b"\x00" + b"\x10\x00" * 8) * 1500
    mixed = b"\xaa" + b"A\x10\x00" * 4
    head = b"Yaz0" + struct.pack(">I8x", BLOCK_BYTES)
    small = head + b"\x80A" + b"\x00\x00\xff" * 7 + (b"\x00" + b"\x00\x00\xff" * 8) * 15
    return {
        "copies of three bytes": [head + copies] * 160,
        "copies and literals in turn": [head + mixed * 2060] * 150,
        "smallest blocks": [small] * 256,
    }


def bombed(bomb: str) -> bytes:
    """A ghost with these blocks and the maximum number of sections."""
    blocks = bombs()[bomb]
    image_bytes = BLOCK_BYTES * len(blocks)
    count = MAX_SECTIONS
    fake = [bytes(image_bytes // count)] * (count - 1) + [bytes(image_bytes - image_bytes // count * (count - 1))]
    return mk8.ghost(mk8.replay_part(fake, 32, blocks))
