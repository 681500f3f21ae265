"""Finished games are read again and compared with the published messages: hash chain, task, and a real daemon."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from slpstream.formats.registry import of_name
from slpstream.formats.slplog.hash_chain import Chain, ReplayedLog
from slpstream.game.log_writer import MODES
from slpstream.game.pipeline import Pipeline
from slpstream.parts.verify.replay_check import ReplayCheck
from tests.cli.command_line import exit_code
from tests.daemons.process import running
from tests.formats.games import games
from tests.formats.slippi.built import varied_replay
from tests.synthetic.match import synthetic_match

LINES = st.lists(st.binary(max_size=8), max_size=12)


@given(LINES, LINES)
def test_second_reading_finds_the_first_difference(first: list[bytes], second: list[bytes]) -> None:
    chain = Chain()
    for line in first:
        chain.add(line)
    assert len(chain) == len(first)
    second_log = ReplayedLog(chain)
    second_log.feed(second[:3])
    second_log.feed(second[3:])
    second_log.finish()
    if first == second:
        assert second_log.divergence is None
        return
    assert second_log.divergence is not None
    index, line = second_log.divergence
    assert first[:index] == second[:index]
    assert first[index : index + 1] != second[index : index + 1]
    assert line == (second[index] if index < len(second) else b"")


def publish_and_release(check: ReplayCheck, path: Path, *, read: bytes | None = None) -> Pipeline:
    """Publish a game like a station, then release its file. `read` replaces the content of the file."""
    data = path.read_bytes() if read is None else read
    format_ = of_name(path.name)
    pipeline = Pipeline(format_.new_reader(path.name), MODES)
    for offset in range(0, len(data), 5000):
        check.published(pipeline, pipeline.feed(data[offset : offset + 5000]))
    if format_.written_whole:
        check.published(pipeline, pipeline.finish())
        while pipeline.pending:
            check.published(pipeline, pipeline.more(100))
    check.released("main", path, pipeline)
    return pipeline


async def results(counted: Counter[str], count: int) -> Counter[str]:
    with trio.fail_after(60):
        while counted.total() < count:
            await trio.sleep(0.01)
    return counted


@pytest.mark.trio
async def test_each_finished_game_has_a_result(tmp_path: Path) -> None:
    counted: Counter[str] = Counter()
    check = ReplayCheck(lambda station, result: counted.update([f"{station} {result}"]))
    good, changed, gone, race = (tmp_path / name for name in ("good.slp", "changed.slp", "gone.slp", "race.rpl"))
    data = varied_replay()
    good.write_bytes(data)
    bad = bytearray(data)
    bad[data.index(b"\x38\xff\xff\xff\x90") + 0x21] ^= 1
    changed.write_bytes(bad)
    race.write_bytes(games()["race.rpl"])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(check.run)
        publish_and_release(check, good)
        assert await results(counted, 1) == {"main equal": 1}
        publish_and_release(check, race)
        assert await results(counted, 2) == {"main equal": 2}
        publish_and_release(check, changed, read=data)
        assert await results(counted, 3) == {"main equal": 2, "main different": 1}
        publish_and_release(check, gone, read=data)
        assert await results(counted, 4) == {"main equal": 2, "main different": 1, "main unreadable": 1}
        publish_and_release(check, good, read=data[: len(data) // 2])  # unfinished, so it is not checked
        publish_and_release(check, good)
        assert await results(counted, 5) == {"main equal": 3, "main different": 1, "main unreadable": 1}
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_checks_beyond_the_queue_limit_are_skipped(tmp_path: Path) -> None:
    counted: Counter[str] = Counter()
    check = ReplayCheck(lambda station, result: counted.update([result]))
    path = tmp_path / "race.rpl"
    path.write_bytes(games()["race.rpl"])
    for _ in range(40):  # the task is not running yet
        publish_and_release(check, path)
    assert counted == {"skipped": 8}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(check.run)
        assert await results(counted, 40) == {"skipped": 8, "equal": 32}
        nursery.cancel_scope.cancel()


verify = partial(exit_code, "verify", "--live")


def test_daemon_checks_finished_games_and_verify_checks_the_daemon(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    config = tmp_path / "slpstream.toml"
    config.write_text("[verify]\nfinished_games = true\n")
    game = folder / "Game_1.slp"
    with running(folder, arguments=("--config", str(config))) as daemon:
        daemon.wait_ready()
        game.write_bytes(synthetic_match(seed=2, frames=300, rollbacks=True))
        line = 'slpstream_verified_games_total{result="equal",station="main"} 1.0'
        daemon.until(lambda: line in daemon.text("/metrics"))
        daemon.until(lambda: any(line.get("event") == "game verified" for line in daemon.lines))
        logged = next(line for line in daemon.lines if line.get("event") == "game verified")
        assert (logged["result"], logged["file"]) == ("equal", "Game_1.slp")
        changed = tmp_path / "changed.slp"
        data = bytearray(game.read_bytes())
        data[data.index(b"\x38" + (50).to_bytes(4, "big")) + 0x21] ^= 1
        changed.write_bytes(data)
        for arguments, code in (((), 0), ((game,), 0), ((changed,), 1), ((changed, "--frames", "finalized"), 1)):
            assert verify(f"{daemon.url}/main", *arguments) == code
            out, err = capfd.readouterr()
            assert err == ""
            assert out.startswith("equal: ") if not code else "frame 50, player 0, post.stocksRemaining" in out
        assert verify(f"{daemon.url}/nowhere") == 74
        daemon.terminate()


@pytest.mark.slow
def test_running_game_is_verified_up_to_its_last_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    game = folder / "Game_1.slp"
    empty = tmp_path / "empty.slp"
    empty.touch()
    data = synthetic_match(seed=2, frames=600, rollbacks=True)
    data = data[:11] + bytes(4) + data[15:]
    middle = data.index(b"\x38" + (200).to_bytes(4, "big")) + 3  # in the middle of a frame and of an event

    with running(folder) as daemon:
        daemon.wait_ready()
        game.write_bytes(data[:middle])
        daemon.until(lambda: any(line.get("event") == "game start" for line in daemon.lines))
        for arguments in ((), (game,), (game, "--frames", "finalized"), (game, "--topics", "frame,stats,diagnostic")):
            code = verify(f"{daemon.url}/main", *arguments)
            out, err = capfd.readouterr()
            assert (code, err) == (0, ""), out
        with game.open("ab") as file:
            file.write(data[middle : middle + 20_001])
            file.flush()
            assert verify(f"{daemon.url}/main", game) == 0
        assert verify(f"{daemon.url}/main", empty) == 1
        daemon.terminate()
