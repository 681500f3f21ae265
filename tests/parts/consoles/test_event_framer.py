"""Splitting bytes into games: whole events only, however the bytes are split, and recovery after lost bytes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.formats.slippi.framing import EventPayloads, event_payloads_at
from slpstream.parts.consoles import event_framer
from slpstream.parts.consoles.event_framer import (
    FramerOutput,
    GameBegan,
    GameBroken,
    GameEvents,
    GameFramer,
    SkippedBytes,
)
from tests.formats.slippi.built import Built, varied_replay
from tests.parts.consoles.wii import pieces, raw_of

ONE = raw_of(varied_replay())
TWO = raw_of(Built((2, 0, 1)).frames(-123, -90).end().closed())
OLD = raw_of(Built((0, 1, 0)).frames(-123, -90).end().closed())


def games(outputs: Iterable[FramerOutput]) -> list[bytes]:
    """The bytes of each game."""
    found: list[bytes] = []
    for output in outputs:
        if isinstance(output, GameBegan):
            found.append(output.head)
        elif isinstance(output, GameEvents):
            found[-1] += output.data
    return found


def feed(parts: Iterable[bytes]) -> tuple[GameFramer, list[FramerOutput]]:
    framer = GameFramer()
    return framer, [output for part in parts for output in framer.feed(part)]


@pytest.mark.parametrize("sizes", [(1,), (1, 7, 100, 5000), (700, 9000)])
def test_several_games(sizes: tuple[int, ...]) -> None:
    framer, outputs = feed(pieces(ONE + TWO + OLD + ONE, 1, sizes))
    assert games(outputs) == [ONE, TWO, OLD, ONE]
    assert [type(output) for output in outputs if isinstance(output, (GameBegan, GameBroken, SkippedBytes))] == (
        [GameBegan] * 4
    )
    ends = [output.ended for output in outputs if isinstance(output, GameEvents)]
    assert sum(ends) == 4
    assert ends[-1]
    assert framer.frame is not None
    assert not framer.in_game
    assert not framer.buffered_bytes


def test_helo_between_events() -> None:
    """Old consoles send it between raw events, in pieces of any size."""
    _, outputs = feed([ONE])
    assert isinstance(outputs[1], GameEvents)
    head, events = outputs[0], outputs[1].data
    assert isinstance(head, GameBegan)
    first = 516 + 1  # a Message Splitter
    stream = b"HELO\0" + head.head + events[:first] + b"HELO\0HELO\0" + events[first:] + b"HELO\0"
    for size in (1, 3, 10_000):
        _, outputs = feed(stream[start : start + size] for start in range(0, len(stream), size))
        assert games(outputs) == [ONE]
        assert not any(isinstance(output, (GameBroken, SkippedBytes)) for output in outputs)


def test_game_without_its_beginning_is_skipped() -> None:
    framer, outputs = feed([ONE[2000:], TWO])
    assert games(outputs) == [TWO]
    assert sum(output.size_bytes for output in outputs if isinstance(output, SkippedBytes)) == len(ONE) - 2000
    assert not framer.buffered_bytes


def test_undeclared_command_breaks_the_game() -> None:
    framer, outputs = feed([TWO[:1000], TWO[1000:2000] + b"\xee" * 700, ONE])
    broken, whole = games(outputs)
    assert whole == ONE
    assert broken[:2000] == TWO[:2000]
    assert len(broken) < 2100, "at most the interrupted event is too much"
    assert [output.reason for output in outputs if isinstance(output, GameBroken)]
    assert not framer.buffered_bytes


@given(st.integers(0, len(ONE)), st.integers(0, 3000), st.integers(0, 1000))
def test_gap_loses_only_nearby_events(begin: int, lost: int, seed: int) -> None:
    """Only the lost bytes and a few events around them are missing. No event is repeated or out of order."""
    framer = GameFramer()
    outputs = [output for part in pieces(ONE[:begin], seed) for output in framer.feed(part)]
    in_game = framer.in_game
    if in_game:
        framer.gap()
    else:
        framer.restart()
    after = ONE[begin + lost :]
    outputs += [output for part in pieces(after + TWO, seed) for output in framer.feed(part)]
    found = games(outputs)
    assert found[-1] == TWO, "the next game is whole"
    if not in_game:
        return
    assert found[0][: begin - 600] == ONE[: max(0, begin - 600)]
    rest = found[0][begin:]
    assert ONE.endswith(rest[600:]) or len(rest) < 1200


@given(st.binary(max_size=2000), st.integers(0, 50))
def test_noise_before_a_game(noise: bytes, seed: int) -> None:
    """Noise raises no error and keeps the buffer bounded.

    The game after it is found, unless the noise has begun one.
    """
    framer, outputs = feed([*pieces(noise, seed, (1, 50, 900)), TWO, TWO])
    assert games(outputs)[-1] == TWO
    assert framer.buffered_bytes <= len(noise) + 2 * len(TWO)


@pytest.mark.parametrize(
    "noise",
    [bytes(250_000), b"\x35\x00" * 125_000, b"\x35\x0d\x36\x01\x00" * 50_000],
    ids=["zeros", "payloads", "heads"],
)
def test_noise_is_searched_only_once(noise: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single bytes after much noise must not keep the event loop busy."""
    calls = 0

    def count(buffer: bytes, start: int, offset: int) -> tuple[EventPayloads, int] | None:
        nonlocal calls
        calls += 1
        return event_payloads_at(buffer, start, offset)

    monkeypatch.setattr(event_framer, "event_payloads_at", count)
    framer = GameFramer()
    framer.feed(TWO[:2000])
    framer.gap()
    framer.feed(noise)
    calls = 0
    for byte in bytes(500):
        framer.feed(bytes([byte]))
    assert calls <= 1000
    framer.restart()
    assert games(framer.feed(ONE)) == [ONE]
