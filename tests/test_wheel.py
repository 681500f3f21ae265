"""The built wheel in a separate environment: its command, and the public API as seen by type checkers.

The gate builds the wheel, checks its contents, and plays the demo from it once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.deploy import artefacts
from tests.deploy.played_demo import play_demo
from tests.project import IN_CI, ROOT

UV = os.environ.get("UV") or shutil.which("uv")
INSTALL_SECONDS = 300

CLIENT = """\
import slpstream

replay = slpstream.open_replay("game.slp")
reveal_type(slpstream.open_replay)
reveal_type(slpstream.messages)
reveal_type(slpstream.follow)
reveal_type(replay.frames)
reveal_type(replay.stats())

async def watch() -> None:
    async for message in slpstream.follow("game.slp"):
        reveal_type(message.json())
"""
PATH = "path: str | os.PathLike[str]"
FRAMES = "frames: Literal['live'] | Literal['finalized'] ="
TOPICS = "topics: typing.Iterable[str] ="
OTHERS = "strict: bool =, personal: bool =, growing: bool ="
SENDING = "sending: Literal['first'] | Literal['last'] ="
LIVE = "slpstream.system.live_iterator.LiveIterator"
LOG_MESSAGE = "slpstream.model.messages.LogMessage"
REVEALED = [
    f"def ({PATH}, *, strict: bool =, personal: bool =) -> slpstream.api.Replay",
    f"def ({PATH}, *, {FRAMES}, {TOPICS}, {OTHERS}) -> typing.Iterator[{LOG_MESSAGE}]",
    (
        f"Overload(def ({PATH}, *, {FRAMES}, {TOPICS}) -> {LIVE}[{LOG_MESSAGE}], "
        f"def ({PATH}, *, layout: Literal['training'], {SENDING}) -> {LIVE}[Any])"
    ),
    "slpstream.formats.slippi.columns.Frames",
    "slpstream.formats.slippi.stats.schema.Stats",
    "bytes",
]

needs_uv = pytest.mark.skipif(UV is None and not IN_CI, reason="no uv")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return artefacts.wheel(tmp_path_factory)


@pytest.fixture(scope="module")
def pure_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built without a compiler."""

    def make(folder: Path) -> None:
        artefacts.run_script(ROOT / "deploy/wheel/build", folder, SLPSTREAM_PURE="1")

    [built] = artefacts.made_once(tmp_path_factory, "pure-wheel", make).glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel, its requirements and mypy, but without numpy."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=UV is None)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(python), "-m", "pip", "install"] if UV is None else [UV, "pip", "install", "--python", str(python)]
    done = subprocess.run(
        [*install, "--quiet", str(wheel), f"mypy=={version('mypy')}"],
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode and not IN_CI:
        pytest.skip(f"cannot be installed here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return python


def checked(python: Path, client: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `mypy --strict` on a client outside the checkout. All clients share mypy's cache of the package."""
    (folder / "client.py").write_text(client, encoding="utf-8")
    return subprocess.run(
        [python, "-m", "mypy", "--strict", "--cache-dir", python.parent / "mypy_cache", "client.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )


def test_wheel_has_the_kernel_and_all_data_files(wheel: Path) -> None:
    assert re.fullmatch(r"slpstream-[\d.]+-cp311-abi3-manylinux_2_\d+_x86_64\.whl", wheel.name)
    built = {name.partition(".data/data/")[2] or name for name in zipfile.ZipFile(wheel).namelist()}
    assert "slpstream/formats/kernel/_kernel.abi3.so" in built
    assert "share/man/man1/slpstream.1" in built
    package = ROOT / "slpstream"
    sources = {path for path in package.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".so", ".pyd")}
    assert {path.relative_to(ROOT).as_posix() for path in sources} <= built
    assert not [name for name in built if name.startswith("tests")]


def test_wheel_has_the_licences_of_the_fonts(wheel: Path) -> None:
    fonts = ROOT / "slpstream/web/static/fonts"
    licences = sorted(path.name for path in fonts.glob("OFL-*.txt"))
    names = zipfile.ZipFile(wheel).namelist()
    [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
    declared = zipfile.ZipFile(wheel).read(metadata).decode()
    assert "License-Expression: MIT AND OFL-1.1\n" in declared
    assert len(licences) == 2
    for name in licences:
        assert f"License-File: slpstream/web/static/fonts/{name}\n" in declared
        assert f"slpstream/web/static/fonts/{name}" in names


@pytest.mark.release
def test_wheel_built_without_a_compiler_fits_every_platform(pure_wheel: Path) -> None:
    assert pure_wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in zipfile.ZipFile(pure_wheel).namelist() if name.endswith((".so", ".pyd"))]


@needs_uv
@pytest.mark.parametrize("kind", ["wheel", pytest.param("pure_wheel", marks=pytest.mark.release)])
def test_uvx_plays_the_demo_from_the_wheel(kind: str, request: pytest.FixtureRequest) -> None:
    assert UV is not None
    command = [UV, "tool", "run", "--quiet", "--python", sys.executable, "--from", request.getfixturevalue(kind)]
    play_demo([*command, "slpstream"])


@pytest.mark.release
@needs_uv
def test_pipx_installs_the_command_and_its_manual_page(wheel: Path, tmp_path: Path) -> None:
    assert UV is not None
    folders = {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}
    environment = {name: str(tmp_path / folder) for name, folder in folders.items()}
    command = [UV, "tool", "run", "--quiet", "--python", sys.executable, "pipx", "install", "--python", sys.executable]
    artefacts.run_script(*command, wheel, **environment)
    assert (tmp_path / "man/man1/slpstream.1").exists()
    play_demo([tmp_path / "bin/slpstream"])


@pytest.mark.release
def test_type_checker_reveals_the_real_types(python: Path, tmp_path: Path) -> None:
    done = checked(python, CLIENT, tmp_path)
    assert done.returncode == 0, done.stdout
    # Versions of mypy write unions and the module of builtins differently.
    text = done.stdout.replace("builtins.", "").replace("def (path: Union[str, ", "def (path: str | ")
    assert re.findall(r'Revealed type is "(.*)"', text) == REVEALED
