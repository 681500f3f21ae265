"""JavaScript clients: the client module in node, and code written for slippi-js's types.

`npm install --prefix tests/oracles` installs `ws` and slippi-js. The game is written by a separate process and the
daemons are real; whole logs are compared, so speed does not matter.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from slpstream.api import messages
from tests.daemons.process import running
from tests.oracles.slippi_js import MODULES, needs_slippi_js
from tests.ports import free_port
from tests.project import IN_CI
from tests.replays import SLP
from tests.synthetic.match import synthetic_match
from tests.web.javascript import modules
from tests.web.shown import game_file, written_live

CLIENTS = Path(__file__).with_name("clients")
SECONDS = 60.0
ENVIRONMENT = {**os.environ, "NODE_PATH": str(MODULES)}

needs_ws = pytest.mark.skipif(
    not (shutil.which("node") and (MODULES / "ws" / "package.json").is_file()) and not IN_CI,
    reason=f"no node, or no ws in {MODULES} (npm install --prefix tests/oracles); only CI insists on it",
)


def node(client: str, *arguments: str) -> list[str]:
    return ["node", str(CLIENTS / client), *arguments]


def dumped(replay: Path, *topics: Any) -> list[bytes]:
    return [message.json("main") for message in messages(replay, topics=topics)]


@needs_ws
@pytest.mark.slow
def test_client_module_survives_a_restart_of_the_daemon(folder: Path, tmp_path: Path) -> None:
    replay = game_file("v3.18", tmp_path)
    module = modules() / "slpstream.js"
    log = [json.loads(line) for line in dumped(replay, "game", "frame", "event", "stats")]
    port = ("--port", str(free_port()))
    with running(folder, arguments=port) as first, written_live(replay, folder, speed=1.5):
        command = node("module.cjs", module.as_uri(), f"{first.url}/", "main")
        with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as client:
            try:
                assert client.stdout is not None
                assert [client.stdout.readline().strip() for _ in range(2)] == ["open", "playing"]
                first.kill()
                with running(folder, arguments=port):
                    assert client.stdout.readline().strip() == "open"
                    result = json.loads(client.stdout.readline())
                    assert client.wait(SECONDS) == 0, "after `close` nothing keeps the process alive"
            finally:
                client.kill()
    assert result["cursors"] == [message["cursor"] for message in log]
    assert result["saved"] == log[-1]["cursor"]
    assert result["counts"]["reset"] == 0
    types = Counter("event" if "kind" in message else message["type"] for message in log)
    assert {name: result["counts"][name] for name in ("frame", "finalized", "stats", "game_end")} == {
        name: types[name] for name in ("frame", "finalized", "stats", "game_end")
    }
    assert result["states"].count("open") == 2
    assert result["version"]


@needs_slippi_js
def test_code_for_slippi_js_frames_reads_our_frames(tmp_path: Path) -> None:
    (tmp_path / "made.slp").write_bytes(synthetic_match(seed=5, frames=600, items=True, followers=True))
    (tmp_path / "doubles.slp").write_bytes(synthetic_match(seed=6, frames=600, players=4, teams=True))
    real = (SLP / f"{name}.slp" for name in ("v3.18", "itemExport", "ics", "doubles", "rollbackFrameTest", "v2.0"))
    for replay in (*tmp_path.glob("*.slp"), *(path for path in real if path.exists())):
        lines = b"\n".join(m.json("station") for m in messages(replay, topics=("game", "frame"), frames="finalized"))
        ours, theirs = (
            json.loads(subprocess.run(command, env=ENVIRONMENT, input=given, capture_output=True, check=True).stdout)
            for command, given in (
                (node("frame_type.cjs", "lines"), lines),
                (node("frame_type.cjs", "replay", str(replay)), b""),
            )
        )
        if replay.stem == "rollbackFrameTest":
            # slippi-js accumulates the items of all revisions of a frame; slpstream keeps those of the last one.
            assert ours.pop("items") < theirs.pop("items")
        assert ours == theirs, replay.name
        assert ours["last"] > ours["first"]
        assert sum(player["travelled"] for player in ours["players"]) > 0
