"""How fast OBS changes its scene: from the append to a replay until OBS has answered the request, with Cut.

A real OBS runs under Xvfb. A proxy between it and the daemon notes when answers pass, so the daemon is the one that
users run. Each game gives two figures: its first frames begin a scene, its last ones another.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tests.bench.report import Figure, Form
from tests.daemons.process import running
from tests.outputs.real_obs import PASSWORD, RealObs, real_obs
from tests.synthetic.match import synthetic_match

_GAMES = 100
_LENGTH_OFFSET = 11
_FIRST_BYTES = 20_000
_LAST_BYTES = 1_500
"""More than the last frame, Game End and the metadata."""
_PAUSE_SECONDS = 0.2
_TIMEOUT_SECONDS = 30.0
_TARGET_MS = 100.0
_ANSWER = b'"requestType":"SetCurrentProgramScene"'


class Proxy:
    """A TCP proxy in front of OBS that notes when answers to scene changes pass."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.answered_at: list[float] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._copy, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._copy, args=(server, client, True), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65536):
                if answers and _ANSWER in data.replace(b" ", b""):
                    self.answered_at.append(time.monotonic())
                target.sendall(data)
        except OSError:
            pass
        finally:
            target.close()

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()


def run(form: Form) -> list[Figure]:
    """Milliseconds of scene changes."""
    games = 2 if form.short else _GAMES
    runs = [_measure(games) for _ in range(form.times)]
    waits = [sorted(begun + ended) for begun, ended in runs]
    note = f"{2 * games} changes; median {_percentile(waits[0], 50):.0f} ms, longest {waits[0][-1]:.0f} ms"
    return [
        Figure("obs: append to answer, p99", [_percentile(each, 99) for each in waits], "ms", _TARGET_MS, note),
        Figure("obs: game start, median", [_percentile(sorted(begun), 50) for begun, _ in runs], "ms"),
        Figure("obs: game end, median", [_percentile(sorted(ended), 50) for _, ended in runs], "ms"),
    ]


def _percentile(values: list[float], percent: int) -> float:
    return values[min(len(values) - 1, len(values) * percent // 100)]


def _measure(games: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each game's start and of its end."""
    folder = Path(tempfile.mkdtemp(prefix="slpstream-obs-"))
    try:
        with real_obs(folder) as obs, _proxied(obs) as proxy:
            (folder / "main").mkdir()
            (folder / "password").write_text(PASSWORD)
            config = folder / "slpstream.toml"
            config.write_text(
                f"[obs]\nurl = 'ws://127.0.0.1:{proxy.port}'\npassword_file = '{folder / 'password'}'\n"
                "[[obs_rules]]\non = 'game_start'\nstation = 'main'\nscene = 'Game'\n"
                "[[obs_rules]]\non = 'game_end'\nstation = 'main'\nscene = 'Break'\n"
                f"[[stations]]\nid = 'main'\nfolder = '{folder / 'main'}'\n"
            )
            with running(arguments=("--config", str(config))) as daemon:
                daemon.until(lambda: "slpstream_obs_connected 1.0" in daemon.text("/metrics"), 60)
                return _play(games, folder / "main", proxy)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _proxied(obs: RealObs) -> Iterator[Proxy]:
    proxy = Proxy(obs.port)
    try:
        yield proxy
    finally:
        proxy.close()


def _play(games: int, folder: Path, proxy: Proxy) -> tuple[list[float], list[float]]:
    begun: list[float] = []
    ended: list[float] = []
    for number in range(games):
        data = synthetic_match(seed=number + 1, frames=120)
        file = (folder / f"Game_{number}.slp").open("wb", buffering=0)
        with file:
            file.write(data[:_LENGTH_OFFSET] + bytes(4) + data[_LENGTH_OFFSET + 4 : 15])
            time.sleep(_PAUSE_SECONDS)
            begun.append(_wait(proxy, file, data[15:_FIRST_BYTES]))
            file.write(data[_FIRST_BYTES:-_LAST_BYTES])
            time.sleep(_PAUSE_SECONDS)
            ended.append(_wait(proxy, file, data[-_LAST_BYTES:]))
            file.seek(_LENGTH_OFFSET)
            file.write(data[_LENGTH_OFFSET : _LENGTH_OFFSET + 4])
        time.sleep(_PAUSE_SECONDS)
    return begun, ended


def _wait(proxy: Proxy, file: BinaryIO, data: bytes) -> float:
    """Milliseconds from an append to the next answer."""
    before, began = len(proxy.answered_at), time.monotonic()
    file.write(data)
    while len(proxy.answered_at) == before:
        assert time.monotonic() - began < _TIMEOUT_SECONDS, "OBS was not asked for a scene"
        time.sleep(0.0005)
    return (proxy.answered_at[before] - began) * 1000
