"""`POST /v1/reload` reloads the configuration, even on systems without SIGHUP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slpstream.cli import check_config
from slpstream.model.errors import ConfigError
from slpstream.web.schemas import Reloaded
from tests.cli.command_line import called
from tests.daemons.process import running
from tests.daemons.requests import ask
from tests.web.served import Served


@pytest.mark.trio
async def test_reload_lists_changed_keys(server: Served) -> None:
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
    assert json.loads(answer.body)["detail"] == "the old configuration stays: server.port: expected a number"


SECRET = "hunter2"
REFUSED = [
    '[fanout]\nurl = "redis://user:{secret}@[x"\n',
    '[fanout]\nurl = "redis://user:{secret}@host:99999/"\n',
    '[fanout]\nurl = "redis://user:{secret}"\n',
    '[obs]\nurl = "ws://user:{secret}@["\n',
    '[obs]\nurl = "ws://[:4455"\n',
    "[[chat]]\nurl_file = '{folder}/bad url'\n",
    "[[chat]]\nurl_file = '{folder}/good url'\nlink = '{{nope}}'\n",
    "[[webhooks]]\nurl = 'https://user:{secret}@host:99999/'\nsecret_file = '{folder}/good url'\n",
    "[[webhooks]]\nurl = 'https://host/'\nsecret_file = '{folder}/empty'\n",
    "[bracket]\nkind = 'webhook'\nurl = 'http://user:{secret}@['\ntoken_file = '{folder}/good url'\n",
    "[bracket]\nkind = 'nope'\n",
    "[[scoreboards]]\nkind = 'tournament-stream-helper'\nstation = 's'\nurl = 'http://user:{secret}@['\n",
    "[seats]\non = true\naddress = 'http://user:{secret}@host'\n",
    "[[situations]]\nname = 'a'\nquery = '((('\n",
    "[[jsonl]]\nfolder = '{folder}/a'\n[[jsonl]]\nfolder = '{folder}/a'\n",
    "[server]\nhost = '0.0.0.0'\n",
    "[server]\ntoken_file = '{folder}/missing'\n",
    "[server]\ntoken_file = '{folder}/good url'\noperate_token_file = '{folder}/good url'\n",
    "[store]\nfolder = '{folder}/empty'\n",
    "x = {deep}\n",
]
"""Configurations, after the table of a station, that `serve` refuses at start."""


@pytest.mark.not_on_windows("it stops the daemon with SIGTERM, which Windows does not have")
def test_reload_refuses_the_same_as_serve_without_revealing_secrets_or_paths(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "bad url").write_text(f"https://host:99999/{SECRET}\n")
    (tmp_path / "good url").write_text(f"https://host/{SECRET}\n")
    (tmp_path / "empty").touch()
    file = tmp_path / "slpstream.toml"
    good = f"[[stations]]\nid = 's'\nfolder = '{tmp_path / 's'}'\n"
    file.write_text(good)
    with running(arguments=("--config", str(file))) as daemon:
        for bad in REFUSED:
            file.write_text(good + bad.format(secret=SECRET, folder=tmp_path, deep="[" * 5000))
            status, _, answer = ask(daemon, "/v1/reload", method="POST")
            assert status == 409, bad
            assert SECRET not in answer["detail"]
            assert str(tmp_path) not in answer["detail"]
            with pytest.raises(ConfigError):
                called(check_config.command, file)
        file.write_text(good)
        assert ask(daemon, "/v1/reload", method="POST")[0] == 200
        assert daemon.terminate() == 0
    assert SECRET not in json.dumps(daemon.lines)


def test_reload_adds_a_station(tmp_path: Path) -> None:
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
