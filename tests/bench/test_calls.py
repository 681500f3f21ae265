"""The calls of a frame do not grow unnoticed."""

from __future__ import annotations

import sys

import pytest

from slpstream.formats.kernel import kernel
from tests.bench.calls import calls_per_frame

MAX_CALLS = 130
"""Somewhat more than `calls.TARGET`, because a busy machine makes the play longer, and because what happens only once
counts more in a short one."""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the path on Linux is counted")
@pytest.mark.skipif(kernel is None, reason="without the kernel a frame takes more calls")
def test_calls_of_a_frame() -> None:
    assert calls_per_frame(120) < MAX_CALLS
