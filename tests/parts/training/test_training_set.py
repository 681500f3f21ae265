"""Training sets: shards that do not depend on interruptions of the run, and their windows."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from slpstream.api import Sending, open_replay
from slpstream.parts.export.cli import command
from slpstream.parts.training import windows
from slpstream.parts.training.cli_folder import prepare
from slpstream.parts.training.columns import COLUMNS
from slpstream.parts.training.windows import IncompleteSet, TrainingSet
from tests.cli.command_line import called, slpstream
from tests.formats.slippi.built import ONLINE, Built
from tests.formats.slippi.writer import PlayerSetup, game_start


def write_games(folder: Path, count: int = 12) -> None:
    """Games of different lengths, one of them twice, and files that cannot be used for training."""
    folder.mkdir()
    for number in range(count):
        built = Built((3, 16, 0), random_seed=number).frames(-123, 200 + 200 * (number % 5), items=number % 3)
        (folder / f"Game_{number:02}.slp").write_bytes(built.end().closed())
    (folder / "copy.slp").write_bytes((folder / "Game_03.slp").read_bytes())
    (folder / "doubles.slp").write_bytes(Built(characters={0: 2, 1: 20, 2: 2, 3: 9}).frames(-123, -100).end().closed())
    (folder / "text.slp").write_text("no replay")


def export(games: Path, out: Path, *options: str, jobs: int = 1) -> subprocess.CompletedProcess[str]:
    """Run the command: in this process, or with two worker processes."""
    arguments = ["--to", "training", "--shard-mib", "1", "--jobs", str(jobs), "-o", str(out), *options, str(games)]
    if jobs == 1:
        result = called(command, *arguments)
        return subprocess.CompletedProcess(arguments, result.exit_code, result.stdout, result.stderr)
    return slpstream("export", *arguments)


def content(out: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(out.iterdir())}


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training") / "games"
    write_games(folder)
    return folder


@pytest.fixture(scope="module")
def finished(games: Path) -> Path:
    out = games.parent / "finished"
    run = export(games, out, "--validation", "0.3", "--seed", "7")
    assert run.returncode == 1, run.stderr  # because of the file that is not a replay
    return out


@pytest.mark.slow
def test_omitted_files_are_reported(games: Path, tmp_path: Path) -> None:
    run = export(games, tmp_path / "out")
    assert "doubles.slp: left out, because it has 4 players instead of two" in run.stderr
    assert "copy.slp: left out, because it has the same game as" in run.stderr
    assert "text.slp: not a Slippi replay" in run.stderr
    assert "of 12 games" in run.stdout


WHOLE = Built((3, 16, 0)).frames(-123, 600).end().closed()
CUT, CUT_LATER = WHOLE[: len(WHOLE) // 2], WHOLE[: len(WHOLE) * 3 // 4]
UNDECLARED_EVENT = Built((3, 16, 0)).frames(-123, 100).raw(b"\xee").end().closed()
NO_FRAMES = Built((3, 16, 0)).end().closed()


def write_zip(path: Path, copies: Sequence[bytes]) -> None:
    """Write a zip whose first member has a wrong checksum."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as opened:
        for number, data in enumerate(copies, 1):
            opened.writestr(f"{number}.slp", data)
    packed = bytearray(path.read_bytes())
    packed[packed.index(b"1.slp") + 5 + len(copies[0]) // 2] ^= 1
    path.write_bytes(packed)


def write_tar(path: Path, copies: Sequence[bytes]) -> None:
    with tarfile.open(path, "w") as opened:
        for number, data in enumerate(copies, 1):
            member = tarfile.TarInfo(f"{number}.slp")
            member.size = len(data)
            opened.addfile(member, io.BytesIO(data))


def write_folder(path: Path, copies: Sequence[bytes]) -> None:
    path.mkdir()
    for number, data in enumerate(copies, 1):
        (path / f"{number}.slp").write_bytes(data)


@pytest.mark.parametrize(
    ("write", "copies", "kept"),
    [
        (write_folder, (CUT, WHOLE, WHOLE), "2"),
        (write_folder, (CUT, CUT_LATER), "2"),
        (write_folder, (UNDECLARED_EVENT, WHOLE), "2"),
        (write_folder, (NO_FRAMES, WHOLE), "2"),
        (write_zip, (WHOLE, WHOLE, WHOLE), "2"),
        (write_tar, (CUT, WHOLE), "2"),
    ],
    ids=["folder", "cut", "undeclared event", "no frames", "damaged in a zip", "cut in a tar"],
)
def test_the_most_complete_copy_of_a_game_counts(
    tmp_path: Path, write: Callable[[Path, Sequence[bytes]], None], copies: Sequence[bytes], kept: str
) -> None:
    games = tmp_path / ("games.zip" if write is write_zip else "games.tar" if write is write_tar else "games")
    write(games, copies)
    run = export(games, tmp_path / "set")
    [game] = TrainingSet(tmp_path / "set").games
    assert game.facts["file"].endswith(f"{kept}.slp"), run.stderr
    if len(copies) == 3:
        assert "3.slp: left out, because it has the same game as" in run.stderr
    assert "1.slp: " in run.stderr


def named_game(name: str, last: int = 100, **rows: Any) -> bytes:
    """A game in which a player has this name."""
    built = Built((3, 16, 0))
    players = [PlayerSetup(index=0, character_id=2, display_name=name), PlayerSetup(index=1, character_id=20)]
    built.parts[1] = built.writer.event(game_start((3, 16, 0), players=players, stage_id=8, **rows))
    return built.frames(-123, last).end().closed()


def test_anonymised_copy_is_the_same_game(tmp_path: Path) -> None:
    games = tmp_path / "games"
    games.mkdir()
    session: dict[str, Any] = {"session_id": "mode.unranked-1", "game_number": 1}
    (games / "1.slp").write_bytes(named_game("Diamond Player", **session))
    (games / "2.slp").write_bytes(named_game("Mango", **session))
    (games / "3-next.slp").write_bytes(named_game("Mango", **session | {"game_number": 2}))
    (games / "4-tiebreaker.slp").write_bytes(named_game("Mango", **session, tiebreaker_number=1))
    (games / "5-offline.slp").write_bytes(named_game("Diamond Player"))
    (games / "6-offline.slp").write_bytes(named_game("Mango"))
    run = export(games, tmp_path / "set")
    written = [Path(game.facts["file"]).name for game in TrainingSet(tmp_path / "set").games]
    assert written == ["1.slp", "3-next.slp", "4-tiebreaker.slp", "5-offline.slp", "6-offline.slp"]
    assert "2.slp: left out, because it has the same game as" in run.stderr


def test_an_anonymised_copy_is_on_the_same_side_of_the_split(tmp_path: Path) -> None:
    splits = []
    for name in ("Mango", "Diamond Player"):
        games = tmp_path / name
        games.mkdir()
        for number in range(1, 9):
            data = named_game(name, -100, session_id="mode.unranked-1", game_number=number)
            (games / f"{number}.slp").write_bytes(data)
        export(games, tmp_path / f"set of {name}", "--validation", "0.5")
        splits.append([game.split for game in TrainingSet(tmp_path / f"set of {name}").games])
    assert splits[0] == splits[1]
    assert set(splits[0]) == {"train", "validation"}


def test_rows_in_shards_are_those_of_the_replays(games: Path, finished: Path) -> None:
    data = TrainingSet(finished)
    assert len(data.games) == 12
    assert len({game.shard for game in data.games}) > 2
    for number, game in enumerate(data.games):
        rows = open_replay(game.facts["file"]).training_rows()
        window = data.game(number)
        for column in COLUMNS:
            expected = rows[column.name]
            assert window[column.name].dtype == expected.dtype
            assert np.array_equal(window[column.name], expected, equal_nan=column.dtype == "f4"), column.name


@pytest.mark.parametrize("sending", ["first", "last"])
def test_shards_have_the_requested_sending(tmp_path: Path, sending: Sending) -> None:
    replay = tmp_path / "Game_1.slp"
    built = Built((3, 16, 0), major_scene=ONLINE).frames(-123, -101, finalized=-110)
    replay.write_bytes(built.frames(-105, -90, percent=50.0).end().closed())
    assert export(replay, tmp_path / "set", "--revisions", sending).returncode == 0
    game = TrainingSet(tmp_path / "set").game(0)
    assert game["frame"].tolist() == list(range(-123, -89))
    again = {"first": 0.0, "last": 50.0}[sending]  # of the frames that were sent twice
    assert game["p0_post_percent"].tolist() == [0.0] * 18 + [again] * 5 + [50.0] * 11


def test_shards_respect_the_size_limit(finished: Path) -> None:
    data = TrainingSet(finished)
    row_bytes = sum(np.dtype(column.dtype).itemsize for column in COLUMNS)
    for shard in {game.shard for game in data.games}:
        frames = [game.frames for game in data.games if game.shard == shard]
        assert len(frames) == 1 or sum(frames) * row_bytes <= 1 << 20


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="files on Windows have no holes unless a program asks for them")
def test_empty_slots_take_no_space(tmp_path: Path) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 20)
    if (tmp_path / "sparse").stat().st_blocks:
        pytest.skip("this file system has no holes")
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "long.slp").write_bytes(Built((3, 16, 0)).frames(-123, 20_000).end().closed())
    assert export(tmp_path / "games", tmp_path / "set", "--shard-mib", "64").returncode == 0
    [shard] = (tmp_path / "set").glob("*.arrow")
    assert shard.stat().st_blocks * 512 < shard.stat().st_size / 2
    with pa.OSFile(str(shard)) as file:
        table = pa.ipc.open_file(file).read_all()
    assert table["frame"].to_pylist() == list(range(-123, table.num_rows - 123))
    assert not any(table["item14_exists"].to_pylist())


def test_processes_do_not_change_the_files(games: Path, finished: Path, tmp_path: Path) -> None:
    export(games, tmp_path / "out", "--validation", "0.3", "--seed", "7", jobs=2)
    assert content(tmp_path / "out") == content(finished)


def test_the_seed_decides_the_split(games: Path, finished: Path, tmp_path: Path) -> None:
    splits = Counter(game.split for game in TrainingSet(finished).games)
    assert set(splits) == {"train", "validation"}
    assert len(TrainingSet(finished, split="validation").games) == splits["validation"]
    export(games, tmp_path / "other", "--validation", "0.3", "--seed", "8")
    assert [g.split for g in TrainingSet(tmp_path / "other").games] != [g.split for g in TrainingSet(finished).games]


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be synchronised there")
@pytest.mark.parametrize("layout", ["training", "slippi-ai"])
def test_list_is_on_the_disk_after_its_games(
    games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    out = tmp_path / "set"
    lasting: dict[int, int] = {}
    """The sizes of the files that are on the disk, by inode."""
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        lasting[os.fstat(descriptor).st_ino] = os.fstat(descriptor).st_size
        if os.fstat(descriptor).st_ino in {path.stat().st_ino for path in (out, out / "games") if path.exists()}:
            named.clear()

    named: set[str] = set()
    """The names that were written since their folder was last synchronised."""

    def replaced(file: Path, target: Path) -> Path:
        assert "plan.json" not in named
        if target.suffix == ".json":  # shards and the files of games follow when their part is completed
            assert lasting.pop(file.stat().st_ino) == file.stat().st_size
        if target.parent.name == "parts":
            listed = json.loads(file.read_text())["games"]
            names = {game.get("shard") or game["slp_md5"] for game in listed}
            assert not names & named
            paths = [out / ("games" if layout == "slippi-ai" else "") / name for name in names]
            assert all(lasting[path.stat().st_ino] == path.stat().st_size for path in paths)
        named.add(target.name)
        return replace(file, target)

    def unlinked(file: Path, **options: bool) -> None:
        assert not named & {"plan.json", "index.json", "meta.json"}
        unlink(file, **options)

    unlink = Path.unlink
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", synced)
        patched.setattr(Path, "replace", replaced)
        patched.setattr(Path, "unlink", unlinked)
        assert export(games, out, "--layout", layout).returncode == 1
    assert lasting


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("layout", ["training", "slippi-ai"])
@pytest.mark.parametrize("name", ["plan.json", "index.json", "shard-00000-000.arrow", "parts/part-00000.json"])
def test_foreign_files_are_never_removed(tmp_path: Path, layout: str, name: str) -> None:
    folder = tmp_path / "project"
    (folder / "games").mkdir(parents=True)
    (folder / "games" / "Game_1.slp").write_bytes(Built((3, 16, 0)).frames(-123, -100).end().closed())
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text('{"form": "mine", "layout": "training"}')
    if layout == "slippi-ai":
        (folder / name).rename(folder / "meta.json")
    before = files_below(folder)
    for options in ((), ("--overwrite",)):
        run = export(folder / "games", folder, "--layout", layout, *options)
        assert run.returncode == 2
        assert "not made by an export to this folder" in run.stderr
        assert files_below(folder) == before


def test_overwrite_removes_only_files_of_exports(tmp_path: Path) -> None:
    out, games = tmp_path / "project", tmp_path / "project" / "games"
    games.mkdir(parents=True)
    (games / "Game_1.slp").write_bytes(Built((3, 16, 0)).frames(-123, -100).end().closed())
    others = {"meta.json", "games/Game_1.slp", f"games/{'0' * 32}", "shard.arrow", ".note.tmp", "parts/note"}
    (out / "parts").mkdir()
    for name in others - {"games/Game_1.slp"}:
        (out / name).write_text(name)
    for options in ((), ("--overwrite",)):
        run = export(games, out, *options)
        assert run.returncode == 0, run.stderr
        assert set(files_below(out)) == others | {"index.json", "shard-00000-000.arrow"}
    run = export(games, out, "--overwrite", "--layout", "slippi-ai")
    assert run.returncode == 2
    assert "meta.json: not made by an export to this folder" in run.stderr
    assert len(TrainingSet(out).games) == 1


def test_games_of_slippi_ai_are_overwritten_by_their_names(tmp_path: Path) -> None:
    replay, out = tmp_path / "Game_1.slp", tmp_path / "set"
    replay.write_bytes(Built((3, 16, 0)).frames(-123, -100).end().closed())
    assert export(replay, out, "--layout", "slippi-ai").returncode == 0
    [entry] = json.loads((out / "meta.json").read_text())
    (out / "games" / "note").touch()
    replay.write_bytes(Built((3, 16, 0)).frames(-123, -90).end().closed())
    assert export(replay, out, "--layout", "slippi-ai").returncode == 2
    assert export(replay, out, "--layout", "slippi-ai", "--overwrite").returncode == 0
    [other] = json.loads((out / "meta.json").read_text())
    assert other["slp_md5"] != entry["slp_md5"]
    assert {path.name for path in (out / "games").iterdir()} == {other["slp_md5"], "note"}


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text on this system")
@pytest.mark.parametrize("layout", ["training", "slippi-ai"])
def test_a_name_that_is_not_utf_8_is_in_the_list(tmp_path: Path, layout: str) -> None:
    replay, out = tmp_path / os.fsdecode(b"Game_\xe9.slp"), tmp_path / "set"
    replay.write_bytes(Built((3, 16, 0)).frames(-123, -100).end().closed())
    run = export(replay, out, "--layout", layout)
    assert run.returncode == 0, run.stderr
    [game] = json.loads((out / "index.json").read_text())["games"]
    assert replay.name in game.get("file", game.get("name"))
    if layout == "slippi-ai":
        [entry] = json.loads((out / "meta.json").read_text())
        assert entry["name"] == game["name"]


def test_a_replay_is_not_removed_before_it_is_read(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    assert export(games / "Game_00.slp", out, "--layout", "slippi-ai").returncode == 0
    [file] = (out / "games").iterdir()
    before = files_below(out)
    run = export(file, out, "--overwrite")
    assert run.returncode == 2
    assert "would be removed before it is read" in run.stderr
    assert files_below(out) == before


def test_a_kill_while_a_set_is_overwritten_leaves_no_index(
    games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "set"
    assert export(games / "Game_00.slp", out).returncode == 0
    left = []

    def unlink(path: Path, **_: bool) -> None:
        left.append(path.name)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "unlink", unlink)
        prepare(out, {"form": 1, "layout": "training"}, [], overwrite=True)
    assert left == ["shard-00000-000.arrow"]
    with pytest.raises(IncompleteSet):
        TrainingSet(out)
    assert "holds part of another export" in export(games / "Game_00.slp", out).stderr
    assert export(games / "Game_00.slp", out, "--overwrite").returncode == 0


@pytest.mark.slow
def test_query_selects_the_same_games_as_find(games: Path, tmp_path: Path) -> None:
    query = "duration:>10s"
    found = set(slpstream("find", games, "--paths", query).stdout.splitlines())
    found -= {str(games / name) for name in ("copy.slp", "doubles.slp")}
    assert 0 < len(found) < 12
    run = export(games, tmp_path / "out", "--games", query, jobs=2)
    assert {game.facts["file"] for game in TrainingSet(tmp_path / "out").games} <= found | {str(games / "copy.slp")}
    assert len(TrainingSet(tmp_path / "out").games) == len(found)
    (line,) = [line for line in run.stderr.splitlines() if "query" in line]
    assert line.startswith("slpstream: games that do not match the query, left out: ")
    assert int(line.rpartition(" ")[2]) > 12 - len(found)  # and the doubles
    assert "doubles.slp" not in run.stderr
    assert "text.slp: not a Slippi replay" in run.stderr


def test_only_games_of_mine(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    for number, code in enumerate(("ME#1", "YOU#2")):
        built = Built((3, 16, 0))
        players = [PlayerSetup(index=0, character_id=2, connect_code=code), PlayerSetup(index=1, character_id=20)]
        start = game_start((3, 16, 0), players=players, stage_id=8, random_seed=number)
        built.parts[1] = built.writer.event(start)
        (folder / f"Game_{number}.slp").write_bytes(built.frames(-123, 0).end().closed())
    config = tmp_path / "slpstream.toml"
    config.write_text('[search]\nme = ["ME#1"]\n')
    for options in (("--config", str(config)), ("--me", "ME#1")):
        run = export(folder, tmp_path / "out", "--overwrite", "--games", "@me", *options)
        (game,) = TrainingSet(tmp_path / "out").games
        assert game.facts["players"][0]["connectCode"] == "ME#1", run.stderr


def test_another_query_does_not_continue_a_run(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert export(games, out, "--games", "duration:>8s").returncode == 1
    index = json.loads((out / "index.json").read_text())
    assert index["query"] == "duration:>8s"
    begun = {name: index[name] for name in ("form", "layout", "sending", "shard_bytes", "seed", "validation", "me")}
    files = sorted([*games.iterdir()])
    begun |= {"query": "duration:>8s", "files": [[str(file), file.stat().st_size] for file in files]}
    (out / "index.json").unlink()
    for shard in out.glob("shard-*"):
        shard.unlink()
    (out / "plan.json").write_text(json.dumps(begun))
    refused = export(games, out, "--games", "duration:>9s")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert "holds part of another export, of other replays or options" in line
    assert export(games, out, "--games", "duration:>8s").returncode == 1
    assert len(TrainingSet(out).games) == len(index["games"])
    again = export(games, out)
    assert again.returncode == 2
    assert "holds an earlier export" in again.stderr
    assert export(games, out, "--overwrite").returncode == 1


def test_mistakes_in_a_query_are_shown_at_their_places(games: Path, tmp_path: Path) -> None:
    run = export(games, tmp_path / "out", "--games", "fox>marth stgae:fd")
    assert run.returncode == 2
    assert run.stderr.splitlines()[0].startswith("slpstream: query: there is no key stgae")
    assert run.stderr.splitlines()[1:] == ["  fox>marth stgae:fd", "            ^^^^^"]
    assert not (tmp_path / "out").exists()


def test_an_unfinished_set_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(IncompleteSet, match="run the export again"):
        TrainingSet(tmp_path)


@pytest.mark.parametrize("seed", [None, 3])
def test_windows_occur_once_and_do_not_overlap(finished: Path, seed: int | None) -> None:
    data = TrainingSet(finished)
    seen: set[tuple[str, int]] = set()
    for window in data.windows(16, seed=seed):
        frames = window["frame"].tolist()
        assert frames == list(range(frames[0], frames[0] + 16))
        keys = {(window.game.game_id, frame) for frame in frames}
        assert not keys & seen
        seen |= keys
    lost = data.frames - len(seen)
    assert lost < len(data.games) * 32


def test_windows_are_shuffled_across_shards_by_the_seed(finished: Path) -> None:
    data = TrainingSet(finished)

    def order(seed: int) -> list[tuple[str, int]]:
        return [(window.game.shard, int(window["frame"][0])) for window in data.windows(16, seed=seed)]

    assert order(1) == order(1)
    assert order(1) != order(2)
    shards = [shard for shard, _ in order(1)]
    changes = sum(a != b for a, b in pairwise(shards))
    assert changes > len(shards) / 3


def test_windows_are_views_of_the_mapped_file(finished: Path) -> None:
    data = TrainingSet(finished)
    before = pa.total_allocated_bytes()
    for window in data.windows(16, seed=1):
        for matrix in window.matrices:
            assert not matrix.flags.writeable
            assert not matrix.flags.owndata
    assert pa.total_allocated_bytes() - before < 64 * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="counts the descriptors of this process in /proc")
def test_mapped_shards_keep_no_descriptors(finished: Path) -> None:
    data = TrainingSet(finished)
    before = len(list(Path("/proc/self/fd").iterdir()))
    read = list(data.windows(16, seed=1))
    assert len({window.game.shard for window in read}) > 2
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert read[0]["frame"][0] >= -123


def test_the_places_of_millions_of_windows_take_little_memory(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = TrainingSet(finished)
    expected = [(window.game.game_id, window.start) for window in data.windows(16, seed=1)]
    monkeypatch.setattr(windows, "WINDOWS_AT_ONCE", 7)
    assert [(window.game.game_id, window.start) for window in data.windows(16, seed=1)] == expected
    monkeypatch.undo()
    game = max(data.games, key=lambda game: game.frames)
    data.games = [game] * (30_000_000 // game.frames)
    count = sum(game.frames // 64 for game in data.games)
    tracemalloc.start()
    try:
        next(data.windows(64))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * count + (1 << 20)  # with all places as Python numbers, more than 90 bytes per window


def test_batches_are_the_same_windows(finished: Path) -> None:
    data = TrainingSet(finished)
    columns = ["p0_post_position_x", "p1_pre_buttons", "p0_post_percent", "item0_exists"]
    windows = list(data.windows(16, seed=4))
    batches = list(data.batches(16, 8, columns=columns, seed=4))
    assert len(batches) == len(windows) // 8
    for number, batch in enumerate(batches):
        for place, window in enumerate(windows[8 * number : 8 * number + 8]):
            for name in columns:
                assert np.array_equal(batch[name][place], window[name])


def test_reader_needs_only_numpy_and_pyarrow(finished: Path) -> None:
    script = f"""
import sys
from slpstream.parts.training.windows import TrainingSet
print(sum(window["p0_post_percent"].size for window in TrainingSet({str(finished)!r}).windows(16)))
ours = {{name.split(".")[0] for name in sys.modules}}
print(sorted(ours & {{"trio", "msgspec", "structlog", "watchdog", "click", "prometheus_client", "starlette"}}))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[1] == "[]"
    assert int(run.stdout.splitlines()[0]) > 0


def test_follow_gives_the_rows_of_the_file(games: Path) -> None:
    import slpstream

    path = games / "Game_04.slp"
    rows = list(slpstream.follow(path, layout="training"))
    expected = open_replay(path).training_rows()
    assert [int(row["frame"]) for row in rows] == expected["frame"].tolist()
    assert [float(row["p1_post_position_x"]) for row in rows] == expected["p1_post_position_x"].tolist()
