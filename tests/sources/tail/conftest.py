from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder that a tail follows."""
    folder = tmp_path / "replays"
    folder.mkdir()
    return folder
