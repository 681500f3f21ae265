"""The page "add a format": its example is a package, which is built, installed and used."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.project import ROOT

PAGE = ROOT / "deploy" / "docs" / "add_a_format.md"
GAME = b"TAP1" + (120).to_bytes(2, "big") + bytes(i % 7 == 0 for i in range(120))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example installed, as an installer does it with a wheel of pure Python: unpacked."""
    project = tmp_path_factory.mktemp("slpstream-tap")
    for name, kind in (("pyproject.toml", "toml"), ("slpstream_tap.py", "python")):
        [content] = re.findall(rf"`{re.escape(name)}`:\n\n```{kind}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
        (project / name).write_text(content, encoding="utf-8")
    build = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, "dist"], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [wheel] = (project / "dist").glob("*.whl")
    target = project / "installed"
    zipfile.ZipFile(wheel).extractall(target)
    return target


def slpstream(*arguments: str | Path, path: Path | None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ({} if path is None else {"PYTHONPATH": str(path)})
    command = [sys.executable, "-m", "slpstream", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_its_files_are_read_like_all_others(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "game.tap").write_bytes(GAME)
    dumped = slpstream("dump", tmp_path / "game.tap", path=installed)
    assert dumped.returncode == 0, dumped.stderr
    log = [json.loads(line) for line in dumped.stdout.splitlines()]
    assert log[0]["format"] == "tap"
    frames = [message["frame"] for message in log if message["type"] == "frame"]
    assert [frame["frame"] for frame in frames] == list(range(120))
    assert [f["frame"] for f in frames if f["players"]["0"]["inputs"].get("buttons")] == list(range(0, 120, 7))
    assert log[-1]["durationSeconds"] == 2
    row = json.loads(slpstream("info", "--json", tmp_path, path=installed).stdout)
    assert (row["format"], row["frames"]) == ("tap", 120)
    same = slpstream("verify", tmp_path / "game.tap", tmp_path / "game.tap", path=installed)
    assert same.returncode == 0
    (tmp_path / "cut.tap").write_bytes(GAME[:-1])
    cut = slpstream("dump", tmp_path / "cut.tap", path=installed)
    assert cut.returncode == 1
    assert cut.stderr == f"slpstream: {tmp_path / 'cut.tap'}: 120 frames take 126 bytes, there are 125, at offset 4\n"


def test_without_it_they_are_no_replays(tmp_path: Path) -> None:
    (tmp_path / "game.tap").write_bytes(GAME)
    refused = slpstream("dump", tmp_path / "game.tap", path=None)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    ("pattern", "broken", "what"),
    [
        (r"FORMAT = Format.*", 'FORMAT = "tap"', "expected a slpstream.formats.Format"),
        (r"import msgspec\n", "import msgspec_of_old\n", "cannot be loaded"),
        (r'Format\("tap"', 'Format("gci"', "the name gci is taken"),
    ],
)
def test_a_broken_package_is_named(installed: Path, tmp_path: Path, pattern: str, broken: str, what: str) -> None:
    shutil.copytree(installed, tmp_path, dirs_exist_ok=True)
    module = tmp_path / "slpstream_tap.py"
    changed = re.sub(pattern, broken, module.read_text("utf-8"))
    assert changed != module.read_text("utf-8")
    module.write_text(changed, encoding="utf-8")
    (tmp_path / "game.tap").write_bytes(GAME)
    refused = slpstream("dump", tmp_path / "game.tap", path=tmp_path)
    assert refused.returncode == 78, refused.stderr
    assert what in refused.stderr
    assert refused.stderr.count("\n") == 1
