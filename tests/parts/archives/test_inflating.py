"""Deflated archives give the same results with and without zlib-ng, even if damaged."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slpstream.parts.archives import streams
from tests.parts.archives.games import GAMES, game, packed_once, read, written
from tests.parts.archives.packing import KINDS, zipped

DEFLATED = ("deflated.zip", "a.tar.gz", "deflate.7z")


@pytest.fixture(autouse=True)
def found_again() -> Iterator[None]:
    streams.inflating_module.cache_clear()
    yield
    streams.inflating_module.cache_clear()


def inflate_by(name: str) -> None:
    """Use `zlib`, or `zlib_ng`, from now on."""
    streams.inflating_module.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        if name == "zlib":
            patch.setitem(sys.modules, "zlib_ng.zlib_ng", None)
        assert streams.inflating_module().__name__.partition(".")[0] == name


@pytest.fixture(params=["zlib", "zlib_ng"])
def inflated_by(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    pytest.importorskip(name)
    inflate_by(name)
    return name


@pytest.mark.usefixtures("inflated_by")
@pytest.mark.parametrize("kind", DEFLATED)
def test_members_are_the_files_that_were_packed(tmp_path: Path, kind: str) -> None:
    files = {**GAMES, "large.slp": bytes(range(256)) * 70_000}
    assert read(written(tmp_path, kind, KINDS[kind](files))) == (files, [])


@pytest.mark.usefixtures("inflated_by")
def test_several_streams_and_padding_are_one_replay(tmp_path: Path) -> None:
    data = gzip.compress(game()[:500]) + bytes(100_000) + gzip.compress(game()[500:]) + bytes(70_000)
    assert read(written(tmp_path, "a.zip", zipped({"a.slp.gz": data}))) == ({"a.slp.gz": game()}, [])


@pytest.mark.parametrize("kind", DEFLATED)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_archives_are_read_alike(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    pytest.importorskip("zlib_ng")
    packed = bytearray(packed_once(kind))
    for _ in range(data.draw(st.integers(0, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    path = written(tmp_path, kind, bytes(packed[: data.draw(st.integers(0, len(packed)))]))
    found = []
    for name in ("zlib", "zlib_ng"):
        inflate_by(name)
        found.append(read(path))
    assert found[0] == found[1]
