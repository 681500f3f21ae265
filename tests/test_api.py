"""The public Python API."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

import slpstream
from slpstream import api
from slpstream.model.errors import FormatError, SourceError, Unsupported
from slpstream.model.events import Frame
from slpstream.model.messages import LogMessage
from slpstream.system.live_iterator import LiveIterator
from tests.daemons.written import write_replay
from tests.iterated import KINDS, taken
from tests.project import ROOT
from tests.synthetic.match import synthetic_match

PAGE = ROOT / "docs" / "howto" / "python.md"


@pytest.fixture
def game(tmp_path: Path) -> Path:
    path = tmp_path / "Game_20261121T052951.slp"
    path.write_bytes(synthetic_match(seed=2, frames=400, rollbacks=True))
    return path


def test_open_replay(game: Path) -> None:
    replay = slpstream.open_replay(game)
    frames = replay.frames
    assert frames.number.tolist() == list(range(-123, -123 + len(frames)))
    assert replay.game_end.last_frame == frames.number[-1]
    assert len(replay.settings.players) == len(frames.players) == 2
    assert replay.metadata is not None
    assert replay.diagnostics == []
    events = [event for event in replay.events() if isinstance(event, Frame)]
    assert [event.number for event in events] == frames.sendings.number.tolist()
    player = next(event for event in events if event.number == 0).players[0]
    assert player.inputs is not None
    assert player.state is not None
    assert player.inputs.stick == pytest.approx(
        (frames.players[0].pre.joystick_x[123], frames.players[0].pre.joystick_y[123])
    )
    assert player.state.lives == frames.players[0].post.stocks_remaining[frames.row_of(0)] == 4


def test_opening_reads_only_the_head(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds for reads through a file object and through a descriptor."""
    counts: list[int] = []
    read = os.read

    class CountingFile(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(-1 if size is None else size) or b""
            counts.append(len(data))
            return data

    def counted(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        counts.append(len(data))
        return data

    monkeypatch.setattr(api, "open_file", CountingFile)
    monkeypatch.setattr(os, "read", counted)
    replay = slpstream.open_replay(game)
    assert replay.settings.stage_id
    assert 0 < sum(counts) <= 2048
    assert replay.game_end.reason == "game_end"
    assert sum(counts) > game.stat().st_size


def test_replay_without_numpy(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra `analysis`, everything except the columns is available."""
    expected = slpstream.open_replay(game)
    monkeypatch.setattr(api, "find_spec", lambda name: None)
    replay = slpstream.open_replay(game)
    assert replay.game_end == expected.game_end
    assert replay.metadata == expected.metadata


SERVICE = (
    "slpstream.daemon.daemon, slpstream.parts.fanout.gateway, slpstream.cli.serve, "
    "slpstream.parts.fanout.cli, slpstream.api"
)


@pytest.mark.parametrize(
    ("modules", "large"),
    [
        ("slpstream", ("msgspec", "numpy", "pyarrow", "structlog", "trio", "watchdog")),
        (SERVICE, ("numpy", "pyarrow", "pygments", "rich")),  # structlog would load rich with pygments
    ],
)
def test_import_loads_no_large_dependency(modules: str, large: tuple[str, ...]) -> None:
    script = f"import {modules}, sys; print([name for name in {large} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names() -> None:
    assert dir(slpstream) == sorted(slpstream.__all__)
    for name in slpstream.__all__:
        assert getattr(slpstream, name)
        assert importlib.util.find_spec(f"slpstream.{name}") is None, "it would shadow a module"
    with pytest.raises(AttributeError, match="nonsense"):
        slpstream.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_objects_describe_themselves(game: Path) -> None:
    replay = slpstream.open_replay(game)
    frames = replay.frames
    described = [repr(each) for each in (replay, frames, frames.players[0], slpstream.follow(game))]
    assert described == [
        "<slippi replay Game_20261121T052951.slp>",
        f"<{len(frames)} frames, -123 to {len(frames) - 124}, players [0, 1]>",
        f"<player 0, {len(frames)} frames>",
        "<messages of Game_20261121T052951.slp; iterate with `for`, or with `async for` under asyncio and trio>",
    ]
    assert repr(frames.players[0].post).startswith(f"<{len(frames)} rows of frame, player_index, is_follower, ")
    messages = slpstream.messages(game)
    assert repr(next(messages)).startswith('<game_start message: {"type":"game_start","gameId":"')
    assert repr(next(messages)).startswith('<frame message: {"type":"frame","gameId":"')


def test_to_polars(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars is not a dependency of the tests, so its constructor is replaced."""
    frames = slpstream.open_replay(game).frames
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match="pip install polars"):
        frames.to_polars()
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(DataFrame=lambda table: table))
    assert frames.to_polars() == frames.to_arrow()


def test_unreadable_or_invalid_file_raises(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        slpstream.open_replay(tmp_path / "nothing.slp")
    with pytest.raises(SourceError, match="is a directory"):
        slpstream.open_replay(tmp_path)
    (tmp_path / "text.slp").write_text("hello")
    with pytest.raises(FormatError):
        slpstream.open_replay(tmp_path / "text.slp").events()
    with pytest.raises(FormatError):
        list(slpstream.messages(tmp_path / "text.slp"))


def test_hole_after_a_game_is_not_read(game: Path) -> None:
    """A file can be a terabyte long without occupying the disk."""
    whole = [message.json() for message in slpstream.messages(game)]
    stats = slpstream.open_replay(game).stats()
    with game.open("r+b") as file:
        file.truncate(1 << 40)
    with_hole = [message.json() for message in slpstream.messages(game)]
    assert with_hole[: len(whole)] == whole
    assert [b"trailing_bytes" in line for line in with_hole[len(whole) :]] == [True]
    replay = slpstream.open_replay(game)
    assert replay.stats() == stats
    assert replay.game_end.reason == "game_end"
    with pytest.raises(Unsupported, match="too large for columns"):
        replay.frames  # noqa: B018


@pytest.mark.parametrize("kind", KINDS)
def test_follow_ends_with_the_game(kind: str, game: Path, tmp_path: Path) -> None:
    target = tmp_path / "live" / game.name
    target.parent.mkdir()
    writing = partial(write_replay, game.read_bytes(), target, writer="dolphin", speed=20)
    writer = threading.Thread(target=trio.run, args=(writing,))
    writer.start()
    received = [message.json() for message in taken(kind, lambda: slpstream.follow(target))]
    writer.join()
    assert received == [message.json() for message in slpstream.messages(game)]


@pytest.mark.parametrize("kind", KINDS)
def test_follow_raises_the_errors_of_the_file(kind: str, game: Path) -> None:
    data = game.read_bytes()
    game.write_bytes(data[: len(data) // 2])
    received: list[str] = []

    def shorten(message: LogMessage) -> bool:
        received.append(message.type)
        if len(received) == 100:
            game.write_bytes(b"")
        return False

    with pytest.raises(SourceError, match=game.name):
        taken(kind, lambda: slpstream.follow(game), shorten)
    assert received[0] == "game_start"
    game.write_bytes(b"hello" * 1000)
    with pytest.raises(FormatError):
        taken(kind, lambda: slpstream.follow(game))


def test_examples_of_the_page_run(
    game: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The examples with a daemon get the messages of a file."""
    sent = [{**json.loads(message.json()), "station": "Setup 1"} for message in slpstream.messages(game)]

    def connect(*given: Any, **options: Any) -> LiveIterator[Any]:
        async def generate() -> AsyncGenerator[Any, None]:
            for message in sent:
                yield message

        return LiveIterator(generate, "messages")

    monkeypatch.setattr(slpstream, "connect", connect, raising=False)
    monkeypatch.chdir(game.parent)
    example = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    exec(compile(example, "python.md", "exec"), {})
    printed = capsys.readouterr().out
    assert '"type":"game_end"' in printed
    assert sorted(printed.splitlines()[-2:]) == ["Setup 1 game_end", "Setup 2 game_end"]
