"""The optional compiled kernel: the work for every frame, without Python objects for its fields.

`kernel` is the compiled module. It is `None` if it was not built (without a compiler) or if the environment variable
`SLPSTREAM_PURE` is 1; its callers then do the same in Python, with the same bytes as a result. Tests run both. The
kernel knows no format: its callers pass offsets and texts made from the field tables.
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
