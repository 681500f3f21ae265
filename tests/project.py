"""Facts about this checkout and this run."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The root of the checkout, which has `slpstream/`, `tests/` and `deploy/`."""

IN_CI = os.environ.get("CI") == "true"
"""Whether a missing program or a missing replay is a failure instead of a skip."""
