"""The optional compiled kernel: what is done for every frame, without making Python objects of its fields.

`kernel` is the compiled module, or `None` where it was not built (there was no compiler) and where the environment
variable `SLPSTREAM_PURE` is 1. Whoever uses it has a way of doing the same in Python, with the same bytes as a result;
tests run both. The kernel knows no format: it is given offsets and texts that are made from the field tables.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

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
