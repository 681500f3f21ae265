"""Replay logs: round trips, reading from any frame, unfinished logs, and damaged blocks."""

from __future__ import annotations

import hashlib
import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slpstream.formats.gci.body import InputRun
from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slplog import container
from slpstream.formats.slplog.container import Kind
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.formats.slplog.writer import SlippiLogWriter, new_writer, pack
from slpstream.model.errors import FormatError, FramingError, Unsupported, WrongFormat
from tests.formats.gci.writer import encode, new_replay
from tests.formats.slippi.built import varied_replay
from tests.formats.slplog.logs import changed, files, format_of, synthetic
from tests.formats.stunts import built as stunts
from tests.formats.stunts import writer as stunts_writer


@pytest.mark.parametrize(("name", "file"), [pytest.param(name, file, id=name) for name, file in files().items()])
def test_files_round_trip(name: str, file: Path | bytes) -> None:
    data = file if isinstance(file, bytes) else file.read_bytes()
    log = ReplayLog.of(pack(data, format_of(name, data), name))
    assert log.unpack() == data
    assert log.header.name == name
    assert log.end is not None
    assert log.end.sha256 == hashlib.sha256(data).digest()
    assert not log.problems


def packed(data: bytes, *, keyframe_frames: int = 120) -> bytes:
    return pack(data, "slippi", "Game_1.slp", keyframe_frames)


@pytest.mark.parametrize("keyframe_frames", [1, 50, 10_000])
def test_synthetic_replays_round_trip(keyframe_frames: int) -> None:
    for data in (varied_replay(), synthetic()[:60_000]):
        log = ReplayLog.of(packed(data, keyframe_frames=keyframe_frames))
        assert log.unpack() == data
        frames = [index for index, block in enumerate(log.blocks) if block.kind == Kind.FRAMES]
        assert all(log.blocks[index].has_frames for index in frames)
        assert frames == list(range(frames[0], frames[0] + len(frames)))
        assert data.index(b"\x3a\xff\xff\xff\x85") == log.blocks[frames[0]].source_offset


def test_log_does_not_depend_on_how_input_is_split() -> None:
    data = varied_replay()
    whole = packed(data)
    dice = random.Random(4)
    for cuts in (range(len(data)), sorted(dice.sample(range(len(data)), 60))):
        writer = new_writer("slippi", "Game_1.slp")
        found = b"".join(writer.feed(data[a:b]) for a, b in pairwise([0, *cuts, len(data)]))
        assert found + writer.finish() == whole


@example(b"")
@example(b"x")
@example(b"{U\x03raw[$U#l")
@example(b"{U\x03raw[$U#l\0\0\0\0\x35\x04\x36\0\x02\x36")
@given(st.binary(max_size=300))
def test_any_bytes_round_trip(data: bytes) -> None:
    for format_ in ("slippi", "gci", "stunts", "mk8", ""):
        assert ReplayLog.of(pack(data, format_, "x")).unpack() == data


@given(st.data())
@settings(max_examples=40)
def test_damaged_replays_round_trip(data: st.DataObject) -> None:
    replay = bytearray(varied_replay())
    for _ in range(data.draw(st.integers(1, 5))):
        replay[data.draw(st.integers(0, len(replay) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(replay[: data.draw(st.integers(0, len(replay)))])
    assert ReplayLog.of(packed(cut, keyframe_frames=10)).unpack() == cut


def test_frames_are_read_from_few_blocks() -> None:
    data = synthetic()
    log_bytes = packed(data, keyframe_frames=50)
    read: list[tuple[int, int]] = []

    def read_at(offset: int, size: int) -> bytes:
        read.append((offset, size))
        return log_bytes[offset : offset + size]

    log = ReplayLog(read_at, len(log_bytes))
    assert len([block for block in log.blocks if block.has_frames]) > 10
    for frame in (-123, -39, 0, 311, 500):
        read.clear()
        span = log.span(frame, frame)
        assert not span.whole
        assert data[span.offset : span.offset + len(span.data)] == span.data
        assert span.lead.startswith(data[:200])
        assert frame.to_bytes(4, "big", signed=True) in span.data
        assert sum(size for _, size in read) < len(log_bytes) / 3
    assert log.span(100_000, 100_001).data == b""
    assert any(block.first_frame <= 311 <= block.last_frame for block in log.blocks if block.has_frames)


def test_unfinished_log_is_read_up_to_the_last_whole_block() -> None:
    data = synthetic()
    writer = SlippiLogWriter("Game_1.slp", 60)
    written = b"".join(writer.feed(data[at : at + 4096]) for at in range(0, len(data), 4096))
    log = ReplayLog.of(written)
    assert not log.finished
    unpacked = log.unpack()
    assert data.startswith(unpacked)
    assert len(data) - len(unpacked) < 100 * 2000
    cut = ReplayLog.of(written[:-10])
    assert [str(problem) for problem in cut.problems] == [
        str(problem) for problem in cut.problems if "cut off" in str(problem)
    ]
    assert cut.problems
    readable = b"".join(part for _, part in cut.pieces(partial=True))
    assert data.startswith(readable)
    assert 0 < len(readable) < len(unpacked)


def test_rewritten_header_replaces_the_first_one() -> None:
    data = varied_replay()
    running = data[: HEADER_BYTES - 4] + bytes(4) + data[HEADER_BYTES:]
    for known in (b"", hashlib.sha256(data).digest()):
        writer = SlippiLogWriter("Game_1.slp")
        written = writer.feed(running)
        written += writer.rewrite(data[:HEADER_BYTES])
        log = ReplayLog.of(written + writer.finish(known))
        assert log.unpack() == data
        assert log.end is not None
        assert log.end.sha256 == (known or bytes(32))


def test_partial_read_ignores_a_damaged_rewrite() -> None:
    data = varied_replay()
    running = data[: HEADER_BYTES - 4] + bytes(4) + data[HEADER_BYTES:]
    writer = SlippiLogWriter("Game_1.slp")
    bad = bytearray(writer.feed(running) + writer.rewrite(data[:HEADER_BYTES]) + writer.finish(b""))
    [block] = [block for block in ReplayLog.of(bytes(bad)).blocks if block.kind == Kind.REWRITE]
    bad[block.offset + container.HEADER_BYTES] ^= 1
    log = ReplayLog.of(bytes(bad))
    with pytest.raises(FramingError):
        log.unpack()
    assert b"".join(part for _, part in log.pieces(partial=True)) == running
    assert [problem.offset for problem in log.problems] == [block.offset]


def test_damaged_blocks_are_named_and_others_are_read() -> None:
    data = synthetic()
    good = packed(data, keyframe_frames=60)
    blocks = ReplayLog.of(good).blocks
    for number in (0, 3, len(blocks) - 1):
        block = blocks[number]
        bad = bytearray(good)
        bad[block.offset + container.HEADER_BYTES + 5] ^= 0x10
        log = ReplayLog.of(bytes(bad))
        with pytest.raises(FramingError, match=f"block {number} is damaged, at offset {block.offset}"):
            log.unpack()
        unpacked = bytearray(len(data))
        for offset, part in log.pieces(partial=True):
            unpacked[offset : offset + len(part)] = part
        lost = slice(block.source_offset, block.source_offset + block.source_bytes)
        assert unpacked[: lost.start] == data[: lost.start]
        assert unpacked[lost.stop :] == data[lost.stop :]
        assert [problem.offset for problem in log.problems] == [block.offset]


def test_block_without_header_is_skipped() -> None:
    data = synthetic()
    good = packed(data, keyframe_frames=60)
    blocks = ReplayLog.of(good).blocks
    bad = bytearray(good[: -container.END_BYTES])  # without the end, blocks are found by their headers
    bad[blocks[4].offset : blocks[4].offset + 8] = bytes(8)
    log = ReplayLog.of(bytes(bad))
    assert [problem.offset for problem in log.problems] == [blocks[4].offset]
    assert "block 4 has no header" in str(log.problems[0])
    assert [block.offset for block in log.blocks] == [b.offset for b in blocks if b is not blocks[4]]
    with pytest.raises(FramingError):
        log.unpack()
    size = sum(len(part) for _, part in log.pieces(partial=True))
    assert size == len(data) - blocks[4].source_bytes


def test_block_with_a_wrong_offset_is_left_out() -> None:
    data = varied_replay()
    good = packed(data, keyframe_frames=8)
    blocks = ReplayLog.of(good).blocks
    block = blocks[-1]
    payload = good[block.offset + container.HEADER_BYTES : block.next_offset]
    for offset in (0, (1 << 32) - 1):
        forged = container.write_block(changed(block, source_offset=offset), payload)
        log = ReplayLog.of(good[: block.offset] + forged)
        assert b"".join(part for _, part in log.pieces(partial=True)) == data[: block.source_offset]
        assert f"begins at byte {offset} of the replay" in str(log.problems[0])


def test_index_matches_the_blocks() -> None:
    good = packed(synthetic(), keyframe_frames=60)
    indexed, searched = ReplayLog.of(good), ReplayLog.of(good[: -container.END_BYTES])
    assert indexed.finished
    assert not searched.finished
    assert [changed(b, checksum=0) for b in searched.blocks] == indexed.blocks
    assert indexed.end is not None
    assert indexed.end.blocks == len(indexed.blocks)


def test_other_files_and_damaged_headers_are_rejected() -> None:
    good = packed(b"abc")
    for bad, kind in (
        (b"", WrongFormat),
        (b"{U\x03raw", WrongFormat),
        (good[:9], FramingError),
        (good[:8] + b"\x02" + good[9:], Unsupported),
        (good[:15] + b"\xff" + good[16:], FramingError),
    ):
        with pytest.raises(kind):
            ReplayLog.of(bad)
    for keyframe_frames in (0, 10_001):
        with pytest.raises(ValueError, match="keyframe"):
            new_writer("slippi", "", keyframe_frames)


HOSTILE = pack(varied_replay(), "slippi", "Game_1.slp", 8)


@given(st.data())
@settings(max_examples=250)
def test_damaged_log_gives_the_replay_or_a_format_error(data: st.DataObject) -> None:
    bad = bytearray(HOSTILE)
    if data.draw(st.booleans()):
        del bad[data.draw(st.integers(0, len(bad))) :]
    for _ in range(data.draw(st.integers(0, 3))):
        if bad:
            at = data.draw(st.one_of(st.integers(0, len(bad) - 1), st.integers(0, min(len(bad), 200) - 1)))
            bad[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        log = ReplayLog.of(bytes(bad))
        found = log.unpack()
    except FormatError:
        return
    assert varied_replay().startswith(found) if not log.finished else found == varied_replay()


@given(st.data())
@settings(max_examples=100)
def test_forged_log_gives_bytes_or_a_format_error(data: st.DataObject) -> None:
    """Blocks have correct checksums but wrong contents, as an attacker could make them."""
    log = ReplayLog.of(HOSTILE)
    number = data.draw(st.integers(0, len(log.blocks) - 1))
    block = log.blocks[number]
    at = block.offset + container.HEADER_BYTES
    payload = bytearray(HOSTILE[at : at + block.payload_bytes])
    for _ in range(data.draw(st.integers(0, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    numbers = st.sampled_from([0, 1, block.source_bytes, 1 << 20, (1 << 32) - 1])
    forged = changed(
        block,
        kind=data.draw(st.sampled_from([block.kind, *Kind])),
        source_bytes=data.draw(numbers),
        source_offset=data.draw(st.sampled_from([block.source_offset, 0, (1 << 32) - 1])),
    )
    bad = HOSTILE[: block.offset] + container.write_block(forged, bytes(payload))
    if data.draw(st.booleans()):
        bad += HOSTILE[block.next_offset :]
    try:
        found = ReplayLog.of(bad).unpack()
    except FormatError:
        return
    assert len(found) <= len(varied_replay()) + (1 << 20)


def test_inputs_of_gx_and_stunts_are_coded_in_bits() -> None:
    dice = random.Random(6)
    steers = [0]
    for _ in range(600):
        steers.append(min(100, max(-100, steers[-1] + dice.randint(-9, 9))))
    ticks = b"".join(bytes([dice.choice((1, 5, 9))]) * dice.randint(5, 90) for _ in range(20))
    runs = [InputRun(accel=100, frames=dice.randint(1, 4), steer_x=steer) for steer in steers]
    files = {"race.gci": encode(new_replay(runs)), "race.rpl": stunts_writer.encode(stunts.replay(inputs=ticks))}
    for name, data in files.items():
        log = ReplayLog.of(pack(data, format_of(name, data), name))
        [inputs] = [block for block in log.blocks if block.kind == Kind.PADS]
        assert inputs.payload_bytes < inputs.source_bytes / 2
        assert log.unpack() == data
