"""Events and stats in the logs while a game writes its file.

Each follows the final frame that caused it and precedes the next frame. `formats/slippi/test_golden` shows that they do
not depend on how the bytes are split.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest

from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.write_schedule import schedule
from slpstream.game.log_writer import Batch
from slpstream.game.pipeline import Pipeline
from slpstream.model.messages import FramesMode
from tests.formats.slippi.stats.games import Json
from tests.replays import existing, replay

MODES: tuple[FramesMode, ...] = ("live", "finalized")
FIRST_FRAME = -123
GAMES = ("quit_3.18", "rollbacks_3.18", "in_progress_3.18", "doubles_3.18", "singles_0.1", "zelda_sheik_3.18")


def play(pipeline: Pipeline, data: bytes, writer: str) -> Iterator[Batch]:
    """The batches of each write of a game, and that of the end."""
    for write in schedule(data, writer, speed=0):
        if write.offset == pipeline.bytes_read:
            yield pipeline.feed(write.data)
        else:
            yield pipeline.rewrite(data[:15])
    yield pipeline.finish()


@cache
def whole(name: str) -> tuple[tuple[bytes, ...], ...]:
    """The lines of both logs, read in one piece."""
    pipeline = Pipeline(SlippiReader(), MODES)
    logs = [pipeline.feed(replay(name)), pipeline.finish()]
    return tuple(lines(batch.messages(mode) for batch in logs) for mode in MODES)


def lines(batches: Any) -> tuple[bytes, ...]:
    return tuple(message.json() for batch in batches for message in batch)


def derived(log: tuple[bytes, ...]) -> list[Json]:
    """The `event` and `stats` messages without their cursors."""
    messages = [msgspec.json.decode(line) for line in log]
    selected = [message for message in messages if message["type"] in ("event", "stats")]
    return [{key: value for key, value in message.items() if key != "cursor"} for message in selected]


def check_live_order(log: tuple[bytes, ...]) -> int:
    """Assert that in the live log events follow the `finalized` of their frame, before any other frame.

    Returns the number of events.
    """
    count = 0
    before, through = FIRST_FRAME - 1, FIRST_FRAME - 1
    seen = FIRST_FRAME
    fresh = False
    for message in map(msgspec.json.decode, log):
        kind = message["type"]
        if kind == "frame":
            fresh = False
        elif kind == "finalized":
            before, through = through, message["through"]
            seen, fresh = before + 1, True
        elif kind in ("event", "stats") and not closing(message, through):
            count += 1
            assert fresh, "a frame in between"
            assert before < message["frame"] <= through
            assert message["frame"] >= seen, "frames of events decrease"
            seen = message["frame"]
    return count


def closing(message: Json, last: int) -> bool:
    """Whether a message comes from the end of the game: a waiting L-cancel, or the last stats."""
    return bool(message["frame"] == last and (message["type"] == "stats" or message["kind"] == "lcancel"))


def check_finalized_order(log: tuple[bytes, ...]) -> int:
    """Assert that in the finalized log events directly follow their frame. Returns the number of events."""
    count = 0
    last = FIRST_FRAME - 1
    for message in map(msgspec.json.decode, log):
        if message["type"] == "frame":
            assert message["frame"]["frame"] > last
            last = message["frame"]["frame"]
        elif message["type"] in ("event", "stats"):
            count += 1
            assert message["frame"] == last
    return count


def check_stats_messages(log: tuple[bytes, ...]) -> None:
    """Assert that stats follow every final frame n with (n + 124) % 60 == 0, and once precede the end."""
    messages = [msgspec.json.decode(line) for line in log]
    numbers = [message["frame"]["frame"] for message in messages if message["type"] == "frame"]
    announced = [message["frame"] for message in messages if message["type"] == "stats"]
    assert announced == [*(number for number in numbers if (number + 124) % 60 == 0), numbers[-1]]
    end = next(at for at, message in enumerate(messages) if message["type"] == "game_end")
    assert messages[end - 1]["type"] == "stats"
    assert not any(message["type"] in ("event", "stats", "frame") for message in messages[end:])
    for at, message in enumerate(messages[: end - 1]):
        if message["type"] == "stats":  # the events of the frame come first
            assert (
                messages[at + 1]["type"] != "event"
                or messages[at + 1]["frame"] > message["frame"]
                or closing(messages[at + 1], numbers[-1])
            )


@pytest.mark.parametrize("name", [*GAMES, *existing("transform")])
def test_events_follow_their_frame(name: str) -> None:
    live, finalized = whole(name)
    assert check_live_order(live) > 10
    assert check_finalized_order(finalized) > 10
    check_stats_messages(finalized)
    assert derived(live) == derived(finalized)


@pytest.mark.parametrize("name", ["quit_3.18", "rollbacks_3.18"])
def test_events_come_with_the_write_that_makes_their_frame_final(name: str) -> None:
    """Written frame by frame, events come with the write that makes their frame final, not later."""
    through = FIRST_FRAME - 1
    for batch in play(Pipeline(SlippiReader(), MODES), replay(name), "frame"):
        messages = [msgspec.json.decode(message.json()) for message in batch.messages("live")]
        before = through
        through = max([through, *(m["through"] for m in messages if m["type"] == "finalized")])
        for message in messages:
            if message["type"] in ("event", "stats"):
                assert before < message["frame"] <= through or closing(message, through)


@pytest.mark.parametrize("name", ["rollbacks_items_3.18", "dream_land_3.18", "doubles_3.18", "zelda_sheik_3.18"])
def test_payload_keys_differ_from_envelope_keys(name: str) -> None:
    """A payload must not have a key of the envelope."""
    pipeline = Pipeline(SlippiReader())
    for message in pipeline.feed(replay(name)).messages("live"):
        if message.type == "event":
            keys = [key for key, _ in json.loads(message.json(), object_pairs_hook=lambda pairs: pairs)]
            assert len(keys) == len(set(keys)), message.json()
