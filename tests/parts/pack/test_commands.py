"""The commands `pack`, `unpack`, `play` and `verify`, run in this process."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
import trio

from slpstream.api import messages, open_replay, preview_replay, read_game
from slpstream.formats.slplog.container import END_BYTES, HEADER_BYTES, MAGIC
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.formats.slplog.writer import pack as packed
from slpstream.model.errors import FormatError
from slpstream.parts.pack.growing import pack_growing
from slpstream.parts.play.cli import frames
from slpstream.sources.replay_file import open_file
from tests.cli.command_line import exit_code
from tests.daemons.written import write_replay
from tests.formats.games import games
from tests.formats.slplog.logs import synthetic
from tests.synthetic.match import synthetic_match


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Command:
    """Runs the command line."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *arguments: object) -> Ran:
        return Ran(exit_code(*arguments), *self._capture.readouterr())


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Command:
    return Command(capfd)


@pytest.fixture
def game(tmp_path: Path) -> Path:
    path = tmp_path / "Game_1.slp"
    path.write_bytes(synthetic())
    return path


def test_pack_and_unpack(run: Command, game: Path, tmp_path: Path) -> None:
    log = tmp_path / "game.slplog"
    done = run("pack", game, "-o", log)
    assert done.code == 0
    assert done.out.startswith(f"{log}: {game.stat().st_size:,} bytes to {log.stat().st_size:,}, 0.")
    again = run("pack", game, "-o", log)
    assert (again.code, again.err) == (74, f"slpstream: {log}: already exists; use --overwrite to replace it\n")
    assert run("pack", game, "-o", log, "--overwrite", "--keyframe", 30).code == 0
    assert run("unpack", log, "-o", tmp_path / "back.slp").code == 0
    assert (tmp_path / "back.slp").read_bytes() == game.read_bytes()
    assert run("unpack", log, "-o", tmp_path / "back.slp").code == 74
    (tmp_path / "folder").mkdir()
    assert run("unpack", log, "-o", tmp_path / "folder").code == 0
    assert (tmp_path / "folder" / "Game_1.slp").read_bytes() == game.read_bytes()
    assert not list(tmp_path.rglob("*.tmp"))
    assert run("pack", log, "-o", tmp_path / "twice").code == 1
    assert run("pack", tmp_path / "none.slp", "-o", tmp_path / "x").code == 74
    assert run("unpack", game, "-o", tmp_path / "y").code == 1
    assert run("pack", game, "-o", log, "--keyframe", 0).code == 2


def test_all_formats_are_packed_into_a_folder(run: Command, tmp_path: Path) -> None:
    for name, data in games().items():
        (tmp_path / name).write_bytes(data)
    done = run("pack", *(tmp_path / name for name in games()), "-o", tmp_path / "logs")
    assert (done.code, done.out.count("\n")) == (0, len(games()))
    for name, data in games().items():
        log = tmp_path / "logs" / f"{name}.slplog"
        assert run("unpack", log, "-o", tmp_path / "back", "--overwrite").code == 0
        assert (tmp_path / "back").read_bytes() == data
        assert [m.json() for m in messages(log)] == [m.json() for m in messages(tmp_path / name)]
        assert open_replay(log).game_id == open_replay(tmp_path / name).game_id
        lines = [m.json() for m in messages(tmp_path / name, topics=("frame",)) if m.frame is not None and m.frame < 5]
        assert [m.json() for m in frames(log, -1000, 4)] == lines


@pytest.mark.parametrize("version", [(0, 1, 0), (2, 2, 0), (3, 18, 0)])
def test_play_prints_the_lines_of_dump(run: Command, tmp_path: Path, version: tuple[int, int, int]) -> None:
    game, log = tmp_path / "Game_1.slp", tmp_path / "a.slplog"
    game.write_bytes(synthetic_match(seed=3, frames=400, version=version, rollbacks=version >= (3, 0, 0)))
    assert run("pack", game, "-o", log, "--keyframe", 40).code == 0
    expected = [m for m in messages(game, topics=("frame",)) if m.frame is not None]
    numbers = [m.frame for m in expected if m.frame is not None]
    last = max(numbers)
    ranges = [
        (-123, -123),
        (-39, 10),
        (-84, -83),
        (-43, 37),
        (117, 117),
        (last - 1, last),
        (last, 10_000),
        (-999, 9999),
    ]
    for first, to in ranges:
        lines = [m.json() for m in expected if m.frame is not None and first <= m.frame <= to]
        assert lines
        assert [m.json() for m in frames(log, first, to)] == lines
        assert [m.json() for m in frames(game, first, to)] == lines
    played = run("play", log, "--from", -39, "--to", -30)
    assert played.code == 0
    assert [json.loads(line)["frame"]["frame"] for line in played.out.splitlines()][-1] == -30
    assert run("play", log, "--from", 90_000).out == ""


def test_dump_info_and_verify_read_a_log(run: Command, game: Path, tmp_path: Path) -> None:
    log = tmp_path / "other name.slplog"
    assert run("pack", game, "-o", log).code == 0
    assert run("dump", log).out == run("dump", game).out
    described = json.loads(run("info", "--json", log).out)
    assert described | {"file": ""} == json.loads(run("info", "--json", game).out) | {"file": ""}
    assert run("verify", log, game).out.startswith("equal: ")
    bad = bytearray(log.read_bytes())
    bad[ReplayLog.of(bytes(bad)).blocks[2].offset + HEADER_BYTES] ^= 1
    log.write_bytes(bad)
    for arguments in (("dump", log), ("info", log), ("play", log), ("verify", log, game)):
        done = run(*arguments)
        assert done.code in (1, 74)
        assert "block 2 is damaged" in done.err
        assert done.err.count("\n") == 1


def test_unpack_partial_leaves_out_damaged_blocks(run: Command, game: Path, tmp_path: Path) -> None:
    log, back = tmp_path / "a.slplog", tmp_path / "back.slp"
    assert run("pack", game, "-o", log).code == 0
    bad = bytearray(log.read_bytes())
    block = ReplayLog.of(bytes(bad)).blocks[-3]
    bad[block.offset + HEADER_BYTES] ^= 1
    log.write_bytes(bad)
    done = run("unpack", log, "-o", back)
    assert (done.code, back.exists()) == (1, False)
    assert "is damaged, at offset" in done.err
    done = run("unpack", "--partial", log, "-o", back)
    assert done.code == 1
    assert done.err.count("\n") == 1
    data, unpacked = game.read_bytes(), back.read_bytes()
    assert len(unpacked) == len(data)
    assert unpacked[: block.source_offset] == data[: block.source_offset]
    assert unpacked[block.source_offset + block.source_bytes :] == data[block.source_offset + block.source_bytes :]


@pytest.mark.parametrize("name", ["", "..", "../..", "a/\0b.slp", "../Game_2.slp"])
def test_name_in_a_log_cannot_leave_the_folder(run: Command, tmp_path: Path, name: str) -> None:
    log, folder = tmp_path / "a.slplog", tmp_path / "in" / "folder"
    folder.mkdir(parents=True)
    log.write_bytes(packed(synthetic(), "slippi", name))
    assert run("unpack", log, "-o", folder).code == 0
    assert [path.name for path in (tmp_path / "in").rglob("*") if path.is_file()] == [
        "Game_2.slp" if "Game" in name else "a"
    ]


@pytest.mark.parametrize("suffix", ["slp", "slplog"])
def test_damaged_log_is_rejected_under_any_name(run: Command, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"Game_1.{suffix}"
    file.write_bytes(MAGIC + b"\x01rubbish")
    for read in (preview_replay, read_game):
        with pytest.raises(FormatError):
            read(file)
    assert run("info", file).code == 1


def test_log_with_the_suffix_of_a_replay_is_not_unpacked(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "Game_1.slp"
    file.write_bytes(packed(synthetic(), "slippi", "Game_1.slp"))
    with open_file(file) as opened:
        assert opened.read() == file.read_bytes()
        assert opened.fileno() >= 0
    with pytest.raises(FormatError):
        read_game(file)


def test_unfinished_log_is_unpacked_with_a_note(run: Command, game: Path, tmp_path: Path) -> None:
    log, back = tmp_path / "a.slplog", tmp_path / "back.slp"
    assert run("pack", game, "-o", log).code == 0
    log.write_bytes(log.read_bytes()[:-END_BYTES])
    done = run("unpack", log, "-o", back)
    assert done.code == 0
    assert "has no end" in done.err
    assert back.read_bytes() == game.read_bytes()


def test_verify_reports_one_changed_bit_with_surrounding_frames(run: Command, game: Path, tmp_path: Path) -> None:
    data = bytearray(game.read_bytes())
    at = data.index(b"\x38" + (200).to_bytes(4, "big") + b"\x01\x00")
    data[at + 0x21] ^= 2
    other = tmp_path / "Game_2.slp"
    other.write_bytes(data)
    done = run("verify", game, other)
    assert done.code == 1
    first, *around = done.out.splitlines()
    assert (
        f"Post-Frame Update at offset {at + 0x21}: frame 200, player 1, post.stocksRemaining: A has 4, B has 6" in first
    )
    assert around == [
        "    frame 198: 4",
        "    frame 199: 4",
        "    frame 200: 4  |  6   <-- here",
        "    frame 201: 4",
        "    frame 202: 4",
    ]


def test_verify_reports_differences_outside_of_the_log(run: Command, game: Path, tmp_path: Path) -> None:
    other = tmp_path / "Game_2.slp"
    data = game.read_bytes()
    other.write_bytes(data[:11] + bytes(4) + data[15:])
    done = run("verify", game, other)
    assert done.code == 0
    assert done.out.startswith("equal: ")
    assert f"raw length: A has {int.from_bytes(data[11:15], 'big')}, B has 0" in done.out
    assert run("verify", game).code == 2


@pytest.mark.trio
async def test_growing_replay_is_packed_while_it_is_written(game: Path, tmp_path: Path) -> None:
    """The log grows with the replay and is readable all the time. In the end it contains the finished replay."""
    live, log = tmp_path / "live" / "Game_1.slp", tmp_path / "live.slplog"
    live.parent.mkdir()
    sizes: list[tuple[int, int]] = []
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:

            async def pack() -> None:
                sizes.append(await pack_growing(live, log, 60))

            nursery.start_soon(pack)
            nursery.start_soon(partial(write_replay, game.read_bytes(), live, writer="dolphin", speed=12))
            seen = 0
            while not sizes:
                await trio.sleep(0.02)
                if log.exists() and log.stat().st_size > seen:
                    seen = log.stat().st_size
                    unfinished = ReplayLog.of(log.read_bytes())
                    if not unfinished.finished:
                        unpacked = unfinished.unpack()
                        assert unpacked[15:] == game.read_bytes()[15 : len(unpacked)]
    finished = ReplayLog.of(log.read_bytes())
    assert finished.finished
    assert finished.unpack() == game.read_bytes()
    assert sizes == [(game.stat().st_size, log.stat().st_size)]
    assert seen > 2000


def test_follow_takes_one_slippi_replay(run: Command, game: Path, tmp_path: Path) -> None:
    assert run("pack", "--follow", game, game, "-o", tmp_path / "x").code == 2
    assert run("pack", "--follow", tmp_path / "a.gci", "-o", tmp_path / "x").code == 2
    done = run("pack", "--follow", game, "-o", tmp_path / "x.slplog")
    assert done.code == 0
    assert ReplayLog.of((tmp_path / "x.slplog").read_bytes()).unpack() == game.read_bytes()
    again = run("pack", "--follow", game, "-o", tmp_path / "x.slplog")
    assert again.code == 74
    assert again.err.endswith("x.slplog: already exists; remove it or choose another name\n")


@pytest.mark.trio
@pytest.mark.parametrize("start", [b"", b"{U\x03raw"])
async def test_interruption_before_the_game_leaves_no_log(
    start: bytes, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    autojump_clock.autojump_threshold = 0.05  # files are read in threads, which take real time
    live, log = tmp_path / "Game_1.slp", tmp_path / "live.slplog"
    if start:
        live.write_bytes(start)
    with trio.move_on_after(0.5) as interrupted:
        await pack_growing(live, log, 60)
    assert interrupted.cancelled_caught
    assert not log.exists()


@pytest.mark.parametrize("command", ["unpack", "play", "info", "stats", "pack"])
def test_commands_do_not_wait_for_a_pipe(command: str, run: Command, tmp_path: Path) -> None:
    pipe = tmp_path / "x.slplog"
    os.mkfifo(pipe)
    done = run(command, pipe, *(("-o", tmp_path / "out") if command in ("unpack", "pack") else ()))
    assert done.code in (1, 74)
    assert str(pipe) in done.err
    assert not (tmp_path / "out").exists()
