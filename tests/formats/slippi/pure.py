"""Turns the compiled kernel off for a part of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec

import pytest

from slpstream.formats.slippi import packed_frame
from slpstream.game import log_writer
from slpstream.sources.tail import tailer
from slpstream.web import encodings
from tests.project import has_part

USERS = [encodings, log_writer, packed_frame, tailer]
"""The modules that use the kernel where it is built."""
if find_spec("pyarrow") is not None:  # the tests of the stream run without it on Windows
    USERS += [import_module(f"slpstream.formats.slippi.{name}") for name in ("arrow", "columns", "frame_index")]
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
