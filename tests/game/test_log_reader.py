"""A log read back from its file: the same messages as the pipeline's, from any place, and read once for all who ask."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import trio

from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game import log_reader as replay_module
from slpstream.game.log_reader import MODES, GrowingLogReader, archived_game
from slpstream.game.pipeline import Batch, Pipeline
from slpstream.model.errors import CursorGone
from slpstream.model.messages import START, FramesMode, LogMessage, Position
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.trio

SLICE_BYTES = 8192
FRAMES = 600


class Recorded:
    """A replay as a file, and both its logs."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        path.write_bytes(data)
        pipeline = Pipeline(SlippiReader(), MODES)
        self.logs: dict[FramesMode, list[LogMessage]] = pipeline.feed(data).logs
        assert pipeline.game_id is not None
        self.game_id = pipeline.game_id

    def replay(self, limit_bytes: int | Callable[[], int] | None = None) -> GrowingLogReader:
        """A new reader of the file."""
        limit = limit_bytes if callable(limit_bytes) else lambda: limit_bytes
        return GrowingLogReader(lambda: self.path, limit, self.game_id, trio.CapacityLimiter(4))

    def lines(self, mode: FramesMode) -> list[bytes]:
        return [message.json() for message in self.logs[mode]]


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    data = synthetic_match(frames=FRAMES, rollbacks=True, items=True)
    return Recorded(tmp_path_factory.mktemp("replay") / "Game.slp", data)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each call of a pipeline was given. With small slices."""
    monkeypatch.setattr(replay_module, "SLICE_BYTES", SLICE_BYTES)
    calls: list[int] = []
    feed = Pipeline.feed

    def counted(self: Pipeline, data: bytes) -> Batch:
        calls.append(len(data))
        return feed(self, data)

    monkeypatch.setattr(Pipeline, "feed", counted)
    return calls


async def rest(replay: GrowingLogReader, mode: FramesMode, position: Position) -> list[LogMessage]:
    """Everything behind a position, as a subscriber reads it."""
    found: list[LogMessage] = []
    while messages := await replay.messages(mode, position):
        found += messages
        position = messages[-1].position
    return found


@pytest.mark.parametrize("mode", MODES)
async def test_from_the_start_it_is_the_log(mode: FramesMode, match: Recorded, computed: list[int]) -> None:
    found = await rest(match.replay(), mode, START)
    assert [message.json() for message in found] == match.lines(mode)
    assert sum(computed) == len(match.data)  # each byte once


@pytest.mark.parametrize("mode", MODES)
async def test_from_every_position_comes_what_follows(mode: FramesMode, match: Recorded, computed: list[int]) -> None:
    replay, log = match.replay(), match.logs[mode]
    for at, message in enumerate(log):
        found = await replay.messages(mode, message.position)
        assert found == log[at + 1 : at + 1 + len(found)]
        assert bool(found) == (at + 1 < len(log))


async def test_from_random_positions_in_any_order(match: Recorded, computed: list[int]) -> None:
    chance = random.Random(5)
    replay = match.replay()
    for _ in range(60):
        mode: FramesMode = chance.choice(MODES)
        at = chance.randrange(len(match.logs[mode]))
        found = await replay.messages(mode, match.logs[mode][at].position)
        assert found == match.logs[mode][at + 1 : at + 1 + len(found)]


async def test_places_that_no_message_has(match: Recorded, computed: list[int]) -> None:
    replay, log = match.replay(), match.logs["live"]
    between = Position(log[50].offset + 1, 0)
    assert (await replay.messages("live", between))[0].position > between
    assert await replay.messages("live", Position(len(match.data) * 2, 0)) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("warm", [False, True])
async def test_find_frame(mode: FramesMode, warm: bool, match: Recorded, computed: list[int]) -> None:
    replay = match.replay()
    if warm:
        await rest(replay, mode, START)
    log = match.logs[mode]
    for number in (-999, -123, -122, 0, 1, 200, FRAMES - 124):
        position = await replay.find_frame(mode, number)
        first = next(message for message in await replay.messages(mode, position))
        assert first == next(m for m in log if m.frame is not None and m.frame >= number)
    with pytest.raises(CursorGone, match="not in the game yet"):
        await replay.find_frame(mode, FRAMES)


async def test_a_jump_far_ahead_does_not_start_from_the_beginning(match: Recorded, computed: list[int]) -> None:
    replay = match.replay()
    await rest(replay, "live", START)
    computed.clear()
    await replay.find_frame("live", 400)
    assert sum(computed) < len(match.data) / 2


async def test_a_hundred_who_come_back_at_once_share_the_reading(match: Recorded, computed: list[int]) -> None:
    replay = match.replay()
    positions = [START, match.logs["live"][700].position, match.logs["finalized"][300].position]
    results: list[tuple[FramesMode, Position, list[LogMessage]]] = []

    async def come_back(number: int) -> None:
        mode: FramesMode = "finalized" if number % 3 == 2 else "live"
        found = await rest(replay, mode, positions[number % 3])
        results.append((mode, positions[number % 3], found))

    async with trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(come_back, number)
    for mode, position, found in results:
        assert found == [m for m in match.logs[mode] if m.position > position]
    assert len(results) == 100
    assert sum(computed) < 3 * len(match.data)  # at most once for each of the three places


async def test_the_end_of_a_finished_file_is_not_computed_for_each_who_asks(
    match: Recorded, computed: list[int]
) -> None:
    replay = match.replay()
    last = [message.position for message in match.logs["live"][-3:]]
    await replay.messages("live", last[0])
    computed.clear()
    for _ in range(20):
        assert len(await replay.messages("live", last[0])) == 2
        assert await replay.messages("live", last[2]) == []
    assert computed == []


async def test_a_file_that_grows(match: Recorded, computed: list[int], tmp_path: Path) -> None:
    """What was not there the last time is there now; the limit is what the tail has read, whatever the file has."""
    limit = 0
    replay = match.replay(lambda: limit)
    position, found = START, list[LogMessage]()
    chance = random.Random(3)
    pipeline = Pipeline(SlippiReader(), MODES)
    published: list[LogMessage] = []
    while limit < len(match.data):
        step = chance.choice((1, 700, 5000, 30_000))
        published += pipeline.feed(match.data[limit : limit + step]).messages("live")
        limit = min(len(match.data), limit + step)
        new = await rest(replay, "live", position)
        found += new
        position = found[-1].position if found else START
        assert found == published
    assert [message.json() for message in found] == match.lines("live")


async def test_memory_is_bounded(match: Recorded, computed: list[int]) -> None:
    replay = match.replay()
    await rest(replay, "live", START)
    assert len(match.data) / SLICE_BYTES > 20
    kept = replay._cached
    assert kept is not None
    assert len(kept.slices) <= replay_module._CACHED_SLICES
    assert len(kept.checkpoints) <= len(match.data) / SLICE_BYTES / replay_module._SLICES_PER_CHECKPOINT


@pytest.mark.parametrize("what", ["vanished", "replaced", "directory"])
async def test_a_file_that_is_not_there_any_more(what: str, match: Recorded, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "Game.slp", match.data)
    replay = recorded.replay()
    recorded.path.unlink()
    if what == "replaced":
        recorded.path.write_bytes(synthetic_match(frames=50, seed=8))
    elif what == "directory":
        recorded.path.mkdir()
    with pytest.raises(CursorGone):
        await replay.messages("live", START)
    with pytest.raises(CursorGone):
        await replay.find_frame("live", 0)


async def test_a_file_that_was_renamed(match: Recorded, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "Game.slp", match.data)
    replay = recorded.replay()
    recorded.path = recorded.path.rename(tmp_path / "Game_renamed.slp")
    assert len(await rest(replay, "live", START)) == len(match.logs["live"])


async def test_an_archived_game(match: Recorded) -> None:
    game = archived_game(lambda: match.path, 17, match.game_id, trio.CapacityLimiter(1))
    assert (game.archived, game.in_progress, game.order) == (True, False, (0, 17, "Game.slp"))
    found = await game.log_reader.messages("live", START)
    assert found == match.logs["live"][: len(found)] != []
    assert (await game.log_reader.find_frame("live", -123)) < match.logs["live"][-1].position


async def test_cancelled_while_it_reads(match: Recorded, computed: list[int]) -> None:
    replay = match.replay()
    for turns in range(1, 30):
        with trio.move_on_after(0):
            await replay.messages("live", START)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(partial(rest, replay, "live", START))
                for _ in range(turns):
                    await trio.lowlevel.checkpoint()
                scope.cancel()
    assert [m.json() for m in await rest(replay, "live", START)] == match.lines("live")


async def test_what_it_keeps_to_be_quick_can_be_given_back(match: Recorded, computed: list[int]) -> None:
    replay = match.replay()

    async def all_lines() -> list[bytes]:
        lines: list[bytes] = []
        place = START
        while messages := await replay.messages("live", place):
            lines += [message.json() for message in messages]
            place = messages[-1].position
        return lines

    assert await all_lines() == match.lines("live")
    replay.forget()
    assert replay._cached is None
    del computed[:]
    assert await all_lines() == match.lines("live")
    assert computed, "it was computed again"


async def test_nothing_is_given_back_while_somebody_reads(match: Recorded) -> None:
    replay = match.replay()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(replay.messages, "live", START)
        await trio.lowlevel.checkpoint()
        replay.forget()
    assert replay._cached is not None
    found = await replay.messages("live", START)
    assert [message.json() for message in found] == match.lines("live")[: len(found)]


# -- for those who jump into a game that is followed ---------------------------------------------------------------


def followed(replay: GrowingLogReader, data: bytes, seed: int = 4) -> Pipeline:
    """Somebody follows the file as it grows, and leaves copies of the pipeline."""
    chance, pipeline, at = random.Random(seed), Pipeline(SlippiReader(), MODES), 0
    while at < len(data):
        step = chance.choice((400, 3000, 9000))
        pipeline.feed(data[at : at + step])
        replay.keep(pipeline)
        at += step
    return pipeline


@pytest.mark.parametrize("mode", MODES)
async def test_a_jump_into_a_game_that_is_followed_is_short(
    mode: FramesMode, match: Recorded, computed: list[int]
) -> None:
    """From the first one on: nobody has read the file before."""
    log = match.logs[mode]
    for number in (-200, -123, 0, 333, FRAMES - 130):
        replay = match.replay()
        followed(replay, match.data)
        computed.clear()
        position = await replay.find_frame(mode, number)
        first = next(at for at, m in enumerate(log) if m.frame is not None and m.frame >= number)
        found = await replay.messages(mode, position)
        assert found == log[first : first + len(found)] != []
        assert sum(computed) <= 7 * SLICE_BYTES


@pytest.mark.parametrize("mode", MODES)
async def test_with_copies_or_without_it_is_the_log(mode: FramesMode, match: Recorded, computed: list[int]) -> None:
    replay, chance = match.replay(), random.Random(6)
    followed(replay, match.data)
    assert len(replay._cache.checkpoints) > 8
    for _ in range(40):
        at = chance.randrange(len(match.logs[mode]))
        found = await replay.messages(mode, match.logs[mode][at].position)
        assert found == match.logs[mode][at + 1 : at + 1 + len(found)]
    assert [m.json() for m in await rest(replay, mode, START)] == match.lines(mode)
    replay.forget()
    assert len(replay._cache.checkpoints) == 0
    assert [m.json() for m in await rest(replay, mode, START)] == match.lines(mode)


async def test_a_header_that_was_written_later_counts_for_what_follows_a_copy(
    tmp_path: Path, computed: list[int]
) -> None:
    """A game without Game End: only the raw length says that it is over."""
    data = synthetic_match(seed=2, frames=400, ended=False)
    path = tmp_path / "Game.slp"
    closed = data[:11] + (len(data) - 15).to_bytes(4, "big") + data[15:]
    recorded = Recorded(path, closed)
    replay = recorded.replay()
    pipeline = followed(replay, data)
    assert not pipeline.ended
    last = recorded.logs["live"][-40:]
    assert last[-1].type == "game_end"
    assert await rest(replay, "live", last[0].position) == last[1:]
