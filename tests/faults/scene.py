"""The setting of all faults: a station, its daemon, games in progress, and a lossless subscriber.

The subscriber reads in its own thread. When its connection ends, it connects to the current daemon with the cursor of
its last message. In the end it must have exactly the messages that the pipeline makes from the written bytes, computed
here without a daemon.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from slpstream.formats.registry import of_name
from slpstream.formats.slippi.write_schedule import Write, schedule
from slpstream.game.pipeline import Pipeline
from tests.daemons.process import DaemonProcess, LogReader
from tests.synthetic.match import synthetic_match

_RECEIVE_SECONDS = 0.05
_OPEN_SECONDS = 5
_TIMEOUT_SECONDS = 60.0
_MIN_MESSAGES_PER_SECOND = 400
"""Extends the timeout of waits for many messages, which take more than a minute on a busy machine."""
TOPICS = "game,frame,event,stats,diagnostic"


class Outcome(NamedTuple):
    """The number of injected faults, and of expected, lost and duplicated messages."""

    times: int
    sent: int
    lost: int
    duplicated: int

    def __add__(self, other: object) -> Outcome:
        """Add up two outcomes."""
        if not isinstance(other, Outcome):
            return NotImplemented
        return Outcome(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def log_lines(data: bytes, name: str = "Game.slp") -> list[bytes]:
    """The live log of the first bytes of a game, as lines, without messages caused only by the end of the file."""
    pipeline = Pipeline(of_name(name).new_reader(name), ("live",))
    return [message.json() for message in pipeline.feed(data).messages("live")]


class Subscriber(LogReader):
    """A subscriber that reads until `stop`, and reconnects when its connection ends."""

    def __init__(self, station: str, daemon: Callable[[], DaemonProcess | None]) -> None:
        super().__init__(station)
        self._daemon = daemon
        self._station_name = station
        self._stop = threading.Event()
        self.connections = 0
        self.leave = threading.Event()
        """Setting it drops the connection once."""
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join(timeout=20)

    def _take(self, line: bytes) -> None:
        """Omit lines without a position in a log, such as diagnostics about files that cannot be opened."""
        before = len(self.lines)
        super()._take(line)
        if len(self.lines) > before and b'"cursor":"' not in self.lines[-1][:250]:
            self.lines.pop()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                daemon = self._daemon()
                if daemon is None:
                    time.sleep(0.01)
                    continue
                try:
                    self._follow(daemon)
                except (WebSocketException, OSError) as error:
                    self.ended = str(error)  # shown when a test fails
                    time.sleep(0.02)
        except BaseException as error:
            self.failure = error
            raise

    def _follow(self, daemon: DaemonProcess) -> None:
        url = daemon.stream_url(station=self._station_name, topics=TOPICS, delivery="lossless", cursor=self.cursor)
        with connect(url, max_size=None, open_timeout=_OPEN_SECONDS, close_timeout=0.2) as socket:
            self.connections += 1
            while not self._stop.is_set() and not self.leave.is_set():
                try:
                    self._take(socket.recv(timeout=_RECEIVE_SECONDS, decode=False))
                except TimeoutError:
                    continue
            self.leave.clear()


class WrittenGame:
    """A game that is written in pieces."""

    def __init__(self, path: Path, data: bytes, writes: Sequence[Write]) -> None:
        self.path = path
        self.data = data
        self.lines = log_lines(data)
        self._writes = list(writes)
        self._done = 0
        self.size_bytes = 0
        """The number of written bytes."""

    @property
    def finished(self) -> bool:
        """Whether the whole game is written."""
        return self._done == len(self._writes)

    def write(self, share: float = 1.0) -> None:
        """Continue writing up to this share of the bytes."""
        beyond = next((i for i, w in enumerate(self._writes) if w.offset + len(w.data) > share * len(self.data)), None)
        until = len(self._writes) if share >= 1 or beyond is None else beyond
        with self.path.open("r+b" if self.path.exists() else "xb", buffering=0) as file:
            for write in self._writes[self._done : until]:
                file.seek(write.offset)
                file.write(write.data)
                self.size_bytes = max(self.size_bytes, write.offset + len(write.data))
        self._done = max(self._done, until)

    def lines_so_far(self) -> list[bytes]:
        """The log of the written bytes."""
        return self.lines if self.finished else log_lines(b"".join((self._header(), self.data[15 : self.size_bytes])))

    def _header(self) -> bytes:
        return self.data[:11] + bytes(4)


class Scene:
    """A station named `station` with an empty folder, its daemon and a subscriber."""

    def __init__(
        self,
        folder: Path,
        *,
        around: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        open_files: int | None = None,
    ) -> None:
        self.folder = folder / "station"
        self.folder.mkdir()
        self.state = folder / "state"
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir()
        self._around = around
        self._open_files = open_files
        self._ordered = True
        self._environment = environment
        self._games = 0
        self.expected: list[bytes] = []
        self.daemon: DaemonProcess | None = None
        self.start()
        self.alive.wait_ready()
        self.subscriber = Subscriber("station", lambda: self.daemon)
        self.until(lambda: self.subscriber.connections > 0, "the subscriber is connected")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.subscriber.stop()
        self.kill()

    def start(self) -> None:
        """Start a new daemon with the same folder and state."""
        self.daemon = DaemonProcess(
            self.folder,
            state=self.state,
            around=self._around,
            environment=self._environment,
            open_files=self._open_files,
        )
        self._lines = self.daemon.lines

    @property
    def alive(self) -> DaemonProcess:
        """The running daemon."""
        if self.daemon is None:
            raise AssertionError("no daemon is running")
        return self.daemon

    def kill(self) -> None:
        """Kill the daemon with SIGKILL."""
        daemon, self.daemon = self.daemon, None
        if daemon is not None and daemon.process.poll() is None:
            daemon.kill()

    def until(self, condition: Callable[[], bool], what: str, seconds: float = _TIMEOUT_SECONDS) -> None:
        """Wait until a condition is true, and fail if the daemon dies meanwhile."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"timeout: {what}; last logged {self._lines[-4:]}"
            assert self.daemon is None or self.daemon.process.poll() is None, f"the daemon died: {self._lines[-20:]}"
            time.sleep(0.01)

    def logged(self, event: str, **values: str) -> bool:
        """Whether the running daemon has logged this event with values that begin with these texts."""
        return any(
            line.get("event") == event and all(str(line.get(key, "")).startswith(text) for key, text in values.items())
            for line in self._lines
        )

    def until_logged(self, event: str, **values: str) -> None:
        """Wait until `logged` is true."""
        self.until(lambda: self.logged(event, **values), f"{event} {values}")

    def station(self) -> dict[str, Any]:
        """The station as described by `/v1/stations/station`."""
        described: dict[str, Any] = self.alive.get("/v1/stations/station")
        return described

    def game(self, *, frames: int = 240, writer: str = "", name: bytes | str = "") -> WrittenGame:
        """Create the next game, without writing any of it."""
        self._games += 1
        number = self._games
        data = synthetic_match(seed=1000 + number, frames=frames, rollbacks=bool(number % 2))
        path = self.folder / (name if isinstance(name, str) and name else f"Game_{number:06}.slp")
        if isinstance(name, bytes):
            path = self.folder / os.fsdecode(name)
        return WrittenGame(path, data, list(schedule(data, writer or f"random:{number}", speed=0)))

    def expect(self, lines: Sequence[bytes]) -> None:
        """Expect these messages next, and wait until that many have arrived."""
        self.expected += lines
        self.caught_up()

    def expect_in_any_order(self, lines: Sequence[bytes]) -> None:
        """Like `expect`, for games that appear simultaneously and therefore in any order."""
        self._ordered = False
        self.expect(lines)

    def caught_up(self) -> None:
        """Wait until the subscriber has the expected number of lines."""
        count = len(self.expected)
        missing = max(0, count - len(self.subscriber.lines))
        self.until(
            lambda: len(self.subscriber.lines) >= count,
            f"{missing} messages",
            _TIMEOUT_SECONDS + missing / _MIN_MESSAGES_PER_SECOND,
        )

    def play(self, game: WrittenGame | None = None) -> None:
        """Write a complete game, and wait until it has arrived, which proves that the daemon has recovered."""
        game = game or self.game()
        game.write()
        self.expect(game.lines)

    def play_rest(self, game: WrittenGame) -> None:
        """Write the rest of a game after some of its lines were expected."""
        known = self.expected.count(game.lines[0]) and self.expected[self.expected.index(game.lines[0]) :]
        game.write()
        self.expect(game.lines[len(known or ()) :])

    def outcome(self, times: int) -> Outcome:
        """Compare the received messages with the expected ones. Raises `AssertionError` if their order is wrong."""
        self.caught_up()
        time.sleep(0.1)  # time for unexpected messages
        assert self.subscriber.failure is None, self.subscriber.failure
        received, expected = Counter(self.subscriber.lines), Counter(self.expected)
        lost, duplicated = (expected - received).total(), (received - expected).total()
        if self._ordered and not lost and not duplicated:
            assert self.subscriber.lines == self.expected, "complete, but in the wrong order"
        return Outcome(times, len(self.expected), lost, duplicated)
