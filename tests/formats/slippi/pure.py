"""Turns the compiled kernel off for a part of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import pytest

from slpstream.formats.slippi import arrow, columns, frame_index, packed_frame
from slpstream.game import log_writer
from slpstream.sources.tail import tailer
from slpstream.web import encodings
from tests.project import has_part

USERS = [arrow, columns, encodings, frame_index, log_writer, packed_frame, tailer]
"""The modules that use the kernel where it is built."""
if has_part("training"):
    USERS.append(import_module("slpstream.parts.training.side_by_side"))


def is_compiled() -> bool:
    """Whether the kernel is built and not turned off."""
    return vars(packed_frame)["kernel"] is not None


@contextmanager
def without_kernel() -> Iterator[None]:
    """Do everything in Python inside the block."""
    with pytest.MonkeyPatch.context() as patch:
        for module in USERS:
            patch.setattr(module, "kernel", None)
        yield
