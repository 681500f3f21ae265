"""Facts about this checkout and this run."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The root of the checkout, which has `slpstream/`, `tests/` and `deploy/`."""

PARTS = ROOT / "slpstream" / "parts"
"""The folders of the built-in parts. The other tests still pass if some of these and their tests are deleted."""


def has_part(name: str) -> bool:
    """Return whether the checkout has this built-in part."""
    return (PARTS / name / "part.py").is_file()


def deleted_part(path: str, separator: str = "/") -> str | None:
    """Return the deleted part whose folders contained a file or, with the separator ".", a module.

    Returns `None` if the path isn't that of a part, or if the part is there.
    """
    match path.split(separator):
        case ["slpstream" | "tests", "parts", name, *_] if not name.endswith(".py") and not has_part(name):
            return name
    return None


IN_CI = os.environ.get("CI") == "true"
"""Whether a missing program or a missing replay is a failure instead of a skip."""
