"""The commands with all formats: the same options, and output of the same form."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from slpstream.api import messages
from slpstream.formats.registry import choose, formats, of_name
from slpstream.model.topics import TOPICS
from tests.cli.command_line import slpstream as command
from tests.formats.games import SYNTHETIC, games, names
from tests.formats.mk8 import built as mk8
from tests.replays import SHARED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in games().items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize("name", sorted(games()))
def test_messages_have_the_same_order_in_all_formats(name: str, folder: Path) -> None:
    log = [json.loads(message.json()) for message in messages(folder / name)]
    types = [message["type"] for message in log]
    assert types[0] == "game_start"
    assert types[-1] == "game_end"
    assert log[0]["format"] == of_name(name).name != "slippi"
    assert log[-1]["reason"] == "file_end"
    assert {message["gameId"] for message in log} == {log[0]["gameId"]}
    assert len({message["cursor"] for message in log}) == len(log)
    frames = [message["frame"]["frame"] for message in log if message["type"] == "frame"]
    assert frames == list(range(frames[0], frames[0] + len(frames))) if frames else log[0]["format"] == "mk8"
    for message in log:
        if message["type"] == "frame":
            assert message["frame"]["players"]["0"]["inputs"].keys() >= {"raw", "buttons", "throttle", "brake", "steer"}
    finalized = [message for message in messages(folder / name, frames="finalized") if message.type == "frame"]
    assert [message.frame for message in finalized] == frames


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_dump_info_and_verify_agree(name: str, folder: Path) -> None:
    dumped = command("dump", folder / name, "--topics", ",".join(TOPICS))
    assert dumped.returncode == 0, dumped.stderr
    assert dumped.stdout.splitlines() == [message.json().decode() for message in messages(folder / name)]
    described = command("info", "--json", folder / name)
    row: dict[str, Any] = json.loads(described.stdout)
    assert row["format"] == of_name(name).name
    assert row["frames"] == sum('"type":"frame"' in line for line in dumped.stdout.splitlines())
    assert row["settings"] == json.loads(dumped.stdout.splitlines()[0])["settings"]
    table = command("info", folder / name)
    assert table.returncode == 0
    assert "file_end" in table.stdout
    (folder / "log.jsonl").write_text(dumped.stdout)
    same = command("verify", folder / name, folder / "log.jsonl", "--topics", ",".join(TOPICS))
    assert same.returncode == 0, same.stdout + same.stderr


def test_verify_names_the_first_difference(folder: Path) -> None:
    data = bytearray((folder / "race.rpl").read_bytes())
    data[-100] ^= 1
    (folder / "other.rpl").write_bytes(data)
    differs = command("verify", folder / "race.rpl", folder / "other.rpl", "--topics", "frame")
    assert differs.returncode == 1
    first, *around = differs.stdout.splitlines()
    assert first == "message 401: frame 200, player 0, inputs.throttle: A has 1.0, B has 0.0"
    assert around[:3] == ["    frame 198: 1.0", "    frame 199: 1.0", "    frame 200: 1.0  |  0.0   <-- here"]
    assert [line.split(":")[0] for line in around[3:]] == ["    frame 201", "    frame 202"]


def test_info_draws_the_track(folder: Path) -> None:
    drawn = command("info", "--track", folder / "race.rpl")
    assert drawn.returncode == 0
    assert len([line for line in drawn.stdout.splitlines() if len(line) == 30]) >= 30
    assert command("info", "--track", folder / "race.gci").returncode == 1


def test_strict_rejects_a_wrong_checksum(folder: Path) -> None:
    data = bytearray((folder / "race.gci").read_bytes())
    data[-1] ^= 1
    (folder / "bad.gci").write_bytes(data)
    lenient = command("dump", folder / "bad.gci", "--topics", "diagnostic")
    assert (lenient.returncode, '"code":"checksum"' in lenient.stdout) == (0, True)
    strict = command("dump", "--strict", folder / "bad.gci")
    assert strict.returncode == 1
    assert strict.stderr.startswith(f"slpstream: {folder / 'bad.gci'}: ")
    assert strict.stderr.count("\n") == 1


def test_personal_data_is_left_out_unless_requested(folder: Path) -> None:
    ghost = folder / f"{mk8.FILE_NAME}.dat"
    assert "profileId" not in command("info", "--json", ghost).stdout
    assert "profileId" in command("info", "--json", "--personal", ghost).stdout


def test_format_is_chosen_by_suffix_and_bytes() -> None:
    for name, data in games().items():
        expected = {".gci": "gci", ".rpl": "stunts", ".dat": "mk8"}[Path(name).suffix]
        for file_name in (name, name.upper()):
            chosen = choose(file_name, data[:0x500], len(data))
            assert chosen is not None
            assert chosen.name == expected
    ghost = games()[f"{mk8.FILE_NAME}.dat"]
    assert of_name("renamed.bin", ghost[:0x500], len(ghost)).name == "mk8"
    assert choose("settings.dat", b"something else", 14) is None
    assert choose("save.gci", b"GALE01" + bytes(0x2100), 0x4040) is None
    assert of_name("broken.slp", b"rubbish", 7).name == "slippi"
    assert [format_.name for format_ in formats()][:4] == ["slippi", "gci", "mk8", "stunts"]


def test_bad_files_give_one_error_line_or_a_log(folder: Path) -> None:
    for name in SYNTHETIC:
        data = games()[name]
        for size in (4, 30, len(data) // 2, len(data) - 1):
            (folder / f"{size} bytes of {name}").write_bytes(data[:size])
    paths = [*folder.iterdir()]
    for room in ("gci", "stunts", "mk8"):
        paths += [path for path in sorted((SHARED / room / "bad").glob("*")) if path.suffix != ".json"]
    done = command("dump", *paths, "--topics", "game")
    assert done.returncode == 1
    errors = done.stderr.splitlines()
    assert all(re.fullmatch(r"slpstream: .+: .+, at offset \d+", line) for line in errors)
    logs = done.stdout.count('"type":"game_end"')
    assert len(errors) > 6
    assert len(errors) + logs == len(paths)
