"""No response contains a path of the server, and only indexed files are served.

The one exception is `/v1/setup`, which shows operators the paths of their folders.

The folders of a real daemon, in which everything fails that can fail, have unique names. Every response of every
endpoint and every message of every stream is searched for these names.
"""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from slpstream.formats.slippi.framing import event_payloads_of
from slpstream.parts.demo.endpoints import PATH
from tests.daemons.process import DaemonProcess, running
from tests.project import ROOT
from tests.synthetic.match import synthetic_match

MARK = "hidden-place"
CONFIG = """
[web]
overlay_folder = "{root}/{mark}-overlay"
[[stations]]
id = "main"
folder = "{root}/{mark}-main"
[[stations]]
id = "absent"
folder = "{root}/{mark}-absent"
[[stations]]
id = "file"
folder = "{root}/{mark}-file"
"""
ODD_IDS = ("0" * 32, "x", "..%2f..%2fetc%2fpasswd", "%00", "%2e%2e", "A" * 5000, "{game}/../{game}")
TRAVERSALS = (
    "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/%252e%252e/app.py",
    "/static//etc/passwd",
    "/custom/../{mark}-main/good.slp", "/custom/..%2f{mark}-main%2fgood.slp", "/custom/%2e%2e/{mark}-main/good.slp",
    "/custom/link.css", "/custom/page.slp", "/custom/%00.css", "/custom/" + "x" * 300 + ".css", "/custom/folder.css",
    "/v1/games/../../etc/passwd", "/v1/games/{game}/replay/../../../etc/passwd", "/v1/games//etc/passwd/replay",
)  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    main, overlay = root / f"{MARK}-main", root / f"{MARK}-overlay"
    for folder in (main, overlay, root / f"{MARK}-state", root / f"{MARK}-file"):
        folder.mkdir()
    good = synthetic_match(seed=1, frames=300)
    (main / "good.slp").write_bytes(good)
    (main / "cut.slp").write_bytes(synthetic_match(seed=2, frames=300)[:-4000])
    (main / "wrong.slp").write_bytes(synthetic_match(seed=3, frames=300)[:-9000] + b"\x77" * 9000)  # no such command
    (main / "none.slp").write_bytes(b"this is no replay at all")
    (main / "gone.slp").symlink_to(root / f"{MARK}-nothing.slp")
    outside = root / f"{MARK}-outside.slp"
    outside.write_bytes(synthetic_match(seed=4, frames=200))
    (main / "changed.slp").write_bytes(synthetic_match(seed=5, frames=200))
    (overlay / "own.css").write_text("body {}")
    (overlay / "page.slp").write_bytes(good)
    (overlay / "folder.css").mkdir()
    (overlay / "link.css").symlink_to(main / "good.slp")
    return root


@pytest.fixture(scope="module")
def daemon(root: Path) -> Iterator[DaemonProcess]:
    config = root / "slpstream.toml"
    config.write_text(CONFIG.format(root=root, mark=MARK))
    with running(arguments=("--config", str(config)), state=root / f"{MARK}-state") as process:
        process.until(lambda: process.get("/v1/stations/main")["state"] != "offline")
        (root / f"{MARK}-file").rmdir()
        (root / f"{MARK}-file").write_text("no folder any more")
        process.until(lambda: process.get("/v1/stations/file")["state"] == "offline")
        process.until(lambda: len(process.get("/v1/games")["games"]) >= 3)
        yield process


def ask(daemon: DaemonProcess, target: str, **headers: str) -> tuple[int, str, bytes]:
    """Status, all headers, body."""
    request = urllib.request.Request(daemon.url + target, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, str(answer.headers), answer.read(2_000_000)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, str(error.headers), error.read()


def game_of(daemon: DaemonProcess, file_name: str) -> str:
    """The id of the game in a file."""
    for listed in daemon.get("/v1/games")["games"]:
        game: dict[str, Any] = daemon.get(f"/v1/games/{listed['gameId']}")
        if file_name in [file["name"] for file in game["files"]]:
            found: str = game["gameId"]
            return found
    raise AssertionError(f"{file_name} is not in the index")


def names(root: Path) -> re.Pattern[bytes]:
    """Names that no response may contain: our folders, and those of the program, of Python and of the user."""
    program = ROOT
    places = {MARK, str(root), str(program), str(Path(os.__file__).parent), str(Path.home()), "site-packages"} - {"/"}
    return re.compile(b"|".join(re.escape(os.fsencode(place)) for place in places))


@pytest.mark.slow
def test_no_response_contains_a_path(daemon: DaemonProcess, root: Path) -> None:
    secret = names(root)
    description = daemon.get("/openapi.json")
    games = [listed["gameId"] for listed in daemon.get("/v1/games")["games"]]
    stations = ["main", "absent", "file", "third", "..%2f", "%00"]
    targets = ["/", *(f"/overlay/{station}" for station in stations), "/nothing", "/custom/own.css", "/custom/no.css"]
    for path in description["paths"]:
        if path in ("/v1/events", PATH):
            continue
        is_stream = "text/event-stream" in json.dumps(description["paths"][path])  # which only ends with the daemon
        ids = [*games, *(odd.format(game=games[0]) for odd in ODD_IDS)] if "{gameId}" in path else stations
        for wanted in ids if "{" in path else [""]:
            target = re.sub(r"{\w+}", lambda _, wanted=wanted: wanted, path)  # type: ignore[misc]
            targets += [] if is_stream else [target]
            targets += [f"{target}?unknown=1", f"{target}?from=x&limit=-1&since=never&cursor=x"]
    targets += [f"/v1/events?station={station}" for station in ("third", "%00", "")]
    targets += [f"/v1/events?station=main&cursor={cursor}" for cursor in ("x", f"{'0' * 32}/l0.0")]
    traversals = {target.format(game=games[0], mark=MARK) for target in TRAVERSALS}
    targets += sorted(traversals)
    replay = (root / f"{MARK}-main" / "good.slp").read_bytes()
    assert ask(daemon, "/custom/own.css")[2] == b"body {}"
    seen: dict[int, int] = {}
    for target in targets:
        for headers in ({}, {"Range": "bytes=99999999-"}, {"Host": "evil.example"}):
            status, head, body = ask(daemon, target, **headers)
            seen[status] = seen.get(status, 0) + 1
            # A response may repeat the requested name, but reveal no other name.
            response = head.encode() + body.replace(target.encode(), b"")
            if MARK not in target:
                assert not secret.search(response), (target, status, response[:500])
            if target in traversals:
                assert status in (400, 404, 421), target
                assert replay not in body
                assert b"root:" not in body
            assert status < 500 or target.startswith("/readyz"), (target, status, body)
    assert {200, 404, 416, 421, 422} <= seen.keys(), seen
    assert ask(daemon, "/readyz")[0] == 503, "/readyz must contain reasons"


QUERIES = (
    {"station": "*", "delivery": "lossless", "cursor": "start"},
    {"station": "absent"},
    {"station": "file"},
    {"station": "third"},
    {"station": "main", "cursor": "x"},
    {"station": "main", "cursor": "{gone}/l0.0", "delivery": "lossless"},
    {"station": "main", "cursor": "{game}/l0.0", "delivery": "lossless"},
    {"station": "main", "cursor": "{wrong}/l0.0", "delivery": "lossless"},
)


@pytest.mark.slow
def test_no_message_contains_a_path(daemon: DaemonProcess, root: Path) -> None:
    secret = names(root)
    ids = {"gone": "0" * 32, "game": game_of(daemon, "good.slp"), "wrong": game_of(daemon, "wrong.slp")}
    types: set[str] = set()
    damaged = bytearray(synthetic_match(seed=6, frames=100))
    found = event_payloads_of(bytes(damaged))
    assert found is not None
    damaged[found[1]] = 0x77  # instead of Game Start
    for query in QUERIES:
        url = daemon.stream_url(**{key: value.format(**ids) for key, value in query.items()})
        with connect(url, max_size=None, close_timeout=0.2) as socket:
            ending, patience = "", 0.3
            if query is QUERIES[0]:
                patience = 1.0
                (root / f"{MARK}-main" / "later.slp").write_bytes(damaged)
            try:
                while True:
                    message = socket.recv(timeout=patience)
                    data = message.encode() if isinstance(message, str) else message
                    assert not secret.search(data), data[:500]
                    types.add(json.loads(data)["type"])
            except (TimeoutError, ConnectionClosed) as end:
                ending = str(end)
            assert not secret.search(ending.encode())
    assert {"hello", "station", "error", "game_start", "frame", "diagnostic"} <= types


def test_replaced_files_are_not_served(daemon: DaemonProcess, root: Path) -> None:
    """A file that became a link, or another game, is not served under the id of the old game."""
    main = root / f"{MARK}-main"
    game = game_of(daemon, "good.slp")
    changed = game_of(daemon, "changed.slp")
    assert ask(daemon, f"/v1/games/{game}/replay")[2] == (main / "good.slp").read_bytes()
    assert ask(daemon, f"/v1/games/{changed}/replay")[0] == 200
    (main / "changed.slp").unlink()
    (main / "changed.slp").symlink_to(root / f"{MARK}-outside.slp")
    status, _, body = ask(daemon, f"/v1/games/{changed}/replay")
    assert (status, json.loads(body)["status"]) == (404, 404)
    (main / "changed.slp").unlink()
    (main / "changed.slp").symlink_to("/etc/passwd")
    assert ask(daemon, f"/v1/games/{changed}/replay")[0] == 404
    (main / "changed.slp").unlink()
    os.mkfifo(main / "changed.slp")
    assert ask(daemon, f"/v1/games/{changed}/replay")[0] == 404
    (main / "changed.slp").unlink()
