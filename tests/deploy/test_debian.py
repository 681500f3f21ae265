"""The Debian package: lintian, and installation, service, upgrade, removal and purge in a clean Debian root.

There is no systemd in it. The test imitates systemd: it creates the state folder, and runs the unit's command as the
unit's user.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slpstream.model.version import __version__
from tests.deploy import artefacts
from tests.deploy.debian_root import DebianRoot, needs_root
from tests.deploy.played_demo import get, play_demo
from tests.deploy.tools import needs
from tests.ports import free_port
from tests.synthetic.match import synthetic_match

pytestmark = [needs("dpkg-deb", "dh", "lintian", "mmdebstrap", "bwrap"), needs_root]

UNIT = "/lib/systemd/system/slpstream.service"
CONFIG = "/etc/slpstream/slpstream.toml"
STATE = "/var/lib/slpstream"
READY_SECONDS = 60.0


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return artefacts.debian_package(tmp_path_factory)


def next_version(package: Path, folder: Path) -> Path:
    """The same package with a higher version and another default configuration."""
    tree = folder / "next"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*", "Version: 99.0", control.read_text()))
    config = tree / CONFIG.removeprefix("/")
    config.write_text(f"# Of version 99.\n{config.read_text()}")
    built = folder / "slpstream_99.0_amd64.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, built], check=True, stdout=subprocess.DEVNULL
    )
    return built


def unit_settings(debian: DebianRoot) -> dict[str, str]:
    lines = debian.path(UNIT).read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


@contextlib.contextmanager
def service(debian: DebianRoot) -> Iterator[str]:
    """Run the unit's command as its user. Yields its address once the service is ready."""
    settings = unit_settings(debian)
    user = settings["User"]
    debian.run("install", "-d", "-m", "700", "-o", user, "-g", user, f"/var/lib/{settings['StateDirectory']}")
    port = free_port()
    address = f"slpstream-test-{port}"
    environment = {"NOTIFY_SOCKET": f"@{address}", "STATE_DIRECTORY": STATE}
    command = [*settings["ExecStart"].split(), "--port", str(port)]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
        notifications.bind(f"\0{address}")
        notifications.settimeout(READY_SECONDS)
        process = subprocess.Popen(debian.command(*command, user=user, environment=environment))
        try:
            while b"READY=1" not in notifications.recv(4096):
                pass
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(READY_SECONDS)


def games(base: str) -> list[str]:
    return [game["gameId"] for game in json.loads(get(f"{base}/v1/games"))["games"]]


def indexed_games(base: str) -> list[str]:
    """The games in the index, once it has any."""
    while not (found := games(base)):
        pass
    return found


def test_lintian_finds_no_fault(package: Path) -> None:
    command = ["lintian", "--allow-root", "--fail-on", "error,warning", str(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_install_run_upgrade_remove_purge(
    package: Path, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    debian = DebianRoot(artefacts.debian_root(tmp_path_factory), tmp_path / "root")
    for file in (package, next_version(package, tmp_path)):
        shutil.copy(file, debian.path("/root"))
    debian.run("apt-get", "update", "-qq")
    debian.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", f"/root/{package.name}")

    # Installed: the command, its manual page, and the demo.
    assert debian.run("slpstream", "--version") == f"slpstream, version {__version__}\n"
    assert debian.path("/etc/systemd/system/multi-user.target.wants/slpstream.service").is_symlink()
    assert debian.path("/usr/share/man/man1/slpstream.1.gz").exists()
    play_demo(debian.command("slpstream", user="slpstream"))

    # The service runs as its user, and indexes a game.
    debian.run("slpstream", "check-config", CONFIG, user="slpstream")
    with debian.path(CONFIG).open("a") as config:
        config.write('\n[[stations]]\nid = "tv1"\nfolder = "/srv/tv1"\n')
    debian.path("/srv/tv1").mkdir()
    debian.path("/srv/tv1/Game_1.slp").write_bytes(synthetic_match(frames=600))
    changed = debian.path(CONFIG).read_text()
    with service(debian) as base:
        [game] = indexed_games(base)
    owner = debian.run("stat", "--format=%U:%G %a", STATE)
    assert owner == "slpstream:slpstream 700\n"

    # An upgrade keeps the changed configuration and the state.
    state = debian.contents(STATE)
    newer = ("-o", "Dpkg::Options::=--force-confold", "/root/slpstream_99.0_amd64.deb")
    debian.run("apt-get", "install", "-y", "-qq", *newer)
    assert "99.0" in debian.run("dpkg-query", "-W", "slpstream")
    assert debian.path(CONFIG).read_text() == changed
    assert debian.contents(STATE) == state
    with service(debian) as base:
        assert indexed_games(base) == [game]

    # Removal keeps both; the purge removes everything.
    state = debian.contents(STATE)
    debian.run("apt-get", "remove", "-y", "-qq", "slpstream")
    assert not debian.path("/usr/bin/slpstream").exists()
    assert not debian.path("/usr/lib/slpstream").exists()
    assert debian.path(CONFIG).read_text() == changed
    assert debian.contents(STATE) == state
    debian.run("apt-get", "purge", "-y", "-qq", "slpstream")
    left = debian.files("etc", "lib/systemd", "usr", "var/cache", "var/lib")
    assert not [name for name in left if "slpstream" in name]
    assert debian.attempt("getent", "passwd", "slpstream").returncode == 2
    assert debian.attempt("getent", "group", "slpstream").returncode == 2
