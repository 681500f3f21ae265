"""The ring of a game's log, the states of a game, and the messages that a snapshot needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.messages import START, LogMessage, Position
from slpstream.stream.game import Game, GameLog
from tests.stream.fakes import FakeFile, FakeLog


def message(offset: int, count: int = 0, size: int = 100) -> LogMessage:
    return LogMessage("frame", "a" * 32, "live", offset, count, b"x" * size, offset)


def test_since_dropped_messages_is_none() -> None:
    one = message(1).size_bytes()
    log = GameLog(32 * one)
    messages = [message(offset) for offset in range(1, 34)]
    log.append(messages[:32])
    assert log.since(START) == messages[:32]
    log.append(messages[32:])
    assert log.size_bytes == 30 * one  # there is room for a few more
    assert log.since(Position(2, 0)) is None
    assert log.since(Position(3, 0)) == messages[3:]


def test_forgotten_log_keeps_its_head() -> None:
    log = GameLog(1 << 20)
    log.append([message(1), message(2)])
    log.forget()
    assert (log.size_bytes, log.head) == (0, Position(2, 0))
    assert log.since(Position(2, 0)) == []
    assert log.since(Position(1, 0)) is None
    log.append([message(3)])
    assert log.since(Position(2, 0)) == [message(3)]


@given(
    ring_bytes=st.integers(1, 4000),
    batches=st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 900)), max_size=5), max_size=20),
    data=st.data(),
)
def test_ring_is_a_bounded_suffix_of_the_log(
    ring_bytes: int, batches: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    log, whole = GameLog(ring_bytes), list[LogMessage]()
    offset = count = 0
    for batch in batches:
        new = []
        for step, size in batch:
            offset, count = (offset + step, 0) if step else (offset, count + 1)
            new.append(message(offset, count, size))
        log.append(new)
        whole += new
        kept = log.since(log.dropped_through)
        assert kept is not None
        assert log.size_bytes == sum(m.size_bytes() for m in kept)
        assert log.size_bytes <= ring_bytes or len(kept) == 1
        assert kept == whole[len(whole) - len(kept) :]
    assert log.head == (whole[-1].position if whole else START)
    position = Position(data.draw(st.integers(-1, offset + 1)), data.draw(st.integers(0, 5)))
    expected = [m for m in whole if m.position > position]
    found = log.since(position)
    assert found is None or found == expected
    kept = log.since(log.dropped_through)
    assert (found is None) == (len(expected) > len(kept or []))


def new_game(*, archived: bool = False) -> Game:
    return Game("a" * 32, FakeFile(FakeLog()), ring_bytes=1 << 20, order=(0, 5, "x") if archived else (1, 0, ""))


def test_snapshot_parts_follow_the_log() -> None:
    game, log = new_game(), FakeLog(batches=40)
    assert not game.in_progress
    assert game.newest_frame is None
    for index, batch in enumerate(log.batches):
        for mode, messages in batch.items():
            game.logs[mode].append(messages)
        seen = [m for before in log.batches[: index + 1] for m in before["live"]]
        final = [m for before in log.batches[: index + 1] for m in before["finalized"]]
        assert game.start is seen[0]
        assert game.newest_frame is next((m for m in reversed(seen) if m.type == "frame"), None)
        assert game.logs["finalized"].newest.get("frame") is next(
            (m for m in reversed(final) if m.type == "frame"), None
        )
        assert game.newest_stats is next((m for m in reversed(seen) if m.type == "stats"), None)
        assert game.in_progress is not any(m.type == "game_end" for m in seen)


@pytest.mark.parametrize("reason", ["ended", "left", "lost", "archived"])
def test_game_is_no_longer_in_progress(reason: str) -> None:
    game = new_game(archived=reason == "archived")
    game.logs["live"].append(FakeLog(batches=1, ended=reason == "ended").whole())
    if reason == "left":
        game.leave()
    elif reason == "lost":
        game.lose()
    assert not game.in_progress
    assert game.archived is (reason == "archived")


def test_resumed_game_is_live_once_its_file_was_read_to_the_end() -> None:
    game = new_game()
    game.catch_up()
    game.leave()
    game.resume()
    states = [(game.stopped, game.catching_up)]
    game.lose()
    game.go_live()
    states.append((game.stopped, game.catching_up))
    game.resume()
    states.append((game.stopped, game.catching_up))
    assert states == [(None, True), ("lost", False), (None, False)]


def test_game_that_has_ended_is_not_left() -> None:
    game = new_game()
    game.logs["live"].append(FakeLog(batches=1).whole())
    game.leave()
    assert game.stopped is None


def test_forgotten_game_keeps_its_head() -> None:
    game = new_game()
    for mode, messages in FakeLog(batches=3).batches[1].items():
        game.logs[mode].append(messages)
    head = game.logs["live"].head
    game.forget()
    assert [log.size_bytes for log in game.logs.values()] == [0, 0]
    assert game.newest_frame is None
    assert game.logs["live"].head == head
