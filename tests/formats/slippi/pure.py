"""Turns the compiled kernel off for a part of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from slpstream.formats.slippi import arrow, frame_decoder, frame_forms, frame_index
from slpstream.parts.training import side_by_side

USERS = (arrow, frame_decoder, frame_forms, frame_index, side_by_side)
"""The modules that use the kernel where it is built."""


@contextmanager
def without_kernel() -> Iterator[None]:
    """Do everything in Python inside the block."""
    with pytest.MonkeyPatch.context() as patch:
        for module in USERS:
            patch.setattr(module, "kernel", None)
        yield
