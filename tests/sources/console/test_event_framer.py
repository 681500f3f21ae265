"""Events to games: whole events only, whatever the cuts, and the way back in after what is lost."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.sources.console import event_framer as cutter_module
from slpstream.sources.console.event_framer import Begun, Broken, Cut, Events, GameFramer, Skipped
from tests.formats.slippi.built import Built, varied_replay
from tests.shared_data import needs_shared, replays
from tests.sources.console.wii import pieces, raw_of

ONE = raw_of(varied_replay())
TWO = raw_of(Built((2, 0, 1)).frames(-123, -90).end().closed())
OLD = raw_of(Built((0, 1, 0)).frames(-123, -90).end().closed())


def games(cuts: Iterable[Cut]) -> list[bytes]:
    """The bytes of each game."""
    found: list[bytes] = []
    for cut in cuts:
        if isinstance(cut, Begun):
            found.append(cut.head)
        elif isinstance(cut, Events):
            found[-1] += cut.data
    return found


def fed(parts: Iterable[bytes]) -> tuple[GameFramer, list[Cut]]:
    cutter = GameFramer()
    return cutter, [cut for part in parts for cut in cutter.feed(part)]


@pytest.mark.parametrize("seed", range(4))
def test_games_in_a_row(seed: int) -> None:
    cutter, cuts = fed(pieces(ONE + TWO + OLD + ONE, seed))
    assert games(cuts) == [ONE, TWO, OLD, ONE]
    assert not any(isinstance(cut, (Broken, Skipped)) for cut in cuts)
    assert not cutter.in_game
    assert not cutter.waiting_bytes


@pytest.mark.parametrize("game", [ONE, TWO, OLD], ids=["newest", "2.0.1", "0.1.0"])
def test_byte_by_byte(game: bytes) -> None:
    cutter, cuts = fed(game[at : at + 1] for at in range(len(game)))
    assert games(cuts) == [game]
    assert [cut.ended for cut in cuts if isinstance(cut, Events)][-2:] == [False, True]
    assert cutter.frame is not None


@needs_shared
def test_real_games() -> None:
    for path in replays():
        data = path.read_bytes()
        size = int.from_bytes(data[11:15], "big")
        if data.startswith(b"{U") and size:
            _, cuts = fed([data[15 : 15 + size]])
            assert games(cuts) == [data[15 : 15 + size]], path.name


def test_helo_between_events() -> None:
    """The bare form of old consoles says it between events, cut anywhere."""
    _, begun = fed([ONE])
    assert isinstance(begun[1], Events)
    head, events = begun[0], begun[1].data
    assert isinstance(head, Begun)
    first = 516 + 1  # a Message Splitter
    stream = b"HELO\0" + head.head + events[:first] + b"HELO\0HELO\0" + events[first:] + b"HELO\0"
    for size in (1, 3, 10_000):
        _, cuts = fed(stream[at : at + size] for at in range(0, len(stream), size))
        assert games(cuts) == [ONE]
        assert not any(isinstance(cut, (Broken, Skipped)) for cut in cuts)


def test_in_the_middle_of_a_game() -> None:
    """Of a game without its beginning nothing is used; the next one is whole."""
    cutter, cuts = fed([ONE[2000:], TWO])
    assert games(cuts) == [TWO]
    assert sum(cut.size_bytes for cut in cuts if isinstance(cut, Skipped)) == len(ONE) - 2000
    assert not cutter.waiting_bytes


def test_lost_boundaries() -> None:
    cutter, cuts = fed([TWO[:1000], TWO[1000:2000] + b"\xee" * 700, ONE])
    broken, whole = games(cuts)
    assert whole == ONE
    assert broken[:2000] == TWO[:2000]
    assert len(broken) < 2100, "at most the event that was cut"
    assert [cut.what for cut in cuts if isinstance(cut, Broken)]
    assert not cutter.waiting_bytes


@given(st.integers(0, len(ONE)), st.integers(0, 3000), st.integers(0, 1000))
def test_gaps(begin: int, lost: int, seed: int) -> None:
    """What is cut out is missing, and a few events around it; never more, never twice, never out of order."""
    cutter = GameFramer()
    cuts = [cut for part in pieces(ONE[:begin], seed) for cut in cutter.feed(part)]
    in_game = cutter.in_game
    if in_game:
        cutter.gap()
    else:
        cutter.restart()
    behind = ONE[begin + lost :]
    cuts += [cut for part in pieces(behind + TWO, seed) for cut in cutter.feed(part)]
    found = games(cuts)
    assert found[-1] == TWO, "the next game is whole"
    if not in_game:
        return
    before = len(ONE[:begin])
    whole = sum(len(cut.data) for cut in cuts if isinstance(cut, Events)) + len(found[0]) + len(found[-1])
    assert found[0][: before - 600] == ONE[: max(0, before - 600)]
    rest = found[0][before:]
    assert ONE.endswith(rest[600:]) or len(rest) < 1200
    assert whole > 0


@given(st.binary(max_size=2000), st.integers(0, 50))
def test_noise(noise: bytes, seed: int) -> None:
    """Never raises, and holds no more than it may; a game that follows is found, unless noise has begun one."""
    cutter, cuts = fed([*pieces(noise, seed, (1, 50, 900)), TWO, TWO])
    assert games(cuts)[-1] == TWO
    assert cutter.waiting_bytes <= len(noise) + 2 * len(TWO)


def test_flipped_bits() -> None:
    chance = random.Random(5)
    for _ in range(150):
        data = bytearray(ONE)
        bit = chance.randrange(len(data) * 8)
        data[bit // 8] ^= 1 << bit % 8
        cutter, cuts = fed([bytes(data), TWO, TWO])
        assert len(games(cuts)) >= 1
        assert cutter.waiting_bytes < 1 << 19


@pytest.mark.parametrize(
    "noise",
    [bytes(250_000), b"\x35\x00" * 125_000, b"\x35\x0d\x36\x01\x00" * 50_000],
    ids=["zeros", "payloads", "heads"],
)
def test_what_was_looked_at_is_not_looked_at_again(noise: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte at a time behind much that makes no sense must not stop everybody else."""
    looked = 0
    look = cutter_module._head_of

    def counted(buffer: bytes) -> bytes | None:
        nonlocal looked
        looked += 1
        return look(buffer)

    monkeypatch.setattr(cutter_module, "_head_of", counted)
    cutter = GameFramer()
    cutter.feed(TWO[:2000])
    cutter.gap()
    cutter.feed(noise)
    looked = 0
    for byte in bytes(500):
        cutter.feed(bytes([byte]))
    assert looked <= 1000
    cutter.restart()
    assert games(cutter.feed(ONE)) == [ONE]
