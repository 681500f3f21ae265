"""`/v1/stations/{station}/matchup` of a daemon, and the message `matchup` of a subscription that asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

from tests.daemons.process import DEADLINE_SECONDS, configured
from tests.daemons.requests import ask
from tests.synthetic.match import synthetic_match


def test_matchup_of_a_station(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    with configured(tmp_path, "", folder) as daemon:
        address = "/v1/stations/main/matchup"
        assert daemon.get(address) == {"withoutMatchup": "the players are not known", "players": []}
        (folder / "Game_1.slp").write_bytes(synthetic_match(seed=5))
        daemon.until(lambda: daemon.get(address)["players"])
        found = daemon.get(address)
        assert [(player["name"], player["code"]) for player in found["players"]] == [
            ("Vixen", "VIXN#101"),
            ("Altea", "ALTE#202"),
        ]
        assert found["headToHead"] == {"sets": [0, 0], "games": [0, 0], "stages": []}
        assert found["setId"] == daemon.get("/v1/stations/main/set")["setId"]
        assert ask(daemon, "/v1/stations/nobody/matchup").status == 404
        with connect(daemon.stream_url(station="main", also="matchup"), open_timeout=DEADLINE_SECONDS) as client:
            message: dict[str, Any] = {}
            while message.get("type") != "matchup":
                message = json.loads(client.recv(timeout=DEADLINE_SECONDS))
        assert message == {"type": "matchup", "station": "main", **found}
