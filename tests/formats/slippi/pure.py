"""Turns the compiled kernel off for a part of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import pytest

from slpstream.formats.slippi import arrow, frame_decoder, frame_forms, frame_index
from tests.project import has_part

USERS = [arrow, frame_decoder, frame_forms, frame_index]
"""The modules that use the kernel where it is built."""
if has_part("training"):
    USERS.append(import_module("slpstream.parts.training.side_by_side"))


@contextmanager
def without_kernel() -> Iterator[None]:
    """Do everything in Python inside the block."""
    with pytest.MonkeyPatch.context() as patch:
        for module in USERS:
            patch.setattr(module, "kernel", None)
        yield
