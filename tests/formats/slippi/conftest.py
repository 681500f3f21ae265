"""Tests that use the fixture `with_and_without_kernel` run twice: with the compiled kernel, and in Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slpstream.formats import kernel as room
from tests.formats.slippi.pure import without_kernel
from tests.marks import slow
from tests.project import IN_CI

IN_PYTHON = ["python"] if room.kernel is None else slow("python")
"""Without the kernel, the tests in Python are the only ones, and never left out."""


@pytest.fixture(scope="module", params=["kernel", *IN_PYTHON])
def with_and_without_kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the tests of a module once with the compiled kernel and once without."""
    if request.param == "python":
        with without_kernel():
            yield
        return
    if room.kernel is None and not IN_CI:
        pytest.skip("the kernel is not built, or turned off by SLPSTREAM_PURE=1")
    assert room.kernel is not None, "CI has a compiler"
    yield
