"""The situations that users see: on the websocket, in `/v1/situations` and among the highlights.

A daemon follows files that grow in random pieces, is killed, and finds files that were copied in: each time it has
exactly the situations of the finished files, in their order, each once.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from slpstream.api import open_replay
from tests.daemons.process import DaemonProcess, running
from tests.replays import SLP, needs_shared

pytestmark = needs_shared

QUERIES: Mapping[str, str] = {
    "kill": "kill",
    "missed kill": "hit, !kill, opponent.percent:>80",
    "chain": "hit -> hit, within:30f",
    "ledge": "offstage -> ledge-grab, within:5s",
    "grab": "grab -> throw",
    "shield": "opponent.shield, for:20f",
}
HIGHLIGHTS = {"kill": 80.0, "ledge": 55.5}
RAW_LENGTH = slice(11, 15)
"""Where the header of a file has the length of its events."""
Found = list[tuple[int, int, list[int], int]]


@cache
def expected(path: Path, query: str) -> Found:
    found = open_replay(path).situations(query)
    return [(each.player_index, each.opponent_index, list(each.frames), each.known_frame) for each in found]


def seen(messages: list[dict[str, Any]], name: str, game_id: str) -> Found:
    mine = [each for each in messages if each["name"] == name and each["gameId"] == game_id]
    assert [each["number"] for each in mine] == list(range(1, len(mine) + 1))
    return [(each["player"]["index"], each["opponent"]["index"], each["frames"], each["knownFrame"]) for each in mine]


def configuration(folder: Path) -> Path:
    tables = [f"[[stations]]\nid = 'main'\nfolder = '{folder}'\n"]
    for name, query in QUERIES.items():
        score = HIGHLIGHTS.get(name)
        tables.append(f"[[situations]]\nname = '{name}'\nquery = '{query}'\n")
        if score is not None:
            tables.append(f"highlight = true\nscore = {score}\n")
    file = folder.parent / "slpstream.toml"
    file.write_text("\n".join(tables))
    return file


class Watcher:
    """A websocket that keeps the `situation` messages, and the ids of the games that have begun and ended."""

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
    daemon.wait_ready()
    watcher = Watcher()
    with connect(daemon.stream_url(station="main", topics="game"), max_size=None, close_timeout=1) as socket:
        thread = threading.Thread(target=watcher.read, args=(socket,), daemon=True)
        thread.start()
        yield watcher
    thread.join()


def begin(target: Path, data: bytes) -> None:
    """Write the beginning of a file as a game does, which does not know the length yet."""
    target.write_bytes(data[: RAW_LENGTH.start] + bytes(4) + data[RAW_LENGTH.stop : 20_000])


def grow(target: Path, data: bytes, seed: int) -> None:
    """Append the rest of a file in random pieces."""
    rng = random.Random(seed)
    written = target.stat().st_size
    cuts = sorted(rng.sample(range(written + 1, len(data)), 25))
    for begin, end in zip([written, *cuts], [*cuts, len(data)], strict=True):
        with target.open("ab") as file:
            file.write(data[begin:end])
        time.sleep(rng.uniform(0, 0.02))


def end(target: Path, data: bytes) -> None:
    """Write the length into the header of a file, as a game does at its end."""
    with target.open("r+b") as file:
        file.seek(RAW_LENGTH.start)
        file.write(data[RAW_LENGTH])
    assert target.read_bytes() == data


def listed(daemon: DaemonProcess, path: str, key: str) -> list[dict[str, Any]]:
    """All items of a list, page after page."""
    found: list[dict[str, Any]] = []
    page = daemon.get(path)
    while True:
        found += page[key]
        if "next" not in page:
            return found
        page = daemon.get(f"{path}&cursor={page['next']}")


def check_lists(daemon: DaemonProcess, path: Path) -> None:
    """The lists have the situations of a finished file, each once."""
    game_id = open_replay(path).game_id
    wanted = {name: expected(path, query) for name, query in QUERIES.items()}
    total = sum(map(len, wanted.values()))
    address = f"/v1/situations?game={game_id}"
    daemon.until(lambda: len(listed(daemon, f"{address}&limit=200", "situations")) >= total, 60)
    found = listed(daemon, f"{address}&limit=7", "situations")[::-1]
    for name in QUERIES:
        assert seen(found, name, game_id) == wanted[name]
    assert len(found) == total
    daemon.until(lambda: len(daemon.get("/v1/games?limit=200")["games"]) > 0)
    of_game = listed(daemon, f"/v1/highlights?limit=5&game={game_id}", "highlights")
    best = listed(daemon, f"/v1/highlights?order=best&limit=5&game={game_id}", "highlights")
    key = "highlight"
    assert sorted(map(str, of_game)) == sorted(map(str, best))
    assert [each[key]["score"] for each in best] == sorted((each[key]["score"] for each in best), reverse=True)
    situations = [each for each in of_game if each[key]["of"] == "situation"][::-1]
    assert [each["number"] for each in situations] == list(range(100_000, 100_000 + len(situations)))
    for name, score in HIGHLIGHTS.items():
        mine = [each for each in situations if each[key]["situation"] == name]
        shown = [
            (each["player"]["index"], each["opponent"]["index"], each[key]["startFrame"], each[key]["endFrame"])
            for each in mine
        ]
        assert shown == [(own, other, frames[0], known) for own, other, frames, known in wanted[name]]
        assert {each[key]["score"] for each in mine} <= {score}
        assert all(each["links"]["launcher"].startswith("slippi://") for each in mine)
    assert {each[key]["situation"] for each in situations} <= set(HIGHLIGHTS)


@pytest.mark.process
def test_growing_files_give_the_situations_of_the_finished_files(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    with running(arguments=("--config", str(configuration(folder)))) as daemon, watching(daemon) as watcher:
        for seed, name in enumerate(("rollbackFrameTest", "doubles", "v2.0", "sheik_vs_ics_yoshis")):
            path = SLP / f"{name}.slp"
            data, game_id = path.read_bytes(), open_replay(path).game_id
            target = folder / path.name
            begin(target, data)
            daemon.until(lambda game_id=game_id: game_id in watcher.begun)  # type: ignore[misc]
            grow(target, data, seed)
            end(target, data)
            wanted = {name: expected(path, query) for name, query in QUERIES.items()}
            daemon.until(
                lambda game_id=game_id, wanted=wanted: all(  # type: ignore[misc]
                    len(seen(watcher.situations, name, game_id)) >= len(found) for name, found in wanted.items()
                ),
                60,
            )
            assert sum(map(len, wanted.values())) > 10
            check_lists(daemon, path)
            for query, found in wanted.items():
                assert seen(watcher.situations, query, game_id) == found
        newest = daemon.get("/v1/situations?station=main&name=kill&limit=1")["situations"][0]
        told = [each for each in watcher.situations if each["name"] == "kill"][-1]
        assert {**{key: told[key] for key in told if key != "type"}, "links": newest["links"]} == newest
        assert daemon.get("/v1/situations?station=other") == daemon.get("/v1/situations?name=other")
        assert daemon.get("/v1/situations?station=other") == {"situations": []}


@pytest.mark.slow
@pytest.mark.process
def test_restarts_and_copied_files(tmp_path: Path) -> None:
    folder, state = tmp_path / "main", tmp_path / "state"
    folder.mkdir()
    arguments = ("--config", str(configuration(folder)))
    played, copied = SLP / "rollbackFrameTest.slp", SLP / "test.slp"
    data, game_id = played.read_bytes(), open_replay(played).game_id
    target = folder / "played.slp"
    kills = expected(played, "kill")
    with running(arguments=arguments, state=state) as daemon, watching(daemon) as watcher:
        begin(target, data)
        daemon.until(lambda: game_id in watcher.begun)
        grow(target, data[: len(data) * 2 // 3], 2)
        daemon.until(lambda: bool(seen(watcher.situations, "kill", game_id)))
        before = listed(daemon, f"/v1/situations?game={game_id}", "situations")
        daemon.kill()
    with running(arguments=arguments, state=state) as daemon, watching(daemon) as watcher:
        after = listed(daemon, f"/v1/situations?game={game_id}", "situations")
        for each in (*before, *after):
            del each["links"]  # the name of a file that grows changes with it
        assert after[-len(before) :] == before
        grow(target, data, 3)
        end(target, data)
        daemon.until(lambda: game_id in watcher.ended)
        check_lists(daemon, played)
        kept = {each["number"] for each in before if each["name"] == "kill"}
        told = [each["number"] for each in watcher.situations if each["name"] == "kill"]
        assert kept.isdisjoint(told), "those from before the restart are no news"
        assert told == sorted(set(told))
        assert told[-1] == len(kills)
        (folder / "copied.slp").write_bytes(copied.read_bytes())
        check_lists(daemon, copied)
        news = [each for each in watcher.situations if each["gameId"] == open_replay(copied).game_id]
        assert news == [], "nobody plays it now"
        daemon.terminate()
    other = SLP / "v2.0.slp"
    (folder / "while_down.slp").write_bytes(other.read_bytes())
    with running(arguments=arguments, state=state) as daemon:
        daemon.wait_ready()
        for path in (played, copied, other):
            check_lists(daemon, path)
