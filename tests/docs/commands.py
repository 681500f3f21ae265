"""The commands of the pages, and the reasons why some of them cannot run in a test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.docs.pages import Block, all_blocks, blocks

SYSTEM = "changes the machine, and needs systemd as its first process; tests/deploy/test_unit.py checks the unit"
USERS = "changes the users of the machine"
REASONS: Mapping[str, str] = {
    r"sudo apt install|sudo pacman": "installs packages of the system",
    r"deploy/(debian|linux|windows)/build": "takes a minute; tests/deploy builds each of them and runs what it makes",
    r"deploy/release dist": "takes minutes; tests/deploy/test_release.py",
    r"sudo env UV_PYTHON_INSTALL_DIR=": "downloads a Python, which registries of packages do not have",
    r"sudo systemctl|systemctl|journalctl": SYSTEM,
    r"sudo nsenter": "needs the service under systemd; tests/parts/reindex/test_reindex.py runs the command inside it",
    r"sudo systemd-sysusers|sudo userdel": USERS,
    r"sudo setfacl": "needs the user slpstream and a file system with ACLs",
    r"slpstream import-pictures": "needs the folder of another tool; tests/parts/pictures makes some",
    r"slpstream replays ~/Slippi": "needs a folder of games that count; tests/parts/handover/test_command.py",
    r"dolphin-emu": "needs Dolphin and the game; tests/parts/playback_dolphin reads the file as Dolphin does",
    r"curl -X POST \S*instant-replay": "needs a game that is played; tests/parts/playback_dolphin/test_daemon.py",
    r"(mkdir -p|chmod 600|slpstream .*) ~/production|slpstream simulate game\.slp --into ~/Slippi": (
        "needs OBS; tests/docs/test_production.py runs every step of the page"
    ),
    r"(mkdir -p|chmod -R go=|tar -czf|slpstream .*) ~/tournament": "tests/docs/test_tournament_day.py has a whole day",
    r"slpstream .* ~/melee": "tests/docs/test_data.py has replays for each of them",
    r"slpstream seats": "needs a daemon with seats; tests/parts/seats/test_cli.py has one",
    r"git pull": "needs a remote repository",
    r"launchctl": "needs macOS",
    r"curl .* http://192\.168": "needs a second machine; tests/web/test_access.py has requests from other addresses",
    r"slpstream info game\.tap|slpstream serve ~/races": "tests/formats/test_third_party.py installs that format",
    r"slpstream (?:serve|gateway) --config /etc/slpstream": "needs a broker; tests/parts/fanout/test_gateway_unit.py",
    r"python3 -m pip install uv && .* pytest": "runs the test that you are reading",
    r"python -m tests\.(formats|stats|replays)|SLPSTREAM_WRITE_GOLDEN=": "writes golden files",
    r"cd |g\+\+|LD_PRELOAD=": "takes minutes, and needs the libraries of AddressSanitizer",
}
"""The reasons why matching commands cannot run here."""
SHELLS = ("sh", "powershell")
OTHER_LANGUAGES = {"csharp", "css", "graphql", "html", "ini", "js", "json", "python", "text", "toml", "xml", "yaml"}
"""Languages of blocks without commands."""
PAGES = {
    page: [block for block in all_blocks() if block.page == page and block.language in SHELLS]
    for page in {block.page for shell in SHELLS for block in blocks(shell)}
}


class Command(NamedTuple):
    """One command of a page."""

    page: str
    text: str

    @property
    def reason(self) -> str | None:
        """The reason why it cannot run here; `None` if it can."""
        return next((reason for pattern, reason in REASONS.items() if re.match(pattern, self.text)), None)


def commands(page: str) -> list[Command]:
    """The commands of a page. A command continues after a line that ends with a backslash (in PowerShell: a backtick),
    and through a here-document."""
    return [Command(page, command) for block in PAGES[page] for command in _commands(block)]


def _commands(block: Block) -> Iterator[str]:
    lines = iter(block.text.splitlines())
    for line in lines:
        text = line
        while text.endswith("`" if block.language == "powershell" else "\\"):
            text += "\n" + next(lines)
        document = re.search(r"<<'(\w+)'", text)
        while document is not None and not text.endswith(f"\n{document[1]}"):
            text += "\n" + next(lines)
        command = re.sub(r"\s{2,}# .*", "", text)
        yield from_powershell(command) if block.language == "powershell" else command


def from_powershell(command: str) -> str:
    """The same command for a POSIX shell."""
    return re.sub(r"^py(?: -3\.\d+)?(?= )", "python3", command)


def pages_that_run() -> list[str]:
    """The pages with commands that can run here."""
    return sorted(page for page in PAGES if any(command.reason is None for command in commands(page)))
