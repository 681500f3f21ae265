"""A reader who follows a page from its first step to its last: a home folder, and a shell in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def steps_of(text: str) -> Mapping[int, str]:
    """The text of each step of a page, by number: the section of the heading `## 7. ...`."""
    found = re.findall(r"^## (\d+)\. (.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    return {int(number): step for number, step in found}


def blocks_of(step: str, language: str) -> list[str]:
    """The blocks of a step."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", step, re.MULTILINE | re.DOTALL)
    return [text for _, text in found]


class Reader:
    """A reader with a separate home folder and an installed slpstream."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self.home = home
        programs = Path(sys.executable).parent
        self.environment = {**os.environ, "HOME": str(home), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def shell(self, text: str, *, code: int = 0) -> str:
        """Enter commands that exit with `code`, and return their output, stderr last."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.home, env=self.environment, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == code, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def arguments_of_serve(self, command: str) -> tuple[str, ...]:
        """The arguments of a `slpstream serve` command on the page."""
        words = command.split()
        assert words[:2] == ["slpstream", "serve"]
        return tuple(word.replace("~", str(self.home)) for word in words[2:])
