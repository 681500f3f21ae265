"""The Autobahn test suite against the echo server in `autobahn.py`.

The suite needs Python 2.7 and is still on PyPI: `.ci/run` installs it into `.autobahn` if such a Python is available.
`test_websocket_protocol.py` has equivalent cases for machines without it. Groups 9 (messages of 16 MB, where the limit
is 64 KB), 12 and 13 (compression, which is not offered) are left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.project import ROOT

SUITE = Path(os.environ.get("SLPSTREAM_AUTOBAHN", ROOT / ".autobahn"))
PYTHON = SUITE / "python"  # a link made by .ci/run
PASSED = {"OK", "NON-STRICT", "INFORMATIONAL"}
"""NON-STRICT is conforming: a complete message before the invalid frame was not echoed any more, or invalid UTF-8 is
noticed only at the end of a message."""
ON_PURPOSE = {"7.1.5": "`websockets` takes a close in the middle of a fragmented message for a breach: 1002, not 1000"}
_RUN = "import site, sys; site.addsitedir(sys.argv.pop(1)); from autobahntestsuite.wstest import run; run()"


def run_suite(folder: Path, left_out: Sequence[str]) -> dict[str, dict[str, str]]:
    """The report of the suite."""
    command = [sys.executable, "-m", "tests.web.autobahn", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as echo:
        assert echo.stdin is not None
        assert echo.stdout is not None
        try:
            url = f"ws://127.0.0.1:{int(echo.stdout.readline())}/v1/stream"
            spec = {
                "outdir": str(folder / "reports"),
                "servers": [{"agent": "slpstream", "url": url}],
                "cases": ["*"],
                "exclude-cases": left_out,
                "exclude-agent-cases": {},
            }
            (folder / "spec.json").write_text(json.dumps(spec))
            suite = [str(PYTHON), "-W", "ignore", "-c", _RUN, str(SUITE), "-m", "fuzzingclient", "-s", "spec.json"]
            done = subprocess.run(suite, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        finally:
            echo.stdin.close()
            echo.wait(timeout=20)
    report: dict[str, dict[str, str]] = json.loads((folder / "reports" / "index.json").read_text())["slpstream"]
    return report


@pytest.mark.skipif(not PYTHON.exists(), reason=f"the Autobahn suite, of Python 2.7, is not in {SUITE}")
def test_autobahn_suite_passes(tmp_path: Path) -> None:
    report = run_suite(tmp_path, ["9.*", "12.*", "13.*"])
    assert len(report) >= 240
    failed = {
        case: (result["behavior"], result["behaviorClose"])
        for case, result in report.items()
        if result["behavior"] not in PASSED or result["behaviorClose"] not in PASSED
    }
    assert failed.keys() == ON_PURPOSE.keys(), failed
