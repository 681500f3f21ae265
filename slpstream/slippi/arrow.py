"""Columns as Arrow tables (extra `analysis`)."""

from __future__ import annotations

from typing import Any


def frames_table(frames: Any) -> Any:
    """Placeholder."""
    raise NotImplementedError
