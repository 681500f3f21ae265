"""The optional compiled kernel. It does the work for every frame, without making Python objects for the fields.

On Linux, it also reads the bytes that a game appends to its file, and except on Windows, it writes messages to sockets.

`kernel` is the compiled module. It is `None` if it was not built because there's no compiler, or if the environment
variable `SLPSTREAM_PURE` is 1. In this case, its callers do the same in Python, and the resulting bytes are the same
too. Tests run both. The kernel doesn't know any format, because its callers pass offsets and texts that they make from
the field tables.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import Any

PURE = "SLPSTREAM_PURE"
"""The environment variable that turns the kernel off."""


def _load() -> ModuleType | None:
    if os.environ.get(PURE) == "1":
        return None
    try:
        return import_module(f"{__name__}._kernel")
    except ImportError:
        return None


kernel = _load()

send_to_all: Any = getattr(kernel, "send_to_all", None)
"""Writes the same bytes to many sockets (`_kernel.pyi`). It is `None` without the kernel, and on Windows."""
