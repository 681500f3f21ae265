"""`slpstream rehearse`: it predicts everything that the daemon sends to other programs, and sends nothing itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.parts.rehearse.rehearsal import play
from tests.cli.command_line import error_line, slpstream
from tests.daemons.process import configured
from tests.marks import release
from tests.parts.http_server import Response, serving
from tests.parts.obs.obs_double import FakeObs
from tests.ports import free_port
from tests.synthetic.match import synthetic_match

SPEED = 8.0
PAUSE_SECONDS = 2.0
DECIDED = (2, 7, 10)
"""Which of the matches are played to the end. The others are cut."""
SEEDS = (1, 13, 3, 4, 5, 6, 7, 8, 9, 10)
CHANGING = ("percent", "state.json")
"""Files that are written several times per second. How many of their states are seen depends on chance."""
RULES = """
[[obs_rules]]
on = "game_start"
station = "*"
scene = "Game"
text = {"Players" = "{player1} vs {player2}"}
[[obs_rules]]
on = "game_end"
station = "*"
scene = "Result"
[[obs_rules]]
on = "event"
event = "stock_lost"
station = "*"
save_replay = true
"""


def configuration(folder: Path, web: str, obs: int) -> str:
    (folder / "key").write_text("signing-key\n")
    (folder / "chat").write_text(f"{web}/chat\n")
    return f"""[obs]
folder = '{folder / "texts"}'
url = 'ws://127.0.0.1:{obs}'
{RULES}
[[webhooks]]
url = '{web}/hook'
secret_file = '{folder / "key"}'
[[chat]]
url_file = '{folder / "chat"}'
[[stations]]
id = 'setup'
folder = '{folder / "setup"}'
"""


class Sent:
    """Everything that was sent, by program, without times."""

    def __init__(self) -> None:
        self.requests: dict[str, list[Any]] = {"/hook": [], "/chat": []}
        self.sets: dict[tuple[str, int], Any] = {}
        """The last state of each set after a number of games. Earlier ones are skipped if they follow quickly."""
        self.obs: list[Any] = []
        self.files: dict[str, list[str]] = {}

    def take_request(self, path: str, content: Any) -> None:
        body = {key: value for key, value in content.items() if key != "at"}
        if body.get("type") == "set":
            self.sets[body["setId"], len(body["games"])] = body
        elif body not in self.requests[path][-1:]:
            self.requests[path].append(body)

    def take_file(self, name: str, content: str) -> None:
        states = self.files.setdefault(name, [])
        if not any(each in name for each in CHANGING) and states[-1:] != [content]:
            states.append(content)


def rehearsed(folder: Path, replays: Sequence[Path]) -> Sent:
    """The predictions of a rehearsal."""
    options = ["--json", "--speed", str(SPEED), "--pause", str(PAUSE_SECONDS)]
    done = slpstream("rehearse", folder / "slpstream.toml", *replays, *options)
    assert (done.returncode, done.stderr) == (0, "")
    sent = Sent()
    for line in map(json.loads, done.stdout.splitlines()):
        if line["section"] == "[[webhooks]] 1":
            sent.take_request("/hook", line["content"])
        elif line["section"] == "[[chat]] 1":
            sent.take_request("/chat", line["content"])
        elif line["what"] == "writes":
            name = Path(line["to"]).name
            if not line["game"]:
                sent.files.pop(name, None)  # only the last state before the first game counts
            sent.take_file(name, line["content"])
        else:
            assert line["section"] == "[obs]"
            sent.obs.append((line["what"], line["content"]))
    return sent


@contextmanager
def listening_obs(port: int) -> Iterator[FakeObs]:
    """The double of OBS, on a port."""
    obs = FakeObs(clock=trio_time)
    stopped, listening = threading.Event(), threading.Event()

    async def bridge(stream: trio.SocketStream) -> None:
        inner = await obs.connect("127.0.0.1", port)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pump, inner, stream, nursery.cancel_scope)
            await pump(stream, inner, nursery.cancel_scope)

    async def serve() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(obs.run)
            obs.start()
            await nursery.start(partial(trio.serve_tcp, bridge, port, host="127.0.0.1"))
            listening.set()
            while not stopped.is_set():
                await trio.sleep(0.05)
            nursery.cancel_scope.cancel()

    thread = threading.Thread(target=trio.run, args=(serve,))
    thread.start()
    assert listening.wait(30)
    try:
        yield obs
    finally:
        stopped.set()
        thread.join()


def trio_time() -> float:
    return trio.current_time()


async def pump(source: trio.abc.Stream, sink: trio.abc.Stream, scope: trio.CancelScope) -> None:
    try:
        while data := bytes(await source.receive_some(65536)):
            await sink.send_all(data)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    scope.cancel()


def really_sent(folder: Path, replays: Sequence[Path]) -> Sent:
    """Everything that the daemon sends to doubles while the same replays are played."""
    sent = Sent()

    def respond(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        sent.take_request(path, json.loads(body))
        return Response(200, b"{}")

    async def play_all(setup: Path) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            for number, replay in enumerate(replays, 1):
                await play(replay.read_bytes(), setup / f"Game_{number}.slp", SPEED)
                await trio.sleep(PAUSE_SECONDS)
            nursery.cancel_scope.cancel()

    async def look() -> None:
        while True:
            for file in (folder / "texts").rglob("*.*"):
                if not file.name.startswith(".") and file.is_file():
                    sent.take_file(file.name, file.read_text("utf-8"))
            await trio.sleep(0.05)

    port = free_port()
    with serving(respond) as web, listening_obs(port) as obs:
        (folder / "setup").mkdir()
        with configured(folder, configuration(folder, web, port)) as daemon:
            daemon.until(lambda: obs.requests)
            state = folder / "texts" / "setup" / "state.txt"
            daemon.until(lambda: state.exists() and state.read_text() == "idle")
            trio.run(play_all, folder / "setup")
    assert obs.complaints == []
    sent.obs = [request for request in obs.requests if not request[0].startswith("Get")]
    return sent


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.waits
@pytest.mark.parts("obs", "webhooks", "chat", "deliveries", "text_files")
@pytest.mark.parametrize("count", [2, *release(10)])
def test_prediction_is_what_the_daemon_sends(tmp_path: Path, count: int) -> None:
    replays = []
    for number, seed in enumerate(SEEDS[:count], 1):
        replays.append(tmp_path / f"replay_{number}.slp")
        frames = None if number in DECIDED else 480 + 60 * (number % 3)
        replays[-1].write_bytes(synthetic_match(seed=seed, frames=frames, stocks=1))
    real, predicted = tmp_path / "real", tmp_path / "predicted"
    real.mkdir()
    predicted.mkdir()
    (predicted / "slpstream.toml").write_text(configuration(predicted, "https://hooks.example", 4455))
    found: list[Sent] = []
    rehearsal = threading.Thread(target=lambda: found.append(rehearsed(predicted, replays)))
    rehearsal.start()
    sent = really_sent(real, replays)
    rehearsal.join()
    [prediction] = found
    assert [body["type"] for body in sent.requests["/hook"]].count("game_end") == len(replays)
    assert len(sent.requests["/chat"]) >= sum(number <= count for number in DECIDED)
    assert prediction.obs == sent.obs
    assert prediction.requests == sent.requests
    assert sent.sets
    assert prediction.sets == sent.sets
    assert prediction.files == sent.files
    assert [kind for kind, _ in sent.obs].count("SetCurrentProgramScene") >= len(replays)
    assert {each.name for each in predicted.iterdir()} == {"slpstream.toml", "key", "chat"}, "it writes nothing"


@pytest.mark.process
@pytest.mark.waits
@pytest.mark.parts("obs", "webhooks", "chat", "deliveries", "text_files", "on_air")
def test_says_what_is_sent_when_and_why_and_sends_nothing(tmp_path: Path) -> None:
    replay = tmp_path / "Game_1.slp"
    replay.write_bytes(synthetic_match(frames=300, stocks=1))
    received: list[str] = []

    def respond(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        received.append(path)
        return Response(200)

    with serving(respond) as web:
        on_air = configuration(tmp_path, web, free_port()).replace('station = "*"\n', "")
        (tmp_path / "slpstream.toml").write_text(on_air)
        before = {each.name for each in tmp_path.iterdir()}
        done = slpstream("rehearse", tmp_path / "slpstream.toml", replay, "--speed", "20", "--pause", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert received == []
    assert {each.name for each in tmp_path.iterdir()} == before
    [scene] = [line for line in done.stdout.splitlines() if '"Game"' in line]
    assert re.fullmatch(
        r'Game_1\.slp 0:\d\d\.\d  \[obs\] SetCurrentProgramScene 127\.0\.0\.1:\d+ {"sceneName":"Game"}, '
        r"because of \[\[obs_rules\]\] 1",
        scene,
    )
    assert f"[[webhooks]] 1 POST {web.removeprefix('http://')}" in done.stdout
    assert '[obs] writes texts/setup/stage.txt "Battlefield"' in done.stdout


def test_refuses_files_that_are_no_slippi_replays(tmp_path: Path) -> None:
    (tmp_path / "slpstream.toml").write_text("")
    (tmp_path / "Game_1.slp").write_bytes(b"no replay")
    done = slpstream("rehearse", tmp_path / "slpstream.toml", tmp_path / "Game_1.slp")
    assert done.returncode == 1
    assert "Game_1.slp" in error_line(done)


ESCAPES = """
import os, socket, sys
from pathlib import Path
from slpstream.parts.rehearse.containment import contained
folder = Path(sys.argv[1])
inside = folder / "inside"
inside.mkdir()
(folder / "old").write_text("")
def escapes():
    yield lambda: socket.create_connection(("192.0.2.1", 9), 1)
    yield lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"", ("192.0.2.1", 9))
    yield lambda: socket.socket(type=socket.SOCK_DGRAM).connect(("192.0.2.1", 9))
    yield lambda: (folder / "new").write_text("")
    yield lambda: (inside / ".." / "new").write_bytes(b"")
    yield lambda: os.open(folder / "new", os.O_CREAT | os.O_WRONLY)
    yield lambda: (folder / "old").unlink()
    yield lambda: (folder / "old").rename(inside / "old")
    yield lambda: (folder / "new").mkdir()
with contained(inside):
    for escape in escapes():
        try:
            escape()
        except PermissionError:
            print("refused")
    (inside / "new").write_text("")
    (inside / "new").unlink()
(folder / "afterwards").write_text("")
"""


def test_safety_net_refuses_connections_and_changes_of_files(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ESCAPES, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout) == ("", "refused\n" * 9)
    assert {each.name for each in tmp_path.iterdir()} == {"inside", "old", "afterwards"}
