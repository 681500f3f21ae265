"""A real daemon posts results to a webhook whose URL is in a file, and keeps that URL to itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slpstream.config import Chat, Config
from slpstream.daemon.outputs import Outputs
from slpstream.model.errors import ConfigError
from slpstream.system.metrics import Metrics
from tests.daemons.process import running
from tests.outputs.chat.discord_double import valid
from tests.outputs.http_server import Response, serving
from tests.sets.games import BATTLEFIELD, MARTH, Seat, replay


@pytest.mark.slow
def test_result_of_a_game_is_posted(tmp_path: Path) -> None:
    setup, url_file, config = tmp_path / "setup", tmp_path / "url", tmp_path / "slpstream.toml"
    setup.mkdir()
    messages: list[dict[str, Any]] = []

    def respond(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        message = json.loads(body)
        if (method, path) != ("POST", "/api/webhooks/1/secret") or not valid(message):
            return Response(400)
        messages.append(message)
        return Response(204)

    with serving(respond) as address:
        url_file.write_text(f"{address}/api/webhooks/1/secret\n")
        config.write_text(
            f"[[chat]]\nurl_file = '{url_file}'\nname = 'scores'\nlink = 'https://example.org/{{game_id}}'\n"
        )
        with running(setup, arguments=("--config", str(config))) as daemon:
            daemon.wait_ready()
            seats = {0: Seat("Vixen"), 1: Seat("Altea", character=MARTH)}
            (setup / "Game_1.slp").write_bytes(replay(seats, {0: 0, 1: 2}, seconds=60, minute=0, stage=BATTLEFIELD))
            daemon.until(lambda: len(messages) == 1, 60)
            [game] = daemon.get("/v1/games")["games"]
            assert 'slpstream_webhook_waiting_deliveries{webhook="scores"} ' in daemon.text("/metrics")
            lines = daemon.lines
    assert messages[0]["content"] == (
        f"Game 1: **Altea** (Marth) beats Vixen (Fox) on Battlefield. 1–0 https://example.org/{game['gameId']}"
    )
    assert "secret" not in json.dumps(lines)


@pytest.mark.parametrize(("content", "what"), [("", "first line is empty"), ("token", "not an http"), (None, "read")])
def test_file_without_a_url_is_a_configuration_error(tmp_path: Path, content: str | None, what: str) -> None:
    if content is not None:
        (tmp_path / "url").write_text(content)
    with pytest.raises(ConfigError, match=what) as refused:
        Outputs(Config(chat=[Chat(url_file=str(tmp_path / "url"))]), Metrics())
    assert refused.value.key == "chat[0].url_file"
