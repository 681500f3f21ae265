"""A log read back from its file equals the pipeline's log, from any position, and is decoded once for all readers."""

from __future__ import annotations

import gc
import random
import struct
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from weakref import WeakSet

import pytest
import trio

from slpstream.formats.slippi.commands import FRAME_BOOKEND
from slpstream.formats.slippi.framing import event_payloads_of
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game import log_reader as log_reader_module
from slpstream.game.log_reader import GrowingLogReader, Slice, archived_game
from slpstream.game.log_writer import MODES, Batch
from slpstream.game.pipeline import Pipeline
from slpstream.model.errors import CursorGone
from slpstream.model.messages import START, FramesMode, LogMessage, Position
from tests.formats.slippi.built import Built
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.trio

SLICE_BYTES = 8192
FRAMES = 600


class RecordedMatch:
    """A replay file and both of its logs."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        path.write_bytes(data)
        pipeline = Pipeline(SlippiReader(), MODES)
        self.logs = pipeline.feed(data).logs
        assert pipeline.game_id is not None
        self.game_id = pipeline.game_id

    def new_reader(self, limit_bytes: int | Callable[[], int] = sys.maxsize) -> GrowingLogReader:
        """A reader of the file, up to `limit_bytes`."""
        limit = limit_bytes if callable(limit_bytes) else lambda: limit_bytes
        return GrowingLogReader(lambda: self.path, limit, self.game_id, trio.CapacityLimiter(4))

    def lines(self, mode: FramesMode) -> list[bytes]:
        return [message.json() for message in self.logs[mode]]


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> RecordedMatch:
    data = synthetic_match(frames=FRAMES, rollbacks=True, items=True)
    return RecordedMatch(tmp_path_factory.mktemp("replay") / "Game.slp", data)


@pytest.fixture
def decoded_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of bytes in each call of `Pipeline.feed`. Also makes the reader's slices small."""
    monkeypatch.setattr(log_reader_module, "SLICE_BYTES", SLICE_BYTES)
    calls: list[int] = []
    feed = Pipeline.feed

    def counted(self: Pipeline, data: bytes) -> Batch:
        calls.append(len(data))
        return feed(self, data)

    monkeypatch.setattr(Pipeline, "feed", counted)
    return calls


async def read_rest(reader: GrowingLogReader, mode: FramesMode, position: Position) -> list[LogMessage]:
    """Read all messages after a position, like a subscriber."""
    found: list[LogMessage] = []
    while messages := await reader.messages(mode, position):
        found += messages
        position = messages[-1].position
    return found


@pytest.mark.parametrize("mode", MODES)
async def test_reading_from_the_start_returns_the_whole_log(
    mode: FramesMode, match: RecordedMatch, decoded_bytes: list[int]
) -> None:
    found = await read_rest(match.new_reader(), mode, START)
    assert [message.json() for message in found] == match.lines(mode)
    assert sum(decoded_bytes) == len(match.data)  # each byte is decoded once


@pytest.mark.parametrize("mode", MODES)
async def test_every_position_returns_the_messages_after_it(
    mode: FramesMode, match: RecordedMatch, decoded_bytes: list[int]
) -> None:
    reader, log = match.new_reader(), match.logs[mode]
    for index, message in enumerate(log):
        found = await reader.messages(mode, message.position)
        assert found == log[index + 1 : index + 1 + len(found)]
        assert bool(found) == (index + 1 < len(log))


async def test_position_without_a_message_returns_the_next_ones(match: RecordedMatch, decoded_bytes: list[int]) -> None:
    reader, log = match.new_reader(), match.logs["live"]
    between = Position(log[50].offset + 1, 0)
    assert (await reader.messages("live", between))[0].position > between
    assert await reader.messages("live", Position(len(match.data) * 2, 0)) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("warm", [False, True])
async def test_find_frame_returns_the_position_before_it(
    mode: FramesMode, warm: bool, match: RecordedMatch, decoded_bytes: list[int]
) -> None:
    reader = match.new_reader()
    if warm:
        await read_rest(reader, mode, START)
    log = match.logs[mode]
    for number in (-999, -123, -122, 0, 1, 200, FRAMES - 124):
        position = await reader.find_frame(mode, number)
        first = next(message for message in await reader.messages(mode, position))
        assert first == next(m for m in log if m.frame is not None and m.frame >= number)
    with pytest.raises(CursorGone, match=r"not in the game$"):
        await reader.find_frame(mode, FRAMES)
    growing = match.new_reader(limit_bytes=len(match.data) // 2)
    with pytest.raises(CursorGone, match=r"not in the game yet$"):
        await growing.find_frame(mode, FRAMES)


@pytest.mark.parametrize("mode", MODES)
async def test_cursor_of_a_frame_that_ended_where_the_next_began(mode: FramesMode, tmp_path: Path) -> None:
    """Old cursors of replays before 3.0 have the offset of the next frame's first event. They miss no later frame."""
    match = RecordedMatch(tmp_path / "Game.slp", synthetic_match(frames=40, version=(0, 1, 0)))
    reader, log = match.new_reader(), match.logs[mode]
    found = event_payloads_of(match.data)
    assert found is not None
    payloads, _ = found
    frames = [index for index, message in enumerate(log) if message.frame is not None]
    for index, following in pairwise(frames):
        offset = log[index].offset
        once = Position(offset + payloads.widths[match.data[offset]], following - index - 1)
        assert await read_rest(reader, mode, once) == log[following:]


async def test_jump_far_ahead_skips_the_beginning(match: RecordedMatch, decoded_bytes: list[int]) -> None:
    reader = match.new_reader()
    await read_rest(reader, "live", START)
    decoded_bytes.clear()
    await reader.find_frame("live", 400)
    assert sum(decoded_bytes) < len(match.data) / 2


async def test_simultaneous_readers_share_the_decoding(match: RecordedMatch, decoded_bytes: list[int]) -> None:
    reader = match.new_reader()
    positions = [START, match.logs["live"][700].position, match.logs["finalized"][300].position]
    results: list[tuple[FramesMode, Position, list[LogMessage]]] = []

    async def resume(number: int) -> None:
        mode: FramesMode = "finalized" if number % 3 == 2 else "live"
        found = await read_rest(reader, mode, positions[number % 3])
        results.append((mode, positions[number % 3], found))

    async with trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(resume, number)
    for mode, position, found in results:
        assert found == [m for m in match.logs[mode] if m.position > position]
    assert len(results) == 100
    assert sum(decoded_bytes) < 3 * len(match.data)  # at most once for each of the three positions


async def test_end_of_a_finished_file_is_decoded_once(match: RecordedMatch, decoded_bytes: list[int]) -> None:
    reader = match.new_reader()
    last = [message.position for message in match.logs["live"][-3:]]
    await reader.messages("live", last[0])
    decoded_bytes.clear()
    for _ in range(20):
        assert len(await reader.messages("live", last[0])) == 2
        assert await reader.messages("live", last[2]) == []
    assert decoded_bytes == []


async def test_growing_file_is_read_up_to_the_limit(
    match: RecordedMatch, decoded_bytes: list[int], tmp_path: Path
) -> None:
    """The limit is the number of bytes that the station has read, even if the file already has more."""
    limit = 0
    reader = match.new_reader(lambda: limit)
    position, found = START, list[LogMessage]()
    chance = random.Random(3)
    pipeline = Pipeline(SlippiReader(), MODES)
    published: list[LogMessage] = []
    while limit < len(match.data):
        step = chance.choice((1, 700, 5000, 30_000))
        published += pipeline.feed(match.data[limit : limit + step]).messages("live")
        limit = min(len(match.data), limit + step)
        new = await read_rest(reader, "live", position)
        found += new
        position = found[-1].position if found else START
        assert found == published
    assert [message.json() for message in found] == match.lines("live")


async def test_cache_size_is_limited(match: RecordedMatch, decoded_bytes: list[int]) -> None:
    reader = match.new_reader()
    await read_rest(reader, "live", START)
    assert len(match.data) / SLICE_BYTES > 20
    for kind in (Slice, Pipeline):
        gc.collect()
        kept = sum(type(found) is kind for found in gc.get_objects())
        assert 0 < kept < len(match.data) / SLICE_BYTES / 2


@pytest.mark.parametrize("change", ["vanished", "replaced", "directory"])
async def test_missing_or_replaced_file_raises_cursor_gone(change: str, match: RecordedMatch, tmp_path: Path) -> None:
    recorded = RecordedMatch(tmp_path / "Game.slp", match.data)
    reader = recorded.new_reader()
    recorded.path.unlink()
    if change == "replaced":
        recorded.path.write_bytes(synthetic_match(frames=50, seed=8))
    elif change == "directory":
        recorded.path.mkdir()
    with pytest.raises(CursorGone):
        await reader.messages("live", START)
    with pytest.raises(CursorGone):
        await reader.find_frame("live", 0)


async def test_renamed_file_is_still_read(match: RecordedMatch, tmp_path: Path) -> None:
    recorded = RecordedMatch(tmp_path / "Game.slp", match.data)
    reader = recorded.new_reader()
    recorded.path = recorded.path.rename(tmp_path / "Game_renamed.slp")
    assert len(await read_rest(reader, "live", START)) == len(match.logs["live"])


async def test_archived_game_reads_its_log(match: RecordedMatch) -> None:
    game = archived_game(lambda: match.path, 17, match.game_id, trio.CapacityLimiter(1))
    assert (game.archived, game.in_progress, game.order) == (True, False, (0, 17, "Game.slp"))
    found = await game.log_reader.messages("live", START)
    assert found == match.logs["live"][: len(found)] != []
    assert (await game.log_reader.find_frame("live", -123)) < match.logs["live"][-1].position


async def test_cancelled_reads_leave_the_reader_usable(match: RecordedMatch, decoded_bytes: list[int]) -> None:
    reader = match.new_reader()
    for turns in range(1, 30):
        with trio.move_on_after(0):
            await reader.messages("live", START)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(partial(read_rest, reader, "live", START))
                for _ in range(turns):
                    await trio.lowlevel.checkpoint()
                scope.cancel()
    assert [m.json() for m in await read_rest(reader, "live", START)] == match.lines("live")


async def test_forget_frees_the_cache(match: RecordedMatch, decoded_bytes: list[int]) -> None:
    reader = match.new_reader()
    for _ in range(2):
        assert [message.json() for message in await read_rest(reader, "live", START)] == match.lines("live")
        assert decoded_bytes, "the file is decoded again"
        reader.forget()
        decoded_bytes.clear()


async def test_forget_during_a_read_keeps_the_cache(match: RecordedMatch, decoded_bytes: list[int]) -> None:
    reader = match.new_reader()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(reader.messages, "live", START)
        await trio.lowlevel.checkpoint()
        reader.forget()
    decoded_bytes.clear()
    found = await reader.messages("live", START)
    assert [message.json() for message in found] == match.lines("live")[: len(found)]
    assert not decoded_bytes


def follow(reader: GrowingLogReader, data: bytes, seed: int = 4) -> Pipeline:
    """Follow the growing file like a station, and offer the reader checkpoints of the pipeline."""
    chance, pipeline, offset = random.Random(seed), Pipeline(SlippiReader(), MODES), 0
    while offset < len(data):
        step = chance.choice((400, 3000, 9000))
        pipeline.feed(data[offset : offset + step])
        reader.keep(pipeline)
        offset += step
    return pipeline


@pytest.mark.parametrize("mode", MODES)
async def test_jump_into_a_followed_game_decodes_little(
    mode: FramesMode, match: RecordedMatch, decoded_bytes: list[int]
) -> None:
    """Even the first jump is short, before any part of the file has been read back."""
    log = match.logs[mode]
    for number in (-200, -123, 0, 333, FRAMES - 130):
        reader = match.new_reader()
        follow(reader, match.data)
        decoded_bytes.clear()
        position = await reader.find_frame(mode, number)
        first = next(index for index, m in enumerate(log) if m.frame is not None and m.frame >= number)
        found = await reader.messages(mode, position)
        assert found == log[first : first + len(found)] != []
        assert sum(decoded_bytes) <= 7 * SLICE_BYTES


@pytest.mark.parametrize("mode", MODES)
async def test_log_is_the_same_with_and_without_checkpoints(
    mode: FramesMode, match: RecordedMatch, decoded_bytes: list[int]
) -> None:
    reader, chance, log = match.new_reader(), random.Random(6), match.logs[mode]
    follow(reader, match.data)
    for _ in range(2):
        for _ in range(40):
            index = chance.randrange(len(log))
            found = await reader.messages(mode, log[index].position)
            assert found == log[index + 1 : index + 1 + len(found)]
        assert [m.json() for m in await read_rest(reader, mode, START)] == match.lines(mode)
        reader.forget()


async def test_header_written_later_applies_after_a_checkpoint(tmp_path: Path, decoded_bytes: list[int]) -> None:
    """The game has no Game End. Only the raw length in the header shows that it has ended."""
    data = synthetic_match(seed=2, frames=400, ended=False)
    path = tmp_path / "Game.slp"
    closed = data[:11] + (len(data) - 15).to_bytes(4, "big") + data[15:]
    recorded = RecordedMatch(path, closed)
    reader = recorded.new_reader()
    pipeline = follow(reader, data)
    assert not pipeline.ended
    last = recorded.logs["live"][-40:]
    assert last[-1].type == "game_end"
    assert await read_rest(reader, "live", last[0].position) == last[1:]


def kept_while_followed(data: bytes) -> tuple[GrowingLogReader, int]:
    """A reader that was offered the pipeline of a growing file after each slice, and the memory of its checkpoints."""
    reader = GrowingLogReader(lambda: Path("Game.slp"), lambda: sys.maxsize, "", trio.CapacityLimiter(1))
    pipeline = Pipeline(SlippiReader(), MODES)
    used_bytes = 0
    for at in range(0, len(data), 1 << 16):
        pipeline.feed(data[at : at + (1 << 16)])
        tracemalloc.start()
        reader.keep(pipeline)
        used_bytes += tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    assert pipeline.failure is None
    return reader, used_bytes


@pytest.mark.parametrize("step", [-1, -100])
async def test_checkpoints_of_frames_in_any_order_take_little_memory(step: int) -> None:
    numbers = range(0, 50_000 * step, step)
    bookends = b"".join(struct.pack(">Bii", FRAME_BOOKEND.command, number, number) for number in numbers)
    _, used_bytes = kept_while_followed(Built().raw(bookends).so_far())
    assert used_bytes < 4 * len(bookends)


async def test_number_of_checkpoints_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: WeakSet[Pipeline] = WeakSet()
    copy = Pipeline.copy

    def counted_copy(self: Pipeline) -> Pipeline:
        twin = copy(self)
        copies.add(twin)
        return twin

    monkeypatch.setattr(Pipeline, "copy", counted_copy)
    unknown = 0x70
    long_event = bytes([unknown]) + bytes(0xFFFF)
    reader, _ = kept_while_followed(Built(sizes={unknown: 0xFFFF}).raw(long_event * 400).so_far())
    assert 30 <= len(copies) <= 65
    reader.forget()
    gc.collect()
    assert not copies
