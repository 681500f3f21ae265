"""External programs required by tests. In CI they must be installed; elsewhere tests without them are skipped."""

from __future__ import annotations

import shutil
import socket

import pytest

from tests.project import IN_CI


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip the test if one of the programs is missing, but not in CI."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing) and not IN_CI, reason=f"not installed: {', '.join(missing)}")


def free_port() -> int:
    """A TCP port that was just free."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
