"""A rehearsal: the daemon itself, with stand-ins for everything that it talks to, while replays are played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import trio

from slpstream.formats.slippi.write_schedule import schedule
from slpstream.parts.rehearse.containment import Redirection
from slpstream.parts.rehearse.sandbox import Sandbox
from slpstream.parts.rehearse.stand_in import serve
from slpstream.parts.services import OnAirChoice

if TYPE_CHECKING:
    from slpstream.daemon.daemon import Daemon

WRITES = "writes"
_LOOK_SECONDS = 0.05


class Sent(msgspec.Struct):
    """Something that an output would have sent or written."""

    game: str
    """The file name of the replay that is played at that time, or was played last. Empty before the first one."""
    seconds: float
    """Seconds since the beginning of the replay, in the time of the game."""
    section: str
    """The section of the configuration that it was sent for."""
    rules: list[str]
    """The sections of rules that have all of the texts in it."""
    to: str
    """The host and port, or the file."""
    what: str
    """The method, the request to OBS, or `writes`."""
    content: Any


class Rehearsal:
    """Plays replays for a daemon, and collects everything that its outputs send."""

    def __init__(
        self, sandbox: Sandbox, *, speed: float, pause_seconds: float, on_sent: Callable[[Sent], None]
    ) -> None:
        self._sandbox = sandbox
        self._speed = speed
        self._pause_seconds = pause_seconds
        self._on_sent = on_sent
        self._game = ""
        self._began_at = 0.0

    async def run(self, daemon: Daemon, replays: Sequence[tuple[str, bytes]]) -> None:
        """Run a daemon with the configuration of the sandbox, and play the replays one after the other."""
        config = self._sandbox.config
        self._began_at = trio.current_time()
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            redirection = Redirection(listeners[0].socket.getsockname()[1])
            accept = partial(self._accept, redirection)
            nursery.start_soon(partial(trio.serve_listeners, accept, listeners))
            trio.socket.set_custom_socket_factory(redirection)
            trio.socket.set_custom_hostname_resolver(redirection)
            await nursery.start(partial(daemon.run, handle_signals=False))
            nursery.start_soon(self._watch_files)
            await trio.sleep(self._pause_seconds)
            choice = daemon.host.find(OnAirChoice)
            if choice is not None and not choice.has_rule:
                await choice.choose_station(self._sandbox.station)
            folder = next(Path(each.folder) for each in config.stations if each.id == self._sandbox.station)
            for number, (name, data) in enumerate(replays, 1):
                self._game, self._began_at = name, trio.current_time()
                await play(data, folder / f"Game_{number}.slp", self._speed)
                await trio.sleep(self._pause_seconds)
            daemon.stop()
            await trio.sleep(self._pause_seconds / 4)
            nursery.cancel_scope.cancel()

    async def _accept(self, redirection: Redirection, stream: trio.SocketStream) -> None:
        destination = redirection.destination(stream)

        def note(path: str, what: str, content: Any) -> None:
            section = self._sandbox.section_of(destination, path)
            self._note(section, f"{destination.host}:{destination.port}", what, content)

        await serve(stream, note)

    def _note(self, section: str, to: str, what: str, content: Any) -> None:
        texts = {*_strings(content)}
        rules = [
            label for label, of_rule in self._sandbox.texts.items() if label != section and texts and texts <= of_rule
        ]
        seconds = round((trio.current_time() - self._began_at) * self._speed, 2)
        self._on_sent(Sent(self._game, seconds, section, rules, to, what, content))

    async def _watch_files(self) -> None:
        """Note each change of a file that an output writes."""
        written: dict[Path, bytes] = {}
        while True:
            for folder, section in self._sandbox.outputs.items():
                for path, content in (await trio.to_thread.run_sync(_contents, folder)).items():
                    if written.get(path) != content:
                        written[path] = content
                        self._note(section, str(path.relative_to(folder)), WRITES, content.decode("utf-8", "replace"))
            await trio.sleep(_LOOK_SECONDS)


async def play(data: bytes, target: Path, speed: float) -> None:
    """Write a replay to a new file as a game does."""
    began_at = trio.current_time()
    with target.open("xb", buffering=0) as file:
        for write in schedule(data, speed=speed):
            if (due_at := began_at + write.at_seconds) > trio.current_time():
                await trio.sleep_until(due_at)
            file.seek(write.offset)
            file.write(write.data)


def _contents(folder: Path) -> Mapping[Path, bytes]:
    """Return the content of each file below a folder. This blocks."""
    contents: dict[Path, bytes] = {}
    for path in folder.rglob("*"):
        try:
            if path.is_file() and not path.name.startswith("."):
                contents[path] = path.read_bytes()
        except OSError:  # replaced at this moment
            continue
    return contents


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _strings(each)]
    return []
