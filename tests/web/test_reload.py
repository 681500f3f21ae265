"""`POST /v1/reload`: the configuration is read again where there is no SIGHUP, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slpstream.model.errors import ConfigError
from slpstream.web.schemas import Reloaded
from tests.daemons.process import running
from tests.daemons.requests import ask
from tests.web.served import Served


@pytest.mark.trio
async def test_reload_says_what_has_changed(server: Served) -> None:
    server.fake.reloaded = Reloaded(changed=["watch.pace"], needs_restart=["server.port"])
    assert (await server.ask("/v1/reload")).status == 405
    answer = await server.ask("/v1/reload", "POST")
    assert answer.json == {"changed": ["watch.pace"], "needsRestart": ["server.port"]}


@pytest.mark.trio
async def test_configuration_that_cannot_be_reloaded(server: Served) -> None:
    answer = await server.ask("/v1/reload", "POST")
    assert (answer.status, json.loads(answer.body)["detail"]) == (
        409,
        "there is no configuration file to read again",
    )
    server.fake.refused = ConfigError("slpstream.toml", "server.port", "expected a number")
    answer = await server.ask("/v1/reload", "POST")
    assert answer.status == 409
    assert "slpstream.toml: server.port: expected a number" in json.loads(answer.body)["detail"]


def test_daemon_takes_a_new_station(tmp_path: Path) -> None:
    config = tmp_path / "slpstream.toml"
    one, two = (f"[[stations]]\nid = '{name}'\nfolder = '{tmp_path / name}'\n" for name in ("one", "two"))
    config.write_text(one)
    with running(arguments=("--config", str(config))) as daemon:

        def reloaded() -> tuple[int, Any]:
            status, _, body = ask(daemon, "/v1/reload", method="POST")
            return status, body

        assert [station["id"] for station in daemon.get("/v1/stations")["stations"]] == ["one"]
        config.write_text(one + two)
        assert reloaded() == (200, {"changed": ["stations"], "needsRestart": []})
        assert [station["id"] for station in daemon.get("/v1/stations")["stations"]] == ["one", "two"]
        config.write_text("[server\n")
        status, answer = reloaded()
        assert status == 409
        assert "is not TOML" in answer["detail"]
        assert len(daemon.get("/v1/stations")["stations"]) == 2
