"""Every request in the table of docs/production/remote_controls.md, sent to a demo."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.daemons.demo import demo
from tests.docs.pages import DOCS

PAGE = (DOCS / "production" / "remote_controls.md").read_text(encoding="utf-8")
REQUESTS = re.findall(r"^\| .* \| `([A-Z]+)` \| `(/v1/\S+)` \| `(\{.*\})` \|$", PAGE, re.MULTILINE)
NO_DOLPHIN = "instant-replay"
"""A request that is answered with 409, because the demo has no Playback Dolphin."""

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.parts("demo", "marks", "on_air", "playback_dolphin")]


def answer(url: str, method: str, body: str, **headers: str) -> int:
    request = urllib.request.Request(url, body.encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_every_request_is_accepted(tmp_path: Path) -> None:
    assert len(REQUESTS) > 7
    with demo(log=tmp_path / "log") as played:
        stations = f"{played.url}/v1/stations"
        while True:  # a set has players as soon as its first game has begun
            with urllib.request.urlopen(stations, timeout=20) as response:
                if json.load(response)["stations"][0].get("game"):
                    break
        for method, path, body in REQUESTS:
            url = f"{played.url}{path.replace('/main/', '/demo/')}"
            expected = 409 if NO_DOLPHIN in path else 200
            status = answer(url, method, body.replace('"main"', '"demo"'), **{"Content-Type": "application/json"})
            assert status == expected, (method, path, body)
        assert answer(url, method, body) == 415, "the page says that the header is needed"
