"""A stand-in for TournamentStreamHelper (TSH) that refuses every request that TSH would not understand.

It imitates the sources of joaorb64/TournamentStreamHelper: the addresses of `TSHWebServer.py`, and the effects of
`ChangeSetData` in `TSHScoreboardWidget.py`. `/score` is in the order of the entrants in older versions and in the order
on screen in newer ones. Values take effect after the answer, when the state is read the second time, because TSH passes
them to its window's thread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

import trio

from slpstream.formats.slippi.names import characters
from slpstream.model.errors import SinkError
from slpstream.system.http_client import PostResponse
from tests.parts.http_server import Response, serving

Version = Literal["unnumbered", "entrants", "screen"]
"""Versions: very old, with one scoreboard without a number; older, with `/score` in the order of entrants; newer."""
VERSIONS: tuple[Version, ...] = ("unnumbered", "entrants", "screen")
NAMES = {characters()[id].name for id in range(26)}
PLAYER_KEYS: dict[str, type] = {"gamerTag": str, "prefix": str, "pronoun": str, "mains": dict}


class HelperDouble:
    """One TSH. Every value is on screen, with team 1 on the left."""

    def __init__(self, version: Version = "screen", *, number: int = 1) -> None:
        self.version = version
        self.number = number
        self.away = False
        self.half_reads = 0
        """The number of reads that find a half-written state."""
        self.requests: list[str] = []
        """Method and path of each changing request."""
        self.swapped = False
        self.state: dict[str, Any] = {}
        self._waiting: list[Any] = []
        self.restart()

    def restart(self) -> None:
        """Restart TSH, with nothing on screen."""
        self.swapped = False
        self._waiting.clear()
        team = {"score": 0, "teamName": "", "losers": False, "color": "", "player": {"1": _new_player()}}
        self.state = {"best_of": 0, "match": "", "phase": "", "team": {"1": team, "2": json.loads(json.dumps(team))}}

    async def __call__(self, method: str, path: str, body: bytes) -> PostResponse:
        await trio.lowlevel.checkpoint()
        if self.away:
            raise SinkError("Connection refused")
        return self.respond(method, path, body)

    def respond(self, method: str, path: str, body: bytes) -> PostResponse:
        """The response to a request."""
        url = urlsplit(path)
        prefix = "/" if self.version == "unnumbered" else f"/scoreboard{self.number}-"
        numbered = self.version != "unnumbered"
        if numbered and (method, path) == ("GET", f"{prefix}get"):
            response = PostResponse(200, "", json.dumps(self.state).encode())
            self._take_over()
            return response
        if (method, path) == ("GET", "/out/program_state.json"):
            return PostResponse(200, "", self._program_state())
        if numbered and (method, path) == ("GET", f"{prefix}get-swap"):
            return PostResponse(200, "", str(self.swapped).encode())
        if method == "GET" and url.path != f"{prefix}set":
            return PostResponse(404, "")  # the file does not exist
        self.requests.append(f"{method} {path}")
        if (method, url.path) == ("GET", f"{prefix}set"):
            self._set(dict(parse_qsl(url.query, strict_parsing=True)))
        elif (method, path) == ("POST", "/score"):
            self._score(json.loads(body))
        elif method == "POST" and (found := re.fullmatch(rf"{prefix}update-team-([12])-([1-9])", path)):
            self._update(found[1], found[2], json.loads(body))
        else:
            raise AssertionError(f"TSH has no {method} {path}")
        return PostResponse(200, "", b"OK")

    def swap_teams(self) -> None:
        """Press *Swap Teams*."""
        self.swapped = not self.swapped
        teams = self.state["team"]
        teams["1"], teams["2"] = teams["2"], teams["1"]

    def name(self, team: int, name: str, player: int = 1) -> None:
        """Type a name, or load it from a bracket."""
        self.state["team"][str(team)]["player"][str(player)]["name"] = name

    @property
    def names(self) -> list[list[str]]:
        self._take_over()
        return [[each["name"] for each in self.state["team"][key]["player"].values()] for key in ("1", "2")]

    @property
    def score(self) -> list[int]:
        self._take_over()
        return [self.state["team"][key]["score"] for key in ("1", "2")]

    @property
    def characters(self) -> list[list[tuple[str, int] | None]]:
        self._take_over()
        players = [self.state["team"][key]["player"].values() for key in ("1", "2")]
        return [[each["character"]["1"].get("of_game") for each in team] for team in players]

    def _take_over(self) -> None:
        for change in self._waiting:
            change()
        self._waiting.clear()

    def _program_state(self) -> bytes:
        score = self.state if self.version == "unnumbered" else {"ruleset": {}, str(self.number): self.state}
        whole = json.dumps({"score": score, "game": {"codename": "ssbm"}, "timestamp": 1.5}, indent=2).encode()
        if self.half_reads:
            self.half_reads -= 1
            return whole[: len(whole) // 2]
        self._take_over()
        return whole

    def _set(self, query: dict[str, str]) -> None:
        assert query
        assert query.keys() <= {"best-of", "match", "phase", "players", "characters"}, query
        if "players" in query:
            for team in self.state["team"].values():
                there = team["player"]
                wanted = int(query["players"])
                team["player"] = {str(n): there.get(str(n), _new_player()) for n in range(1, wanted + 1)}
        if "best-of" in query:
            self._waiting.append(lambda: self.state.update(best_of=int(query["best-of"])))
        if "match" in query:
            self._waiting.append(lambda: self.state.update(match=query["match"]))

    def _score(self, body: dict[str, Any]) -> None:
        assert body.keys() == {"team1score", "team2score", "scoreboard"}, body
        assert all(type(value) is int for value in body.values()), body
        if self.version != "unnumbered":
            assert body["scoreboard"] == self.number

        def change() -> None:
            reverse = self.swapped and self.version != "screen"
            for key, shown in (("team1score", "2" if reverse else "1"), ("team2score", "1" if reverse else "2")):
                self.state["team"][shown]["score"] = body[key]

        self._waiting.append(change)

    def _update(self, team: str, player: str, body: dict[str, Any]) -> None:
        assert body
        assert body.keys() <= PLAYER_KEYS.keys(), body
        for key, value in body.items():
            assert isinstance(value, PLAYER_KEYS[key]), body
            assert value, "TSH ignores empty values"
        for character, costume in body.get("mains", {"ssbm": []})["ssbm"]:
            assert character in NAMES
            assert type(costume) is int

        def change() -> None:
            of_player = self.state["team"][team]["player"].get(player)
            assert of_player is not None, f"no slot for player {player}"
            of_player["name"] = body.get("gamerTag", of_player["name"])
            of_player["team"] = body.get("prefix", of_player["team"])
            if "mains" in body:
                [main] = body["mains"]["ssbm"]
                of_player["character"] = {"1": {"name": main[0], "of_game": (main[0], main[1])}}

        self._waiting.append(change)


def _new_player() -> dict[str, Any]:
    return {"name": "", "team": "", "pronoun": "", "character": {"1": {"name": ""}}}


@contextmanager
def served(double: HelperDouble) -> Iterator[str]:
    """Serve a double on a free port during the block, and return its address."""

    def respond(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        response = double.respond(method, path, body)
        return Response(response.status, response.body)

    with serving(respond) as address:
        yield address
