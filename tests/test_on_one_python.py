"""The option `--other-python`, with which CI runs the fast tests on further versions of Python."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import on_one_python
from tests.project import ROOT


def collected(*arguments: str) -> list[str]:
    """The tests that pytest would run in CI."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"CI": "true"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.slow
def test_slow_tests_and_listed_modules_are_left_out() -> None:
    tests = collected("--other-python", "tests/web")
    modules = {line.partition("::")[0].removeprefix("tests/") for line in tests}
    assert {"web/test_access.py", "web/test_websocket_protocol.py"} <= modules
    assert not modules & {*on_one_python.MODULES, "web/test_lighthouse.py", "web/test_index.py"}
    # A module with both kinds.
    names = {line.partition("::")[2] for line in tests if "web/test_seats_api.py" in line}
    assert "test_claim_swap_and_leave" in names
    assert "test_codes_and_claims_survive_a_restart" not in names


def test_shares_have_every_test_once() -> None:
    every = collected("tests/model")
    first, second = (collected("tests/model", f"--share={number}/2") for number in (1, 2))
    assert sorted(first + second) == sorted(every)
    assert min(len(first), len(second)) > len(every) // 4


def test_every_entry_has_a_reason() -> None:
    assert all(on_one_python.MODULES.values())
