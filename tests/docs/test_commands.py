"""Every command in the pages runs, page by page, in a sandbox: a copy of the checkout, a home folder and a root folder.
The README and the texts for contributors and maintainers are pages too.

The copy of the checkout is reset for each page, but always in the same folder, so that uv recognises it and does not
build the same package for every page. Pages also share downloads and built requirements, in the caches of uv and pip.

`sudo` is removed, and folders of the system are replaced by folders of the sandbox. Commands for PowerShell are
translated. `commands.REASONS` lists the commands that cannot run there. Commands that run until they are stopped are
stopped once they answer.

The gate runs the commands of the README and of changed pages, as defined in `changes.py`.

Determinism: daemons listen on free ports, and tests wait for their output, with a deadline.
"""

from __future__ import annotations

import grp
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import nullcontext
from pathlib import Path

import click
import pytest

from slpstream.cli import cli
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.docs.changes import by_page
from tests.docs.checkout import copy_checkout
from tests.docs.commands import OTHER_LANGUAGES, PAGES, REASONS, SHELLS, commands, pages_that_run
from tests.docs.pages import all_blocks, blocks
from tests.docs.plain_python import make_environment
from tests.project import ROOT
from tests.synthetic.match import synthetic_match

UNTIL_STOPPED = re.compile(
    r"(?:(?:python3 -m |~/\.uv/bin/)?uv tool run --from \. )?\S*slpstream(?: demo| start| serve(?: --config \S+)?)?$"
)
PORT_IN_PAGES = "127.0.0.1:5151"
STOP_SECONDS = 120


def _git(checkout: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=checkout, check=True)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout that git can restore."""
    folder = copy_checkout(tmp_path_factory.mktemp("checkout"))
    _git(folder, "init", "--quiet", "--template=")
    _git(folder, "add", "--all", "--force")
    return folder


@pytest.fixture
def checkout(copied: Path) -> Path:
    """The copy, without the traces of earlier pages."""
    _git(copied, "clean", "-ffdx", "--quiet")
    _git(copied, "checkout", "--quiet", "--", ".")
    shutil.rmtree(copied / ".git/hooks", ignore_errors=True)
    return copied


class Sandbox:
    """A home, a root folder and a copy of the checkout."""

    def __init__(self, folder: Path, checkout: Path, daemon: DaemonProcess | None) -> None:
        self.root = folder / "root"
        self.home = folder / "home"
        self.checkout = checkout
        self.daemon = daemon
        for name in (
            "etc/systemd/system",
            "etc/sysusers.d",
            "etc/slpstream",
            "home/bob/Slippi",
            "opt",
            "srv",
            "var/lib/slpstream",
        ):
            (self.root / name).mkdir(parents=True)
        (self.home / "Slippi").mkdir(parents=True)
        (self.checkout / "game.slp").write_bytes(synthetic_match(seed=1, frames=300, rollbacks=True))
        for name in ("replays", "setups/1", "setups/2"):
            (self.checkout / name).mkdir(parents=True)
        shutil.copy(self.checkout / "game.slp", self.home / "Slippi")
        for copy in ("replays/game.slp", "setups/1/game.slp", "setups/2/game.slp", "Game_1.slp", "Game_2.slp"):
            shutil.copy(self.checkout / "game.slp", self.checkout / copy)
        programs = folder / "programs"
        programs.mkdir()
        # An editor that writes the configuration of the page.
        stations = f'[[stations]]\nid = "tv1"\nfolder = "{self.home}"\n'
        (self.checkout / "slpstream.toml").write_text(stations)
        (programs / "sudoedit").write_text(f"#!/bin/sh\ncat >\"$1\" <<'END'\n{stations}END\n")
        (programs / "sudoedit").chmod(0o755)
        uv = shutil.which("uv")
        path = [programs, self.home / ".local/bin", folder / "python/bin", Path(sys.executable).parent]
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("UV_PROJECT", "VIRTUAL_ENV"))},
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*map(str, path), *([str(Path(uv).parent)] if uv else []), "/usr/bin", "/bin"]),
            "XDG_STATE_HOME": str(self.home / "state"),
            "SLPSTREAM_PURE": "1",  # test_first_minutes.py builds the kernel; here it would be built for each page
            "UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR") or str(Path.home() / ".cache/uv"),
            "PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR") or str(Path.home() / ".cache/pip"),
            "PIP_NO_COMPILE": "1",  # most installed modules are never imported
        }
        make_environment(folder / "python", self.environment)

    def adapted(self, command: str) -> str:
        """The command with the folders of the sandbox, without `sudo`."""
        group, user = grp.getgrgid(os.getgid()).gr_name, pwd.getpwuid(os.getuid()).pw_name
        command = re.sub(r"\bsudo(?! *edit)(?=\s)\s*", "", command)
        command = re.sub(r"(?<![\w.~])/(etc|opt|srv|home|var)/", rf"{self.root}/\1/", command)
        outside = re.findall(r"(?<![\w.~:/-])/(?!dev/null)\w+", command.replace(str(self.root), "ROOT"))
        assert not outside, f"{command}\nuses folders outside the sandbox: {outside}"
        command = re.sub(r"-g slpstream\b", f"-g {group}", re.sub(r"-o slpstream\b", f"-o {user}", command))
        if self.daemon is not None:
            command = command.replace(PORT_IN_PAGES, self.daemon.url.removeprefix("http://"))
        return command

    def run(self, command: str) -> None:
        """Run a command. One that would not end is stopped once it answers."""
        parts = command.split(" && ")
        if UNTIL_STOPPED.match(parts[-1]):
            alone = parts[-1].endswith("slpstream")  # on a terminal this is `start`
            parts[-1] += f"{' start --no-browser' if alone else ''} --port 0"
            self._run_until_it_answers(" && ".join(parts))
            return
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.checkout, env=self.environment, capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"

    def _run_until_it_answers(self, command: str) -> None:
        with subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.checkout, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        ) as process:  # fmt: skip
            limit = threading.Timer(STOP_SECONDS, lambda: os.killpg(process.pid, signal.SIGKILL))
            limit.start()
            try:
                assert process.stdout is not None
                output: list[str] = []
                answered = False
                for line in process.stdout:
                    output.append(line)
                    address = re.search(r"(?:^overlay +|\"url\": \")(http://[^\s\"]+)", line)
                    if address is not None:
                        with urllib.request.urlopen(address[1], timeout=20) as response:
                            answered = b"overlay" in response.read()
                    if line.startswith("Ctrl-C") or '"listening"' in line:
                        os.killpg(process.pid, signal.SIGINT)
                process.wait(STOP_SECONDS)
            finally:
                limit.cancel()
            assert answered, f"{command}\n{''.join(output)}"
            assert "Traceback" not in "".join(output), "".join(output)


@by_page(pages_that_run())
def test_commands_of_a_page_run(page: str, checkout: Path, tmp_path: Path) -> None:
    texts = [command.text for command in commands(page) if command.reason is None]
    watched = tmp_path / "watched"
    watched.mkdir()
    arguments = configuration(tmp_path, f'[[stations]]\nid = "watched"\nfolder = "{watched}"\n')
    asked = any(PORT_IN_PAGES in text for text in texts)
    with running(arguments=arguments) if asked else nullcontext() as daemon:
        sandbox = Sandbox(tmp_path, checkout, daemon)
        if any("-m uv" in text for text in texts) and not any("install uv" in text for text in texts):
            sandbox.run("python3 -m pip install uv")  # the page links to the page that begins with this
        for text in texts:
            sandbox.run(sandbox.adapted(text))


@pytest.mark.parametrize("pattern", REASONS)
def test_reason_belongs_to_a_command(pattern: str) -> None:
    assert any(re.match(pattern, command.text) for page in PAGES for command in commands(page))
    for test in re.findall(r"tests/\S+\.py", REASONS[pattern]):
        assert (ROOT / test).is_file()


def test_every_block_names_its_language() -> None:
    """Blocks of other languages would not be collected."""
    assert {block.language for block in all_blocks()} <= {*SHELLS, *OTHER_LANGUAGES}


def test_text_blocks_have_no_commands() -> None:
    prompts = re.compile(
        rf"^(?:[$>#] |(?:sudo|uv|curl|python3?|slpstream (?:{'|'.join(cli.list_commands(click.Context(cli)))})) )",
        re.MULTILINE,
    )
    assert not [block for block in blocks("text") if prompts.search(block.text)]
