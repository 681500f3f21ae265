"""`slpstream init`: the file that it writes, from options and from answers on a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slpstream.config import Config, usual_folders
from slpstream.parts import registry
from slpstream.parts.init.cli import command
from tests.cli.command_line import CONFIG, called, error_line, exit_code, slpstream
from tests.marks import require_parts


def written(folder: Path, *options: object) -> Config:
    """The configuration that `init` writes without a terminal. It is one that `check-config` accepts."""
    file = folder / "slpstream.toml"
    done = called(command, file, *options)
    assert done.exit_code == 0, done.output
    assert f"slpstream serve --config {file}" in done.output
    assert exit_code("check-config", file) == 0
    assert len(file.read_text("utf-8").splitlines()) <= 25
    assert "slpstream reference config" in file.read_text("utf-8")
    return registry.load(file)


def test_defaults_watch_the_usual_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "Slippi").mkdir()
    config = written(tmp_path)
    assert [station.folder for station in config.stations] == [str(folder) for folder in usual_folders()]
    assert [station.id for station in config.stations] == ["Slippi"]
    assert (config.server.host, config.server.token_file) == ("127.0.0.1", "")
    assert {each.name for each in tmp_path.iterdir()} == {"Slippi", "slpstream.toml"}


@pytest.mark.parametrize("name", ["Slippi", 'it\'s "mine" # = [x]', "日本 é 🎮", "tab\tand\\backslash"])
def test_folders(tmp_path: Path, name: str) -> None:
    if sys.platform == "win32" and not name.isalpha():
        pytest.skip("not a name on Windows")
    folder = tmp_path / name
    config = written(tmp_path, "--folder", folder, "--folder", tmp_path / "second")
    assert [station.folder for station in config.stations] == [str(folder), str(tmp_path / "second")]
    assert len({station.id for station in config.stations}) == 2


def test_each_subfolder_is_a_setup(tmp_path: Path) -> None:
    [station] = written(tmp_path, "--setups", "--folder", tmp_path / "setups").stations
    assert (station.id, station.folder) == ("*", str(tmp_path / "setups"))


def test_network_gets_a_new_token(tmp_path: Path) -> None:
    config = written(tmp_path, "--reach", "network")
    assert config.server.host == "0.0.0.0"
    token = Path(config.server.token_file)
    assert token == tmp_path / "slpstream-token"
    assert len(token.read_text().strip()) >= 32
    if sys.platform != "win32":
        assert token.stat().st_mode & 0o077 == 0


def test_existing_token_stays(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("sesame\n")
    assert written(tmp_path, "--token-file", token).server.token_file == str(token)
    assert token.read_text() == "sesame\n"


def test_file_without_a_token_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    done = slpstream("init", tmp_path / "slpstream.toml", "--token-file", tmp_path / "token")
    assert done.returncode == CONFIG
    assert "server.token_file" in error_line(done)
    assert not (tmp_path / "slpstream.toml").exists()


def test_control_of_obs(tmp_path: Path) -> None:
    require_parts("obs")
    assert "obs" in written(tmp_path, "--obs", "control").parts
    (tmp_path / "slpstream.toml").unlink()
    assert "obs" not in written(tmp_path, "--obs", "overlay").parts


def test_existing_file_needs_force(tmp_path: Path) -> None:
    file = tmp_path / "slpstream.toml"
    file.write_text("# mine\n")
    done = slpstream("init", file, "--reach", "network")
    assert done.returncode == CONFIG
    assert "--force" in error_line(done)
    assert [*tmp_path.iterdir()] == [file]
    assert file.read_text() == "# mine\n"
    written(tmp_path, "--force", "--folder", tmp_path)


@pytest.mark.process
def test_invalid_answer_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert exit_code("init", tmp_path / "slpstream.toml", "--folder", tmp_path / "file") == 2
    token = tmp_path / "missing" / "token"
    assert slpstream("init", tmp_path / "slpstream.toml", "--token-file", token).returncode == 74
    assert [*tmp_path.iterdir()] == [tmp_path / "file"]


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudoterminal")
@pytest.mark.parametrize(
    ("typed", "options", "expected"),
    [
        (["", "", "", ""], [], {"Slippi": "127.0.0.1"}),
        (["n", "mine", "machine", "overlay"], [], {"mine": "127.0.0.1"}),
        (["y", "all", "elsewhere", "network", "token", "control"], [], {"*": "0.0.0.0"}),
        (["mine", "network", "token"], ["--one-setup", "--obs", "overlay"], {"mine": "0.0.0.0"}),
        ([], ["--yes"], {"Slippi": "127.0.0.1"}),
    ],
)
def test_answers_on_a_terminal(tmp_path: Path, typed: list[str], options: list[str], expected: dict[str, str]) -> None:
    if "control" in typed:
        require_parts("obs")
    ours, theirs = os.openpty()
    environment = {**os.environ, "HOME": str(tmp_path)}
    arguments = [sys.executable, "-m", "slpstream", "init", *options]
    with subprocess.Popen(arguments, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=environment) as run:
        os.close(theirs)
        os.write(ours, "".join(f"{line}\n" for line in typed).encode())
        shown = b""
        try:
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:
            pass  # raised on Linux once the other end is closed
    os.close(ours)
    assert run.returncode == 0, shown.decode()
    assert shown.count(b"]: ") == len(typed), "each question is asked once, and again after an impossible answer"
    config = registry.load(tmp_path / "slpstream.toml")
    assert {station.id: config.server.host for station in config.stations} == expected
    [station] = config.stations
    assert Path(station.folder).is_relative_to(tmp_path)
    assert bool(config.server.token_file) is (config.server.host == "0.0.0.0")
