"""`/v1/highlights` of a daemon: a game played while it runs, one in progress, and an older one."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from slpstream.api import messages
from tests.daemons.process import configured, running
from tests.project import has_part
from tests.synthetic.match import synthetic_match

BEFORE = 1_700_000_000


@cache
def live() -> bytes:
    return synthetic_match(seed=3, frames=1500, ended=False)


@cache
def finished() -> bytes:
    return synthetic_match(seed=4, frames=1500)


def events(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(message.json()) for message in messages(path, topics=("event",))]
    return [message for message in found if message["kind"] == "highlight"]


def test_names_that_an_operator_gave_are_those_of_lists_and_highlights(tmp_path: Path) -> None:
    """Pages without access to the set show them too, with the names that the set has in each game."""
    folder = tmp_path / "setup-1"
    folder.mkdir()
    path = folder / "old.slp"
    path.write_bytes(finished())
    os.utime(path, (BEFORE, BEFORE))
    [event] = events(path)
    index = event["playerIndex"]
    with configured(tmp_path, f"[[stations]]\nid = 'setup-1'\nname = 'Main stage'\nfolder = '{folder}'\n") as daemon:
        daemon.until(lambda: daemon.get("/v1/games")["games"])
        game = f"/v1/games/{event['gameId']}"

        def names() -> list[str | None]:
            found = [
                *daemon.get("/v1/games")["games"],
                *daemon.get("/v1/games?station=setup-1")["games"],
                daemon.get(game),
            ]
            shown = [player.get("name") for each in found for player in each["players"] if player["index"] == index]
            [highlight] = daemon.get(f"/v1/highlights?game={event['gameId']}")["highlights"]
            return [*shown, highlight["player"].get("name")]

        [before] = set(names())
        assert before != "Annabel"
        status, _ = daemon.request("PATCH", "/v1/stations/setup-1/set", {"names": {str(index): "Annabel"}})
        assert status == 200
        assert names() == ["Annabel"] * 4
        daemon.request("PATCH", "/v1/stations/setup-1/set", {"names": None})
        assert set(names()) == {before}
        [setup] = daemon.get("/v1/audit")["setups"]
        assert (setup["setup"], setup["name"]) == ("setup-1", "Main stage")


def test_highlights_of_games(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    old, new = folder / "old.slp", folder / "new.slp"
    old.write_bytes(finished())
    os.utime(old, (BEFORE, BEFORE))
    [old_event] = events(old)
    with running(folder) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 1)
        assert daemon.get("/v1/highlights") == {"highlights": []}, "the stats of old games are computed on request"
        [found] = daemon.get(f"/v1/highlights?game={old_event['gameId']}")["highlights"]
        assert {key: old_event[key] for key in found["highlight"]} == found["highlight"]
        assert daemon.get("/v1/highlights")["highlights"] == [found], "and kept"

        new.write_bytes(live())
        daemon.until(lambda: len(daemon.get("/v1/highlights")["highlights"]) == 2)
        [new_event] = events(new)
        first, second = daemon.get("/v1/highlights?station=main")["highlights"]
        assert (first["gameId"], second) == (new_event["gameId"], found), "the game in progress comes first"
        assert [first["player"]["index"], first["opponent"]["index"]] == [
            new_event["playerIndex"],
            new_event["opponentIndex"],
        ]
        in_set = daemon.get("/v1/highlights?set=main&order=best")["highlights"]
        assert [each["gameId"] for each in in_set] == [new_event["gameId"]]
        page = daemon.get("/v1/highlights?order=best&limit=1")
        rest = daemon.get(f"/v1/highlights?order=best&cursor={page['next']}")
        assert page["highlights"] + rest["highlights"] == [first, found], "107.7 points come before 65"
        assert "next" not in rest

        if has_part("odds"):
            from tests.parts.odds.plain_odds import plain_odds

            [swinging] = daemon.get(f"/v1/highlights?order=swing&game={old_event['gameId']}")["highlights"]
            chances = plain_odds(old)
            spans = [chances[old_event["startFrame"] - 1], chances[old_event["endFrame"]]]
            own = [chance if old_event["playerIndex"] == 0 else round(1 - chance, 4) for chance in spans]
            assert swinging == {**found, "odds": dict(zip(("before", "after"), own, strict=True))}
            combos = daemon.get("/v1/highlights/combos?order=swing&set=main")["queue"]
            assert [item["path"] for item in combos] == [str(new)]
        for missing in ("order=swing", "order=swing&station=main"):
            assert daemon.status(f"/v1/highlights?{missing}") == 422

        parameters = parse_qs(first["links"]["launcher"].partition("?")[2])
        assert parameters["startFrame"] == [str(new_event["startFrame"] - 120)]
        with urllib.request.urlopen(unquote(parameters["path"][0]), timeout=10) as response:
            assert response.read() == live()
        for unknown in (f"game={'f' * 32}", "set=unknown"):
            assert daemon.status(f"/v1/highlights?{unknown}") == 404
        assert daemon.get("/v1/highlights?station=unknown") == {"highlights": []}
