"""Every part that is restarted after a bug works again: all of them fail together, and then all work."""

from __future__ import annotations

import contextlib
import json
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
import trio

from slpstream.config import Config, Server, StationConfig, Store, Watch
from slpstream.config.sections import Recordings
from slpstream.daemon.daemon import Daemon
from slpstream.parts.bracket.part import Bracket
from slpstream.parts.chat.part import Chat
from slpstream.parts.consoles.discovery import write_call
from slpstream.parts.consoles.part import NetworkKeys, Relay
from slpstream.parts.controllers.part import Controllers
from slpstream.parts.handover.part import Handover
from slpstream.parts.jsonl.part import JsonLines
from slpstream.parts.obs.part import Obs, ObsRule
from slpstream.parts.playback_dolphin.part import Playback
from slpstream.parts.scoreboards.part import Scoreboard
from slpstream.parts.seats.part import Seats
from slpstream.parts.situations.part import Situation
from slpstream.parts.text_files.part import ObsFolder
from slpstream.parts.verify.part import Verify
from slpstream.parts.webhooks.part import Webhook
from slpstream.system import logs
from slpstream.system.internal_errors import InternalErrors
from tests.daemons.station import TIMEOUT_SECONDS, until
from tests.faults.blast_radius import Bug, Receiver
from tests.formats.slippi.built import Built
from tests.parts.consoles.wii import Wii, raw_of
from tests.parts.http_server import serving
from tests.ports import free_port
from tests.sets.games import ANN_AND_BOB, replay

pytestmark = [pytest.mark.trio, pytest.mark.slow]


class Failures:
    """Makes each part that runs under `InternalErrors.keep_running` fail once, in the middle of its work."""

    def __init__(self) -> None:
        self.now = trio.Event()
        self.ran = Counter[str]()
        """The number of injected failures of each kind of part."""
        self.ran_again = Counter[str]()
        """How often parts of each kind have begun since the failures."""

    @contextlib.contextmanager
    def injected(self) -> Iterator[None]:
        original = InternalErrors.keep_running

        async def keep_running(
            errors: InternalErrors, part: Any, run: Callable[[], Awaitable[object]], **options: Any
        ) -> None:
            async def fail_once() -> None:
                if self.now.is_set():
                    self.ran_again[part] += 1
                    await run()
                    return
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(run)
                    await self.now.wait()
                    self.ran[part] += 1
                    raise Bug(part)

            await original(errors, part, fail_once, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(InternalErrors, "keep_running", keep_running)
            yield


def counted(daemon: Daemon) -> Counter[str]:
    """The internal errors of a daemon by part."""
    page = daemon.host.metrics.render(["slpstream_internal_errors_total"]).decode()
    rows = [line.partition("}") for line in page.splitlines() if line.startswith("slpstream_internal_errors_total{")]
    return Counter({head.split('"')[1]: int(float(value)) for head, _, value in rows if float(value)})


def config_of(folder: Path, url: str, relay: Relay) -> Config:
    """A configuration with every part that works without other programs."""
    secret, chat = folder / "secret", folder / "chat"
    secret.write_text("x" * 32)
    chat.write_text(f"{url}/chat")
    return Config(
        server=Server(port=0),
        store=Store(folder=str(folder / "state")),
        recordings=Recordings(folder=str(folder / "recordings")),
        watch=Watch(scan_seconds=0.2),
        parts={
            "relay": [relay],
            "bracket": [
                Bracket(
                    kind="webhook",
                    url=f"{url}/bracket",
                    token_file=str(secret),
                    report=True,
                    confirm=False,
                    hold_seconds=0.0,
                )
            ],
            "handover": [Handover(folder=str(folder / "zips"), delay_seconds=0.0)],
            "seats": [Seats(on=True, address="http://127.0.0.1:5151")],
            "playback": [Playback(file=str(folder / "playback.txt"), station="main")],
            "controllers": [Controllers(check=True)],
            "verify": [Verify(finished_games=True)],
            "jsonl": [JsonLines(folder=str(folder / "jsonl"))],
            "obs_rules": [ObsRule(on="game_start", station="main", scene="Game")],
            "webhooks": [Webhook(url=f"{url}/hook", secret_file=str(secret))],
            "chat": [Chat(url_file=str(chat))],
            "situations": [Situation(name="kill", query="kill")],
            "scoreboards": [Scoreboard(kind="text", station="main", path=str(folder / "scoreboard"))],
            "obs": [ObsFolder(folder=str(folder / "obs")), Obs(url=f"ws://127.0.0.1:{free_port()}")],
        },
    )


@pytest.fixture(autouse=True)
def log(tmp_path: Path) -> Iterator[None]:
    """Write the log with its tracebacks to a file."""
    with (tmp_path / "log").open("w") as log:
        logs.configure("json", "info", log)
        yield
        structlog.reset_defaults()


async def test_every_restarted_part_works_again(tmp_path: Path) -> None:
    receiver, failures = Receiver(), Failures()
    calls, relay_port = free_port(), free_port()
    relay = Relay(discovery=True, discovery_host="127.0.0.1", discovery_port=calls)
    stations = tmp_path / "stations"
    (stations / "first").mkdir(parents=True)
    (tmp_path / "main").mkdir()
    wii = Wii(2, nick="Wii")
    recorded = Built().frames(-123, 60).end().closed()
    with serving(receiver.respond) as url, failures.injected(), trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            nursery.start_soon(trio.serve_listeners, wii.serve, listeners)
            console = f"127.0.0.1:{listeners[0].socket.getsockname()[1]}"
            daemon = Daemon(
                config_of(tmp_path, url, relay),
                [
                    StationConfig(
                        id="main", folder=str(tmp_path / "main"), parts=(NetworkKeys(relay_port=relay_port),)
                    ),
                    StationConfig(id="wii", parts=(NetworkKeys(console=console),)),
                    StationConfig(id="*", folder=str(stations)),
                ],
                strict=False,
            )
            await nursery.start(lambda task_status: daemon.run(handle_signals=False, task_status=task_status))
            await until(lambda: all(station.ready for station in daemon.host.stations.stations))
            await trio.sleep(0.5)
            failures.now.set()
            await until(lambda: counted(daemon) == failures.ran)
            await until(lambda: failures.ran_again >= failures.ran)
            await until(lambda: len(wii.handshakes) >= 2)  # a console doesn't send a game that is over

            wii.begin_game()
            wii.write(raw_of(recorded))
            wii.end_game()
            (stations / "second").mkdir()
            for number in range(2):
                data = replay(ANN_AND_BOB, {0: 2, 1: 0}, seconds=40, minute=5 * number)
                (tmp_path / "main" / f"Game_{number}.slp").write_bytes(data)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
                caller.bind(("127.0.0.2", 0))  # 127.0.0.1 already has a station

                def is_discovered() -> bool:
                    caller.sendto(write_call("Console", "02:00:00:00:00:09"), ("127.0.0.1", calls))
                    return any(each.origin == "discovered" for each in daemon.host.stations.values())

                def is_written(path: str, count: int = 1) -> Callable[[], bool]:
                    return lambda: len(list(tmp_path.glob(path))) == count

                hook = receiver.received["/hook"]
                works: dict[str, Callable[[], object]] = {
                    "chat": lambda: len(receiver.received["/chat"]) == 3,
                    "webhook": lambda: {"game_end", "set"} <= {each["type"] for each in hook},
                    "bracket": lambda: receiver.received["/bracket"],
                    "jsonl": is_written("jsonl/main/*.jsonl", 2),
                    "obs": lambda: json.loads((tmp_path / "obs/main/state.json").read_text())["players"],
                    "scoreboard": lambda: (tmp_path / "scoreboard/score1.txt").read_text() == "2",
                    "handover": is_written("zips/*.zip"),
                    "console": is_written("recordings/wii/*.slp"),
                    "subfolders": lambda: "second" in daemon.host.stations,
                    "discovery": is_discovered,
                }
                for part, is_working in works.items():
                    with trio.move_on_after(20) as waited:
                        await until(is_working)
                    assert not waited.cancelled_caught, f"{part} has not recovered"
            assert counted(daemon) == failures.ran
            assert len(failures.ran) > 20, failures.ran
            daemon.stop()
            nursery.cancel_scope.cancel()
