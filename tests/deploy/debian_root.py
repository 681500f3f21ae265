"""A clean Debian system in a folder, in which a test installs packages and runs programs."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="installing packages in a Debian root requires root")

COMMAND_SECONDS = 600


class DebianRoot:
    """A Debian system extracted into a folder. It shares only the network of the machine."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self.folder = folder
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="fully_trusted")

    def path(self, name: str) -> Path:
        """A path inside the system, as seen from outside."""
        return self.folder / name.removeprefix("/")

    def command(self, *command: str, user: str = "root", environment: dict[str, str] | None = None) -> list[str]:
        """The command that runs a command inside the system."""
        variables = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "DEBIAN_FRONTEND": "noninteractive",
            "LC_ALL": "C.UTF-8",
            **(environment or {}),
        }
        return [
            *("bwrap", "--bind", str(self.folder), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"),
            *(
                "--ro-bind",
                "/etc/resolv.conf",
                "/etc/resolv.conf",
                "--cap-add",
                "ALL",
                "--unshare-pid",
                "--die-with-parent",
            ),
            *("--clearenv", *(word for name, value in variables.items() for word in ("--setenv", name, value))),
            *(("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups") if user != "root" else ()),
            *command,
        ]

    def run(self, *command: str, user: str = "root") -> str:
        """Run a command inside the system, and return its output. Fails if the command fails."""
        done = self.attempt(*command, user=user)
        assert done.returncode == 0, f"{command}: {done.stdout}"
        return done.stdout

    def attempt(self, *command: str, user: str = "root") -> subprocess.CompletedProcess[str]:
        """Run a command inside the system that may fail."""
        return subprocess.run(
            self.command(*command, user=user),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )

    def files(self, *below: str) -> set[str]:
        """The names of all files and folders below some folders."""
        return {f"/{path.relative_to(self.folder)}" for name in below for path in self.path(name).rglob("*")}

    def contents(self, below: str) -> dict[str, bytes]:
        """All files below a folder, with their contents."""
        return {name: path.read_bytes() for name in self.files(below) if (path := self.path(name)).is_file()}
