"""The stage: a station, a daemon over it, games that are written, and a subscriber that misses nothing.

The subscriber reads losslessly in a thread of its own. When its connection ends it comes back, to whichever daemon is
there then, with the cursor of the last message that it has. What it must have in the end is what the pipeline makes of
the bytes that were written, computed here without any daemon.
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
from slpstream.game.pipeline import Pipeline
from slpstream.simulate.schedule import Write, schedule
from tests.daemon_process import DaemonProcess, LogReader
from tests.synthetic.match import synthetic_match

_RECEIVE_SECONDS = 0.05
_OPEN_SECONDS = 5
_PATIENCE_SECONDS = 60.0
_SLOWEST_A_SECOND = 400
"""Messages; for what is more than a minute's work on a busy machine."""
TOPICS = "game,frame,event,stats,diagnostic"


class Outcome(NamedTuple):
    """What was counted: how often the fault was done, the messages that had to arrive, those that did not, and those
    that arrived more than once."""

    tried: int
    sent: int
    lost: int
    doubled: int

    def __add__(self, other: object) -> Outcome:
        """Both together."""
        if not isinstance(other, Outcome):
            return NotImplemented
        return Outcome(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def log_lines(data: bytes, name: str = "Game.slp") -> list[bytes]:
    """The live log of so many bytes of a game, as lines, with nothing that comes only because no more bytes will."""
    pipeline = Pipeline(of_name(name).new_reader(name), ("live",))
    return [message.json() for message in pipeline.feed(data).messages("live")]


class Subscriber(LogReader):
    """Reads until it is told to stop, and comes back when it is cut off."""

    def __init__(self, station: str, daemon: Callable[[], DaemonProcess | None]) -> None:
        super().__init__(station)
        self._daemon = daemon
        self._station_name = station
        self._stop = threading.Event()
        self.connections = 0
        self.loose: list[bytes] = []
        """Diagnostics that belong to no game."""
        self.leave = threading.Event()
        """Set: the connection is dropped once."""
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it."""
        self._stop.set()
        self._thread.join(timeout=20)

    def _take(self, line: bytes) -> None:
        """Keeps what has a place in a log; a diagnostic about a file that cannot be opened has none."""
        before = len(self.lines)
        super()._take(line)
        if len(self.lines) > before and b'"cursor":"' not in self.lines[-1][:250]:
            self.loose.append(self.lines.pop())

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
                    self.ended = str(error)
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
    """A game that is written piece by piece."""

    def __init__(self, path: Path, data: bytes, writes: Sequence[Write]) -> None:
        self.path = path
        self.data = data
        self.lines = log_lines(data)
        self._writes = list(writes)
        self._done = 0
        self.size_bytes = 0
        """How much of it is written."""

    @property
    def finished(self) -> bool:
        """All of it is written."""
        return self._done == len(self._writes)

    def write(self, share: float = 1.0) -> None:
        """Goes on up to this share of its bytes."""
        past = next((i for i, w in enumerate(self._writes) if w.offset + len(w.data) > share * len(self.data)), None)
        until = len(self._writes) if share >= 1 or past is None else past
        with self.path.open("r+b" if self.path.exists() else "xb", buffering=0) as file:
            for write in self._writes[self._done : until]:
                file.seek(write.offset)
                file.write(write.data)
                self.size_bytes = max(self.size_bytes, write.offset + len(write.data))
        self._done = max(self._done, until)

    def lines_so_far(self) -> list[bytes]:
        """The log of what is written."""
        return self.lines if self.finished else log_lines(b"".join((self._header(), self.data[15 : self.size_bytes])))

    def _header(self) -> bytes:
        return self.data[:11] + bytes(4)


class Scene:
    """One station `station` in an empty folder, a daemon over it, and its subscriber."""

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
        self.said: list[dict[str, Any]] = []
        """What all daemons have logged."""
        self.start()
        self.wait_ready()
        self.subscriber = Subscriber("station", lambda: self.daemon)
        self.until(lambda: self.subscriber.connections > 0, "the subscriber is there")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.subscriber.stop()
        self.kill()

    # -- the daemon --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new daemon over the same folder and state."""
        daemon = DaemonProcess(
            self.folder,
            state=self.state,
            around=self._around,
            environment=self._environment,
            open_files=self._open_files,
        )
        self.said = daemon.lines if not self.said else [*self.said, *daemon.lines]
        self._lines = daemon.lines
        self.daemon = daemon

    def wait_ready(self) -> None:
        """Until the folder has been looked at."""
        daemon = self.alive
        daemon.wait_ready()

    @property
    def alive(self) -> DaemonProcess:
        """The daemon that runs."""
        if self.daemon is None:
            raise AssertionError("no daemon runs")
        return self.daemon

    def kill(self) -> None:
        """SIGKILL."""
        daemon, self.daemon = self.daemon, None
        if daemon is not None and daemon.process.poll() is None:
            daemon.kill()

    def until(self, condition: Callable[[], bool], what: str, seconds: float = _PATIENCE_SECONDS) -> None:
        """Waits for something; the daemon must live meanwhile, and the subscriber too."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain: {what}; last said {self._lines[-4:]}"
            assert self.daemon is None or self.daemon.process.poll() is None, f"the daemon died: {self._lines[-20:]}"
            time.sleep(0.01)

    def says(self, event: str, **values: str) -> bool:
        """Whether the daemon that runs has logged an event whose values begin with these texts."""
        return any(
            line.get("event") == event and all(str(line.get(key, "")).startswith(text) for key, text in values.items())
            for line in self._lines
        )

    def until_said(self, event: str, **values: str) -> None:
        """Waits until it has."""
        self.until(lambda: self.says(event, **values), f"{event} {values}")

    def station(self) -> dict[str, Any]:
        """The station as `/v1/stations/station` shows it."""
        described: dict[str, Any] = self.alive.get("/v1/stations/station")
        return described

    # -- games -------------------------------------------------------------------------------------------------------

    def game(self, *, frames: int = 240, writer: str = "", name: bytes | str = "") -> WrittenGame:
        """The next game, nothing of it written yet."""
        self._games += 1
        number = self._games
        data = synthetic_match(seed=1000 + number, frames=frames, rollbacks=bool(number % 2))
        path = self.folder / (name if isinstance(name, str) and name else f"Game_{number:06}.slp")
        if isinstance(name, bytes):
            path = self.folder / os.fsdecode(name)
        return WrittenGame(path, data, list(schedule(data, writer or f"random:{number}", speed=0)))

    def expect(self, lines: Sequence[bytes]) -> None:
        """These are to arrive next; waits until as many have."""
        self.expected += lines
        self.caught_up()

    def expect_in_any_order(self, lines: Sequence[bytes]) -> None:
        """The same, of games that have no order among themselves: they came at once."""
        self._ordered = False
        self.expect(lines)

    def caught_up(self) -> None:
        """The subscriber has as many lines as are expected."""
        wanted = len(self.expected)
        missing = max(0, wanted - len(self.subscriber.lines))
        self.until(
            lambda: len(self.subscriber.lines) >= wanted,
            f"{missing} messages",
            _PATIENCE_SECONDS + missing / _SLOWEST_A_SECOND,
        )

    def play(self, game: WrittenGame | None = None) -> None:
        """A whole game is written and arrives: what healing means."""
        game = game or self.game()
        game.write()
        self.expect(game.lines)

    def play_rest(self, game: WrittenGame) -> None:
        """The rest of a game of which some lines were expected already."""
        known = self.expected.count(game.lines[0]) and self.expected[self.expected.index(game.lines[0]) :]
        game.write()
        self.expect(game.lines[len(known or ()) :])

    def outcome(self, tried: int) -> Outcome:
        """What the subscriber has against what it must have. Raises `AssertionError` when the order is wrong."""
        self.caught_up()
        time.sleep(0.1)  # for what comes and should not
        assert self.subscriber.failure is None, self.subscriber.failure
        got, wanted = Counter(self.subscriber.lines), Counter(self.expected)
        lost, doubled = (wanted - got).total(), (got - wanted).total()
        if self._ordered and not lost and not doubled:
            assert self.subscriber.lines == self.expected, "all there, but not in order"
        return Outcome(tried, len(self.expected), lost, doubled)
