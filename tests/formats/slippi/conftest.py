"""Tests that use the fixture `with_and_without_kernel` run twice: with the compiled kernel, and in Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slpstream.formats import kernel as room
from slpstream.formats.slippi import frame_decoder, frame_forms
from tests.shared_data import IN_CI


@pytest.fixture(scope="module", params=["kernel", "python"])
def with_and_without_kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the tests of a module once with the compiled kernel and once without."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "python":
            for module in (frame_decoder, frame_forms):
                patch.setattr(module, "kernel", None)
        elif room.kernel is None and not IN_CI:
            pytest.skip("the kernel is not built, or turned off by SLPSTREAM_PURE=1")
        else:
            assert room.kernel is not None, "CI has a compiler"
        yield
