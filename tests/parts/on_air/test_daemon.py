"""The station on air over HTTP, websocket and server-sent events, across a restart of the daemon."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.daemons.process import DaemonProcess, running
from tests.daemons.requests import Response, ask, put_on_air

pytestmark = pytest.mark.process

METRICS = ("slpstream_station_on_air", "slpstream_on_air_switches_total")


def put(daemon: DaemonProcess, body: Any, **headers: str) -> Response:
    return ask(daemon, "/v1/on-air", body, method="PUT", **headers)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "left", tmp_path / "right"
    for folder in made:
        folder.mkdir()
    return made


def samples(daemon: DaemonProcess) -> dict[str, float]:
    lines = daemon.text(f"/metrics?names={','.join(METRICS)}").splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def test_operator_puts_a_station_on_air_and_everything_follows(folders: tuple[Path, Path], tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running(*folders, state=state) as daemon:
        daemon.wait_ready()
        nothing = {"station": None, "by": None, "since": None, "rule": False, "until": None}
        assert daemon.get("/v1/on-air") == nothing
        with connect(daemon.stream_url(station="on-air")) as socket:
            assert [json.loads(socket.recv(10))["type"] for _ in range(2)] == ["hello", "on_air"]
            status, _, answer = put(daemon, {"station": "left"})
            assert (status, answer["station"], answer["by"]) == (200, "left", "operator")
            told, state_message = json.loads(socket.recv(10)), json.loads(socket.recv(10))
            assert told == {"type": "on_air", "station": "left", "by": "operator", "since": answer["since"]}
            assert (state_message["type"], state_message["station"]) == ("station", "left")
            put_on_air(daemon, "right")
            assert [json.loads(socket.recv(10))["station"] for _ in range(2)] == ["right", "right"]
        with urllib.request.urlopen(f"{daemon.url}/v1/events?station=on-air", timeout=10) as events:
            lines = [events.readline() for _ in range(5)]
            assert b"event: on_air\n" in lines
        for path in ("/overlay/on-air", "/scenes/versus/on-air"):
            assert "<html" in daemon.text(path)
        assert put(daemon, {"station": "nowhere"}).status == 404
        assert put(daemon, {}).status == 422
        assert samples(daemon)['slpstream_on_air_switches_total{by="operator"}'] == 2
        assert samples(daemon)['slpstream_station_on_air{station="right"}'] == 1
        daemon.terminate()
    with running(*folders, state=state) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: daemon.get("/v1/on-air")["station"] == "right")
        assert put(daemon, {"station": None}).body["station"] is None


def test_station_cannot_have_the_id_on_air(tmp_path: Path) -> None:
    folder = tmp_path / "on-air"
    folder.mkdir()
    with running(folder) as daemon:
        assert [station["id"] for station in daemon.get("/v1/stations")["stations"]] == ["on-air-2"]
