"""Situations on the websocket, in `/v1/situations`, among the highlights and as marks.

A daemon follows files that grow in random pieces, is killed, and finds copied files. Each time it has exactly the
situations of the finished files, in order, each once.
"""

from __future__ import annotations

import json
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from slpstream.api import open_replay
from slpstream.config import Config
from slpstream.model.errors import ConfigError
from slpstream.parts.situations.part import Situation
from tests.daemons.hosts import parts_of
from tests.daemons.played_game import PlayedGame, game_id_of
from tests.daemons.process import DaemonProcess, configured
from tests.project import has_part
from tests.replays import SLP
from tests.synthetic.match import synthetic_match

QUERIES: Mapping[str, str] = {
    "kill": "kill",
    "missed kill": "hit, !kill, opponent.percent:>80",
    "chain": "hit -> hit, within:30f",
    "ledge": "offstage -> ledge-grab, within:5s",
    "grab": "grab -> throw",
    "shield": "opponent.shield, for:20f",
    **({"swing": "hit, swing:>2"} if has_part("odds") else {}),
}
MORE: Mapping[str, str] = {
    "kill": "mark = true\nhighlight = true\nscore = 80.0",
    "ledge": "highlight = true\nscore = 55.5",
}
SCORES = {"kill": 80.0, "ledge": 55.5}
REAL = [path for name in ("doubles", "v2.0", "sheik_vs_ics_yoshis") if (path := SLP / f"{name}.slp").exists()]
Found = list[tuple[int, int, list[int], int]]


@cache
def expected(data: bytes, query: str) -> Found:
    """The situations in a finished file."""
    with tempfile.NamedTemporaryFile(suffix=".slp") as file:
        file.write(data)
        file.flush()
        found = open_replay(file.name).situations(query)
    return [(each.player_index, each.opponent_index, list(each.frames), each.known_frame) for each in found]


@pytest.fixture(scope="module")
def games() -> list[bytes]:
    """Games of two and of four players, the first with rollbacks, and real games if available."""
    return [
        synthetic_match(seed=3, frames=3000, rollbacks=True),
        synthetic_match(seed=5, frames=1800, players=4, teams=True),
        synthetic_match(seed=7, frames=2400),
        *(path.read_bytes() for path in REAL),
    ]


def seen(messages: list[dict[str, Any]], name: str, game_id: str) -> Found:
    mine = [each for each in messages if each["name"] == name and each["gameId"] == game_id]
    assert [each["number"] for each in mine] == list(range(1, len(mine) + 1))
    return [(each["player"]["index"], each["opponent"]["index"], each["frames"], each["knownFrame"]) for each in mine]


def searching(folder: Path) -> AbstractContextManager[DaemonProcess]:
    """A daemon that searches for situations."""
    (folder / "main").mkdir(exist_ok=True)
    tables = (
        f"[[situations]]\nname = '{name}'\nquery = '{query}'\n{MORE.get(name, '')}\n"
        for name, query in (*QUERIES.items(), ("nobody", "pichu: hit"))
    )
    elsewhere = "[[situations]]\nname = 'elsewhere'\nquery = 'hit'\nstations = ['other']\n"
    return configured(folder, "".join(tables) + elsewhere, folder / "main")


class Watcher:
    """A websocket client that keeps the `situation` messages, and the ids of games that have begun and ended."""

    def __init__(self) -> None:
        self.situations: list[dict[str, Any]] = []
        self.begun: list[str] = []
        self.ended: list[str] = []

    def read(self, socket: ClientConnection) -> None:
        """Read until the connection is closed."""
        kept = {"game_start": self.begun, "snapshot": self.begun, "game_end": self.ended}
        try:
            for line in socket:
                message = json.loads(line)
                if message["type"] == "situation":
                    self.situations.append(message)
                elif message["type"] in kept:
                    kept[message["type"]].append(message["gameId"])
        except ConnectionClosed:
            pass


@contextmanager
def watching(daemon: DaemonProcess) -> Iterator[Watcher]:
    watcher = Watcher()
    with connect(daemon.stream_url(station="main", topics="game"), max_size=None, close_timeout=1) as socket:
        thread = threading.Thread(target=watcher.read, args=(socket,), daemon=True)
        thread.start()
        yield watcher
    thread.join()


def grow(game: PlayedGame, until_bytes: int, chance: random.Random) -> None:
    """Write a game up to this size in random pieces."""
    for cut in sorted(chance.sample(range(game.size_bytes + 1, until_bytes), 25)):
        game.write(cut - game.size_bytes)
        time.sleep(chance.uniform(0, 0.02))


def listed(daemon: DaemonProcess, path: str, key: str) -> list[dict[str, Any]]:
    """All items of a list, page after page."""
    found: list[dict[str, Any]] = []
    page = daemon.get(path)
    while True:
        found += page[key]
        if "next" not in page:
            return found
        page = daemon.get(f"{path}&cursor={page['next']}")


def check_lists(daemon: DaemonProcess, data: bytes) -> None:
    """The lists have the situations of a finished file, each once."""
    game_id = game_id_of(data)
    wanted = {name: expected(data, query) for name, query in QUERIES.items()}
    total = sum(map(len, wanted.values()))
    address = f"/v1/situations?game={game_id}"
    daemon.until(lambda: len(listed(daemon, f"{address}&limit=200", "situations")) >= total)
    found = listed(daemon, f"{address}&limit=7", "situations")[::-1]
    for name in QUERIES:
        assert seen(found, name, game_id) == wanted[name]
    assert len(found) == total > 5
    daemon.until(lambda: len(daemon.get("/v1/games?limit=200")["games"]) > 0)
    of_game = listed(daemon, f"/v1/highlights?limit=5&game={game_id}", "highlights")
    best = listed(daemon, f"/v1/highlights?order=best&limit=5&game={game_id}", "highlights")
    key = "highlight"
    assert sorted(map(str, of_game)) == sorted(map(str, best))
    assert [each[key]["score"] for each in best] == sorted((each[key]["score"] for each in best), reverse=True)
    situations = [each for each in of_game if each[key]["of"] == "situation"][::-1]
    assert [each["number"] for each in situations] == list(range(100_000, 100_000 + len(situations)))
    for name, score in SCORES.items():
        mine = [each for each in situations if each[key]["situation"] == name]
        shown = [
            (each["player"]["index"], each["opponent"]["index"], each[key]["startFrame"], each[key]["endFrame"])
            for each in mine
        ]
        assert shown == [(own, other, frames[0], known) for own, other, frames, known in wanted[name]]
        assert {each[key]["score"] for each in mine} <= {score}
        assert all(each["links"]["launcher"].startswith("slippi://") for each in mine)
    assert {each[key]["situation"] for each in situations} <= set(SCORES)


def test_growing_files_give_the_situations_of_the_finished_files(tmp_path: Path, games: list[bytes]) -> None:
    with searching(tmp_path) as daemon, watching(daemon) as watcher:
        for seed, data in enumerate(games):
            game = PlayedGame(tmp_path / "main" / f"Game_{seed}.slp", data)
            game.write(20_000)
            daemon.until(lambda game=game: game.game_id in watcher.begun)  # type: ignore[misc]
            grow(game, len(data), random.Random(seed))
            game.end()
            wanted = {name: expected(data, query) for name, query in QUERIES.items()}
            daemon.until(
                lambda game=game, wanted=wanted: all(  # type: ignore[misc]
                    len(seen(watcher.situations, name, game.game_id)) >= len(found) for name, found in wanted.items()
                )
            )
            check_lists(daemon, data)
            for query, found in wanted.items():
                assert seen(watcher.situations, query, game.game_id) == found
        newest = daemon.get("/v1/situations?station=main&name=kill&limit=1")["situations"][0]
        kills = [each for each in watcher.situations if each["name"] == "kill"]
        told = kills[-1]
        assert {**{key: told[key] for key in told if key != "type"}, "links": newest["links"]} == newest
        assert daemon.get("/v1/situations?station=other") == daemon.get("/v1/situations?name=elsewhere")
        assert daemon.get("/v1/situations?station=other") == daemon.get("/v1/situations?name=nobody")
        assert daemon.get("/v1/situations?station=other") == {"situations": []}
        daemon.until(lambda: len(daemon.get("/v1/stations/main/marks")["marks"]) == len(kills))
        marks = daemon.get("/v1/stations/main/marks")["marks"]
        assert {(mark["gameId"], mark["frame"], mark["words"]) for mark in marks} == {
            (kill["gameId"], kill["frames"][-1], "kill") for kill in kills
        }
        assert f'slpstream_situations_total{{station="main"}} {len(watcher.situations)}.0' in daemon.text("/metrics")


def test_restarts_and_copied_files(tmp_path: Path, games: list[bytes]) -> None:
    played, copied, other = games[:3]
    game = PlayedGame(tmp_path / "main" / "played.slp", played)
    kills = expected(played, "kill")
    chance = random.Random(2)
    with searching(tmp_path) as daemon, watching(daemon) as watcher:
        game.write(20_000)
        daemon.until(lambda: game.game_id in watcher.begun)
        grow(game, len(played) * 2 // 3, chance)
        daemon.until(lambda: bool(seen(watcher.situations, "kill", game.game_id)))
        before = listed(daemon, f"/v1/situations?game={game.game_id}", "situations")
        daemon.kill()
    with searching(tmp_path) as daemon, watching(daemon) as watcher:
        after = listed(daemon, f"/v1/situations?game={game.game_id}", "situations")
        for each in (*before, *after):
            del each["links"]  # the name of a growing file changes with its size
        assert after[-len(before) :] == before
        grow(game, len(played), chance)
        game.end()
        daemon.until(lambda: game.game_id in watcher.ended)
        check_lists(daemon, played)
        kept = {each["number"] for each in before if each["name"] == "kill"}
        told = [each["number"] for each in watcher.situations if each["name"] == "kill"]
        assert kept.isdisjoint(told), "those from before the restart are no news"
        assert told == sorted(set(told))
        assert told[-1:] in ([], [len(kills)])
        assert len(daemon.get("/v1/stations/main/marks")["marks"]) <= len(kills)
        (tmp_path / "main" / "copied.slp").write_bytes(copied)
        check_lists(daemon, copied)
        news = [each for each in watcher.situations if each["gameId"] == game_id_of(copied)]
        assert news == [], "nobody plays it now"
        daemon.terminate()
    (tmp_path / "main" / "while_down.slp").write_bytes(other)
    with searching(tmp_path) as daemon:
        for data in (played, copied, other):
            check_lists(daemon, data)


def test_an_invalid_query_is_a_configuration_error_that_names_key_and_place() -> None:
    situations = [Situation(name="kill", query="kill"), Situation(name="typo", query="fox: upthow")]
    with pytest.raises(ConfigError) as refused:
        parts_of(Config(parts={"situations": situations}))
    assert refused.value.key == "situations[1].query"
    assert "at character 6, 'upthow'" in refused.value.expected
