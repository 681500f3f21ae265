"""The kernel reads growth as the steps in Python do, and leaves everything unusual to them."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.kernel import kernel
from slpstream.model.errors import SourceError
from slpstream.sources.tail.events import Grew, TailEvent
from slpstream.sources.tail.identity import PREFIX_BYTES
from slpstream.sources.tail.tailer import FileTail, open_file
from tests.project import IN_CI
from tests.sources.tail.driver import REWRITABLE, append

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel reads growth on Linux only"),
    pytest.mark.skipif(kernel is None and not IN_CI, reason="the kernel is not built here"),
]

HEAD_BYTES = REWRITABLE + PREFIX_BYTES
CHUNK_BYTES = 4096
START = bytes(range(256)) * 4


class Pair:
    """Two tails of one file. The one reads growth with the kernel, and the other in Python."""

    def __init__(self, path: Path, start: bytes = START) -> None:
        self.path = path
        append(path, start)
        self.compiled, self.reference = self._opened(), self._opened()
        while self.reference.has_unread_bytes:
            assert self._read(self.compiled, 0.0) == self._read(self.reference, 0.0)
        self.now = 0.0

    def _opened(self) -> FileTail:
        tail = open_file(str(self.path), str(self.path.parent), REWRITABLE)
        assert isinstance(tail, FileTail)
        return tail

    def close(self) -> None:
        self.compiled.descriptor.close()
        self.reference.descriptor.close()

    def grew(self) -> Grew | None:
        """Read both, check that they agree, and return the result of the kernel."""
        self.now += 1.0
        before = state_of(self.compiled)
        grew = self.compiled.read_growth(CHUNK_BYTES, self.now)
        if grew is None:
            assert state_of(self.compiled) == before, "and nothing was done"
        got = self._read(self.compiled, self.now) if grew is None else [without_file(grew)]
        assert got == self._read(self.reference, self.now)
        assert state_of(self.compiled) == state_of(self.reference)
        return grew

    def _read(self, tail: FileTail, now: float) -> list[object] | SourceError | str:
        """The events of a read in Python, or its error."""
        result = tail.read_nowait(memoryview(bytearray(CHUNK_BYTES)), memoryview(bytearray(HEAD_BYTES)))
        if result is None:
            result = tail.read(CHUNK_BYTES)
        try:
            return [without_file(event) for event in tail.apply(result, now)]
        except SourceError as error:
            return str(error)


def without_file(event: TailEvent) -> object:
    """An event in a form in which those of two tails are equal."""
    return type(event), [getattr(event, name) for name in event.__struct_fields__ if name != "file"]


def state_of(tail: FileTail) -> object:
    """All that reads change."""
    file = tail.file
    return (
        tail.delivered,
        tail.has_unread_bytes,
        tail.read_at,
        [tail.is_unchanged(tail.read_at + seconds) for seconds in (0.0, 3.5)],
        (file.size_bytes, file.mtime_ns, file.previous_mtime_ns, file.unchanged_at),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.slp"
    append(path, b"x")
    with path.open("rb") as file:
        try:
            os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
        except OSError:
            pytest.skip(f"files in {tmp_path} can only be read in threads")
    path.unlink()
    return path


@pytest.fixture
def pair(path: Path) -> Iterator[Pair]:
    pair = Pair(path)
    yield pair
    pair.close()


@pytest.mark.parametrize("size", [1, 7, 8, 9, 63, 1000, CHUNK_BYTES])
def test_growth_is_read_by_the_kernel(pair: Pair, size: int) -> None:
    for number in range(3):
        data = bytes([number + 1]) * size
        append(pair.path, data)
        grew = pair.grew()
        assert grew is not None
        assert grew.data == data


def write(path: Path, offset: int, data: bytes) -> None:
    """Write into a file in place."""
    with path.open("r+b", buffering=0) as file:
        file.seek(offset)
        file.write(data)


def truncate_and_write(path: Path) -> None:
    os.truncate(path, 0)
    append(path, bytes(len(START) + 100))


def unlink_after_growth(path: Path) -> None:
    append(path, b"more")
    path.unlink()


def replace(path: Path) -> None:
    append(path, b"more")
    path.rename(path.with_name("b.slp"))
    path.with_name("b.slp").unlink()
    append(path, START + b"other")


def rewrite_header(path: Path) -> None:
    append(path, b"more")
    write(path, 0, b"HEADER")


def rewrite_start(path: Path) -> None:
    append(path, b"more")
    write(path, REWRITABLE + 1, b"CHANGED")


def leave_a_hole(path: Path) -> None:
    os.truncate(path, len(START) + 2 * CHUNK_BYTES)


def grow_before_1970(path: Path) -> None:
    append(path, b"more")
    os.utime(path, ns=(-5_000_000_000, -5_000_000_000))


UNUSUAL: list[Callable[[Path], object]] = [
    lambda path: None,
    lambda path: path.touch(),
    lambda path: path.chmod(0o600),
    lambda path: append(path, bytes(CHUNK_BYTES + 1)),
    lambda path: os.truncate(path, len(START) - 1),
    lambda path: os.truncate(path, 3),
    truncate_and_write,
    unlink_after_growth,
    replace,
    rewrite_header,
    rewrite_start,
    leave_a_hole,
    grow_before_1970,
]
NAMES = "nothing touched mode too-much shorter short written-again unlinked replaced header start hole before-1970"


@pytest.mark.parametrize("change", UNUSUAL, ids=NAMES.split())
def test_everything_unusual_is_left_to_python(pair: Pair, change: Callable[[Path], object]) -> None:
    change(pair.path)
    assert pair.grew() is None


@pytest.mark.parametrize("size", [0, 1, HEAD_BYTES - 1])
def test_file_whose_head_is_not_complete_is_left_to_python(path: Path, size: int) -> None:
    pair = Pair(path, START[:size])
    append(path, START[size:])
    assert pair.grew() is None
    append(path, b"more")
    assert pair.grew() is not None
    pair.close()


def test_rest_of_a_file_is_left_to_python(pair: Pair) -> None:
    append(pair.path, bytes(2 * CHUNK_BYTES))
    assert [pair.grew(), pair.grew()] == [None, None]
    append(pair.path, b"more")
    assert pair.grew() is not None


def test_exhausted_file_is_left_to_python(pair: Pair) -> None:
    pair.compiled.exhausted = pair.reference.exhausted = True
    append(pair.path, b"more")
    assert pair.grew() is None


def test_file_that_a_scan_has_missed_is_left_to_python(pair: Pair) -> None:
    pair.compiled.missed_scans = 1
    append(pair.path, b"more")
    assert pair.grew() is None


@pytest.mark.parametrize("error", [BlockingIOError, OSError])
def test_bytes_that_are_not_cached_are_left_to_python(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    """The kernel and then Python can't read without waiting."""

    def fail(*arguments: object) -> int:
        raise error

    append(pair.path, b"more")
    monkeypatch.setattr("slpstream.sources.tail.tailer.kernel.read_growth", lambda *arguments: None)
    monkeypatch.setattr(os, "preadv", fail)
    assert pair.grew() is None
    monkeypatch.undo()
    append(pair.path, b"and more")
    assert pair.grew() is not None


def test_closed_descriptor_is_left_to_python(pair: Pair) -> None:
    assert kernel is not None
    number = os.open(pair.path, os.O_RDONLY)
    os.close(number)
    assert kernel.read_growth(number, 0, b"", 0, 10, zlib.crc32) is None


CHANGES = st.one_of(
    st.binary(min_size=1, max_size=64).map(lambda data: lambda path: append(path, data)),
    st.integers(1, 2 * CHUNK_BYTES).map(lambda size: lambda path: append(path, bytes(size))),
    st.integers(0, 2 * len(START)).map(lambda size: lambda path: os.truncate(path, size)),
    st.tuples(st.integers(0, HEAD_BYTES + 20), st.binary(min_size=1, max_size=20)).map(
        lambda change: lambda path: write(path, *change)
    ),
)


@settings(deadline=None, max_examples=60)
@given(steps=st.lists(st.lists(CHANGES, min_size=1, max_size=3), min_size=1, max_size=6))
def test_both_ways_agree_about_any_changes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[Callable[[Path], object]]]
) -> None:
    pair = Pair(tmp_path_factory.mktemp("growth") / "a.slp")
    for changes in steps:
        for change in changes:
            change(pair.path)
        pair.grew()
    pair.close()


@settings(deadline=None)
@given(before=st.binary(max_size=100), data=st.binary(min_size=1, max_size=300))
def test_checksum_is_that_of_zlib(tmp_path_factory: pytest.TempPathFactory, before: bytes, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "checksum"
    path.write_bytes(before + data)
    assert kernel is not None
    with path.open("rb") as file:
        growth = kernel.read_growth(file.fileno(), len(before), before, zlib.crc32(before), 1000, zlib.crc32)
    assert growth is not None
    assert growth[:3] == (data, len(before) + len(data), zlib.crc32(before + data))


@pytest.mark.parametrize(
    "arguments",
    [
        (-1, 0, b"", 0, 1, zlib.crc32),
        (1 << 40, 0, b"", 0, 1, zlib.crc32),
        (0, -1, b"", 0, 1, zlib.crc32),
        (0, 0, b"", -1, 1, zlib.crc32),
        (0, 0, b"", 1 << 32, 1, zlib.crc32),
        (0, 0, b"", 0, -1, zlib.crc32),
        (0, 0, "", 0, 1, zlib.crc32),
        (0, 1 << 64, b"", 0, 1, zlib.crc32),
        (),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[object, ...]) -> None:
    assert kernel is not None
    with pytest.raises((TypeError, ValueError, OverflowError)):
        kernel.read_growth(*arguments)
