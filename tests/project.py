"""Where the project stands on this machine."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The checkout: `slpstream/`, `tests/`, `deploy/` and the rest are below it."""
