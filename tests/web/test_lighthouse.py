"""Lighthouse finds no fault with the pages that people open: accessibility and layout shift.

Lighthouse runs as a black box with Debian's Chromium. Its scores for speed depend on the machine, so they are not
requested.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browsers.chromium import CHROMIUM
from tests.daemons.process import DaemonProcess
from tests.oracles.slippi_js import MODULES
from tests.project import IN_CI
from tests.web.whole_site import whole_site

LIGHTHOUSE = MODULES / "lighthouse" / "cli" / "index.js"
MAX_SHIFT = 0.1
SECONDS = 300.0
PAGES = {
    "overview": "/#",
    "station": "/#station/station",
    "wall": "/#wall",
    "editor": "/#editor/playing",
    "docs": "/docs",
    "live scene": "/scenes/live/playing",
}
_OPTIONS = (
    "--output=json",
    "--quiet",
    "--preset=desktop",
    "--throttling-method=simulate",
    "--only-audits=cumulative-layout-shift",
    "--only-categories=accessibility",
    "--no-enable-error-reporting",
    "--disable-full-page-screenshot",  # only for people who read the report
    "--max-wait-for-load=15000",  # the dashboard polls every few seconds, so the network is never quiet
    "--chrome-flags=--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking",
)

pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("node") and LIGHTHOUSE.is_file() and CHROMIUM.exists()) and not IN_CI,
        reason=f"no node, no {CHROMIUM}, or no lighthouse in {MODULES} (npm install --prefix tests/oracles)",
    ),
    pytest.mark.parts("api_docs", "audit", "bracket", "dashboard", "scenes", "seats", "wall"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with whole_site(tmp_path_factory.mktemp("site")) as site:
        yield site


def look_at(address: str, into: Path) -> Any:
    """Run Lighthouse once and return its report."""
    output = into / "report.json"
    command = ["node", str(LIGHTHOUSE), address, f"--output-path={output}", *_OPTIONS]
    environment = {**os.environ, "CHROME_PATH": str(CHROMIUM)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert output.is_file(), ran.stderr
    return json.loads(output.read_bytes())


@pytest.mark.parametrize("name", PAGES)
def test_lighthouse_finds_no_fault(site: DaemonProcess, tmp_path: Path, name: str) -> None:
    audits = look_at(f"{site.url}{PAGES[name]}", tmp_path)["audits"]
    shift = audits.pop("cumulative-layout-shift")
    assert shift["numericValue"] < MAX_SHIFT
    assert not {each: audit for each, audit in audits.items() if audit["score"] not in (None, 1)}
