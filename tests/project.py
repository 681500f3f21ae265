"""The location of the project."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The root of the checkout, which has `slpstream/`, `tests/` and `deploy/`."""
