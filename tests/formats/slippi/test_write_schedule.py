"""The schedule: with every writer, the writes produce the replay byte for byte, at the pace of the game."""

from __future__ import annotations

import math
from itertools import islice, pairwise
from pathlib import Path

import pytest

from slpstream.formats.slippi import container
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.write_schedule import BLOCK_BYTES, DRAIN_SECONDS, Timeline, Write, schedule
from slpstream.model.errors import WrongFormat
from slpstream.model.events import Frame
from tests.replays import real_replays, replay_path
from tests.synthetic.match import synthetic_match

WRITERS = ["dolphin", "frame", "bytes:1", "bytes:1000", "random:7", "random:-3"]
TICK = 1 / 60
OWN = ("singles_0.1", "crashed_2.1", "gecko_3.3", "pauses_3.10", "rollbacks_3.0", "unknown_event_3.18", "stadium_3.19")


@pytest.fixture(scope="module")
def match() -> bytes:
    return synthetic_match(frames=400, gecko=True)


def written(writes: list[Write]) -> bytes:
    file = bytearray()
    for write in writes:
        assert write.offset <= len(file), "a hole in the file"
        file[write.offset : write.offset + len(write.data)] = write.data
    return bytes(file)


def appended(writes: list[Write]) -> list[Write]:
    """The writes without the one that sets the raw length at the end."""
    at = 0
    out = []
    for write in writes:
        if write.offset == at:
            out.append(write)
            at += len(write.data)
    return out


@pytest.mark.parametrize("writer", WRITERS)
def test_writes_produce_the_replay(match: bytes, writer: str) -> None:
    writes = list(schedule(match, writer))
    assert written(writes) == match
    assert all(earlier.at_seconds <= later.at_seconds for earlier, later in pairwise(writes))
    assert all(write.data for write in writes)
    *growth, last = writes
    assert container.raw_length(written(growth)) == 0
    assert (last.offset, last.data, last.at_seconds) == (11, match[11:15], growth[-1].at_seconds)


@pytest.mark.parametrize("writer", WRITERS)
def test_raw_length_of_an_unfinished_original_stays_zero(writer: str) -> None:
    data = synthetic_match(frames=60, ended=False)
    writes = list(schedule(data, writer))
    assert writes == appended(writes)
    assert written(writes) == data


@pytest.mark.parametrize("path", [*map(replay_path, OWN), *real_replays()], ids=lambda path: path.stem)
def test_writes_produce_replays_of_all_kinds(path: Path) -> None:
    data = path.read_bytes()
    for writer in ("dolphin", "frame", "bytes:4093", "random:1"):
        if data.startswith(container.MAGIC):
            assert written(list(schedule(data, writer))) == data
        else:
            with pytest.raises(WrongFormat):
                schedule(data, writer)


def test_dolphin_writes_whole_blocks_when_it_empties_its_queue(match: bytes) -> None:
    *blocks, last = appended(list(schedule(match, "dolphin")))
    assert all(len(write.data) % BLOCK_BYTES == 0 for write in blocks)
    for write in [*blocks, last]:
        assert write.at_seconds / DRAIN_SECONDS == pytest.approx(round(write.at_seconds / DRAIN_SECONDS))
    gaps = [later.at_seconds - earlier.at_seconds for earlier, later in pairwise(blocks)]
    assert max(gaps) < 0.4
    assert min(gaps) >= DRAIN_SECONDS * 0.99
    # No byte is written before the game has produced it.
    timeline = Timeline(match)
    for write in blocks:
        assert timeline.at(write.offset + len(write.data)) <= write.at_seconds


def test_dolphin_cuts_frames(match: bytes) -> None:
    ends, cuts = {event.end_offset for event in SlippiReader().feed(match)}, 0
    for write in appended(list(schedule(match, "dolphin")))[:-1]:
        cuts += write.offset + len(write.data) not in ends
    assert cuts > 5


def test_frame_writes_sixty_frames_a_second(match: bytes) -> None:
    start, *frames = appended(list(schedule(match, "frame")))
    assert start.at_seconds == 0
    reader = SlippiReader()
    assert not [event for event in reader.feed(start.data) if isinstance(event, Frame)]
    for tick, write in enumerate(frames[:-1], 1):
        assert write.at_seconds == pytest.approx(tick * TICK)
        assert len([event for event in reader.feed(write.data) if isinstance(event, Frame)]) == 1
    assert len(frames) - 1 == 400
    assert frames[-1].data.endswith(container.CLOSE)


@pytest.mark.parametrize("version", [(1, 0, 0), (2, 2, 0)], ids=str)
def test_frame_finds_frames_without_bookends(version: tuple[int, int, int]) -> None:
    data = synthetic_match(version=version, frames=90)
    times = [write.at_seconds for write in appended(list(schedule(data, "frame")))]
    assert times == pytest.approx([tick * TICK for tick in range(91)])


def test_frames_sent_again_take_no_extra_time() -> None:
    data = synthetic_match(frames=500, rollbacks=True)
    times = [write.at_seconds for write in appended(list(schedule(data, "frame")))]
    assert times[-1] == pytest.approx(500 * TICK)
    assert len(times) > 520
    assert len(set(times)) == 501


def test_bytes_writes_pieces_of_the_given_size(match: bytes) -> None:
    *whole, last = appended(list(schedule(match, "bytes:777")))
    assert {len(write.data) for write in whole} == {777}
    assert len(last.data) <= 777


def test_bytes_of_a_frame_are_written_when_it_is_complete(match: bytes) -> None:
    reader = SlippiReader()
    for write in appended(list(schedule(match, "bytes:50"))):
        for event in reader.feed(write.data):
            if isinstance(event, Frame):
                # A piece that reaches into the next frame waits for that frame.
                complete_at = (event.number + 124) * TICK
                assert complete_at - 1e-9 <= write.at_seconds <= complete_at + TICK + 1e-9


def test_random_depends_only_on_its_seed(match: bytes) -> None:
    one, again, other = (list(schedule(match, f"random:{seed}")) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    sizes = {len(write.data) for write in one}
    assert min(sizes) <= 2
    assert max(sizes) > 1000


@pytest.mark.parametrize("writer", WRITERS)
def test_speed_divides_the_times(match: bytes, writer: str) -> None:
    for write, fast in islice(zip(schedule(match, writer), schedule(match, writer, speed=4), strict=True), 5000):
        assert fast.at_seconds == pytest.approx(write.at_seconds / 4)
        assert fast[1:] == write[1:]


@pytest.mark.parametrize("speed", [0, math.inf])
def test_as_fast_as_possible(match: bytes, speed: float) -> None:
    writes = list(schedule(match, "dolphin", speed=speed))
    assert {write.at_seconds for write in writes} == {0.0}
    assert written(writes) == match


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("length", [0, 1, 11, 12, 15, 16, 17, 40, 500])
def test_truncated_replays(match: bytes, writer: str, length: int) -> None:
    data = match[:length]
    assert written(list(schedule(data, writer))) == data


def test_bytes_that_are_not_events_are_written_too(match: bytes) -> None:
    rubbish = match[:100_000] + bytes(range(256)) * 10
    wrong_sizes = match[: container.HEADER_BYTES] + b"\x77" + match[container.HEADER_BYTES + 1 :]
    for data in (rubbish, wrong_sizes):
        assert written(list(schedule(data, "frame"))) == data


def test_file_without_frames_is_written_immediately(match: bytes) -> None:
    data = match[:500]
    assert {write.at_seconds for write in schedule(data, "dolphin")} == {DRAIN_SECONDS}


@pytest.mark.parametrize(
    "writer", ["", "Dolphin", "dolphin:1", "frame:2", "bytes", "bytes:", "bytes:0", "bytes:x", "random"]
)
def test_unknown_writer_is_refused(match: bytes, writer: str) -> None:
    with pytest.raises(ValueError, match="writer"):
        schedule(match, writer)


def test_impossible_speeds_and_other_files_are_refused(match: bytes) -> None:
    for speed in (-1, math.nan):
        with pytest.raises(ValueError, match="speed"):
            schedule(match, speed=speed)
    with pytest.raises(WrongFormat):
        schedule(b"hello, this is a text")
