"""Twenty planted differences in a fleet of fifty setups are found, and none in an equal fleet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slpstream.api import read_game
from slpstream.game.described import DescribedGame
from slpstream.model.errors import Unreadable
from slpstream.parts.audit.cli import command
from tests.parts.audit.fleet import TWENTY, USUAL, Console, name_of, write_fleet, write_setup

SETUPS = 50
PLACES = [2 * number + 1 for number in range(len(TWENTY))]
"""The setups with planted differences, from 1."""


def audited(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of the command."""
    done = CliRunner().invoke(command, ["--json", *map(str, arguments)])
    return done.exit_code, json.loads(done.stdout)


def found_by(report: dict[str, Any]) -> set[tuple[str, str, int | None]]:
    """Setup, value and port of each difference."""
    return {
        (setup, finding["name"], finding.get("port"))
        for finding in report["findings"]
        if finding["kind"] != "changed"
        for setup in finding["setups"]
    }


def test_only_planted_differences_are_found(tmp_path: Path) -> None:
    """Other codes also change the fingerprint of the list."""
    write_fleet(tmp_path, SETUPS, {place: each.console for place, each in zip(PLACES, TWENTY, strict=True)})
    code, report = audited(tmp_path)
    assert code == 1
    expected = {(name_of(place), each.name, each.port) for place, each in zip(PLACES, TWENTY, strict=True)}
    expected |= {(name, "codes", None) for name, value, _ in expected if value.startswith("codes_")}
    assert found_by(report) == expected
    marked = {setup["setup"]: setup.get("differences", 0) for setup in report["setups"]}
    assert [name for name, count in marked.items() if count] == sorted({name for name, *_ in expected})
    for place, planted in zip(PLACES, TWENTY, strict=True):
        name = name_of(place)
        [found] = [each for each in report["findings"] if (each["name"], each["setups"]) == (planted.name, [name])]
        assert found["kind"] == "differs"
        assert planted.text in found["text"]
        assert found["words"].startswith(f"setup {name} differs from ")
        assert f"{found['title']} {found['text']}" in found["words"]


def test_folders_as_setups_and_one_setup_alone(tmp_path: Path) -> None:
    consoles: Sequence[Console] = (USUAL, USUAL, Console(stocks=3))
    folders = [tmp_path / place / "replays" for place in "abc"]
    for folder, console in zip(folders, consoles, strict=True):
        write_setup(folder, console)
    code, report = audited(*folders)
    assert code == 1
    assert [setup["setup"] for setup in report["setups"]] == ["replays", "replays-2", "replays-3"]
    assert found_by(report) == {("replays-3", "stocks", None)}
    alone = CliRunner().invoke(command, [str(folders[0])])
    assert alone.exit_code == 0
    assert "no two setups to compare" in alone.output


def test_unreadable_replays_are_reported(tmp_path: Path) -> None:
    write_fleet(tmp_path, 3, {})
    assert audited(tmp_path)[0] == 0
    (tmp_path / "02" / "broken.slp").write_bytes(b"not a replay")
    done = CliRunner().invoke(command, [str(tmp_path)])
    assert done.exit_code == 1
    assert "broken.slp: not a Slippi replay" in done.output
    assert "3 setups are equal." in done.output
    for file in (tmp_path / "02").iterdir():
        file.write_bytes(b"not a replay")
    done = CliRunner().invoke(command, [str(tmp_path)])
    assert done.exit_code == 1
    assert "no readable replays" in done.output
    assert "2 setups are equal." in done.output


def test_unreadable_file_has_its_own_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unless_denied(path: Path) -> DescribedGame:
        if path.parent.name == "02" and path.name == "Game_0.slp":
            raise Unreadable(str(path), "permission denied")
        return read_game(path)

    write_fleet(tmp_path, 3, {3: Console(stocks=3)})
    monkeypatch.setattr("slpstream.api.read_game", unless_denied)
    done = CliRunner().invoke(command, [str(tmp_path)])
    assert done.exit_code == 74
    assert "Game_0.slp: permission denied" in done.output
    assert "setup 03 differs from the other 2: stocks 3, elsewhere 4" in done.output


@pytest.mark.parametrize(("arguments", "code"), [(["missing"], 74), (["."], 1), (["http://a", "b"], 2)])
def test_wrong_arguments(arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(command, arguments).exit_code == code
