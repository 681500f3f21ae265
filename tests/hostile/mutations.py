"""Mutated files of every format: cut, spliced, with flipped bits, wrong sizes and impossible metadata.

Every input is a pure function of the seed files and its number, so that a finding can be reproduced.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from slpstream.formats.slippi.container import HEADER_BYTES
from tests.bench.games import EndlessGame
from tests.formats.games import games as finished_games
from tests.formats.slippi.built import varied_replay
from tests.replays import SHARED
from tests.synthetic.match import synthetic_match

_MAX_SEED_BYTES: Final = 400_000
_METADATA: Final = b"U\x08metadata"
_BYTES: Final = (0x00, 0x7F, 0x80, 0xFF, 0x35, 0x36, 0x38, 0x39, 0x10)
_STARTS: Final = (
    b"9999-12-31T23:59:59-23:59",
    b"0001-01-01T00:00:00+23:59",
    b"2026-02-30T25:61:61Z",
    b"\xff\xfe\x00",
    b"-1",
    b"",
)


class Input(NamedTuple):
    """One file: its name, its bytes, and the lengths of the parts in which it is written."""

    name: str
    data: bytes
    parts: tuple[int, ...]


def seeds() -> dict[str, bytes]:
    """The files to mutate, by name: made-up replays, and the smaller real ones if available."""
    found = {"varied.slp": varied_replay(), **finished_games()}
    for version in ((1, 0, 0), (2, 0, 1), (3, 3, 0), (3, 18, 0)):
        found[f"{version[0]}.{version[1]}.slp"] = synthetic_match(seed=3, frames=300, version=version, items=True)
    game = EndlessGame()
    found["running.slp"] = game.head(1) + b"".join(game.frame(index) for index in range(120))
    for suffix in ("slp", "gci", "rpl", "dat"):
        for path in sorted(SHARED.rglob(f"*.{suffix}")):
            if path.stat().st_size <= _MAX_SEED_BYTES:
                found[path.name] = path.read_bytes()
    return found


def mutated(number: int, files: Mapping[str, bytes]) -> Input:
    """The input of this number: one to three mutations of a file, written whole or in parts."""
    rng = random.Random(f"input {number}")
    name = rng.choice(sorted(files))
    data = files[name]
    for _ in range(rng.randint(1, 3)):
        data = rng.choice(_MUTATIONS)(data, files, rng)
    count = rng.choice((1, 1, 1, 2, 5))
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(count - 1))
    parts = tuple(end - start for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True))
    stem, _, suffix = name.rpartition(".")
    return Input(f"{stem[:40]}_{number:06}.{suffix}", data, parts)


def _changes_bytes(data: bytes, files: Mapping[str, bytes], rng: random.Random) -> bytes:
    out = bytearray(data)
    flips = rng.random() < 2 / 3
    for _ in range(min(len(out), rng.choice((1, 3, 20)))):
        at = _place(out, rng)
        out[at] = out[at] ^ 1 << rng.randrange(8) if flips else rng.choice(_BYTES)
    return bytes(out)


def _cuts(data: bytes, files: Mapping[str, bytes], rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _removes(data: bytes, files: Mapping[str, bytes], rng: random.Random) -> bytes:
    start = _place(data, rng) if data else 0
    return data[:start] + data[start + rng.choice((1, 4, 64, 4096)) :]


def _repeats(data: bytes, files: Mapping[str, bytes], rng: random.Random) -> bytes:
    start = _place(data, rng) if data else 0
    piece = data[start : start + rng.choice((1, 5, 400, 5000))]
    return data[:start] + piece * rng.choice((2, 3, 20)) + data[start:]


def _splices(data: bytes, files: Mapping[str, bytes], rng: random.Random) -> bytes:
    other = files[rng.choice(sorted(files))]
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _adds_zeros(data: bytes, files: Mapping[str, bytes], rng: random.Random) -> bytes:
    at = rng.choice((len(data), rng.randrange(len(data) + 1)))
    return data[:at] + bytes(rng.choice((1, 16, 4096, 200_000))) + data[at:]


def _sets_raw_length(data: bytes, files: Mapping[str, bytes], rng: random.Random) -> bytes:
    length = rng.choice(
        (0, 1, len(data), max(0, len(data) - HEADER_BYTES), 0x7FFFFFFF, 0xFFFFFFFF, rng.getrandbits(32))
    )
    return data[:11] + length.to_bytes(4, "big") + data[HEADER_BYTES:]


def _replaces_metadata(data: bytes, files: Mapping[str, bytes], rng: random.Random) -> bytes:
    at = data.rfind(_METADATA)
    head = data if at < 0 else data[:at]
    start = rng.choice(_STARTS)
    values = (
        b"{U\x07startAtSU" + bytes([len(start)]) + start + b"}",
        b"{U\x07startAt[[i\x01]]}",
        b"{U\x07playersZ}",
        b"{U\x07players{U\x010{U\x05names{U\x07netplaySU\x04\x1b[2JU\x04codeZ}}}}",
        b"{U\x09lastFramel\x7f\xff\xff\xff}",
        b"[" * 3000,
        b"{" + b"U\x01a{" * 2000,
        b"SL\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"[$T#L\x7f\xff\xff\xff\xff\xff\xff\xff",
    )
    return head + _METADATA + rng.choice(values) + b"}"


_MUTATIONS: Final[tuple[Callable[[bytes, Mapping[str, bytes], random.Random], bytes], ...]] = (
    _changes_bytes,
    _changes_bytes,
    _changes_bytes,
    _cuts,
    _removes,
    _repeats,
    _splices,
    _adds_zeros,
    _sets_raw_length,
    _replaces_metadata,
)


def _place(data: bytes | bytearray, rng: random.Random) -> int:
    """A position. Half of them are near the beginning, where sizes and settings are."""
    return rng.randrange(min(len(data), 800) if rng.random() < 0.5 else len(data))
