"""Run commands like users: in a process, on a terminal, or in the process of the test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from slpstream.cli import main

NO, USAGE, INPUT_OUTPUT, CONFIG = 1, 2, 74, 78
"""Exit codes."""
_PYTHON = (sys.executable, "-W", "error")


def slpstream(
    *arguments: str | Path, before: str = "", stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """Run a command in its own process. `before` is Python that runs in it first."""
    called = ["-c", f"{before}; from slpstream.cli import main; main()"] if before else ["-m", "slpstream"]
    command = [*_PYTHON, *called, *map(str, arguments)]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=120, check=False
    )


def in_shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell that knows the command `slpstream`."""
    line = command.replace("slpstream", f"{' '.join(_PYTHON)} -m slpstream", 1)
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=120, check=False)


def error_line(done: subprocess.CompletedProcess[str] | Result) -> str:
    """The only line on stderr, which must not be a traceback."""
    assert "Traceback" not in done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("slpstream: ")
    return str(line)


def called(command: Any, *arguments: object) -> Result:
    """Run a command in this process. Exceptions other than exits are raised."""
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def exit_code(*arguments: object) -> int:
    """Run a command in this process through the whole entry point, and return its exit code.

    Its output is left for a capturing fixture.
    """
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    return int(exit_.value.code or 0)


def on_terminal(*arguments: str | Path) -> tuple[subprocess.CompletedProcess[bytes], str]:
    """Run a command whose stderr is a terminal. Return the process and its stderr."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "400"}
    environment.pop("NO_COLOR", None)
    command = [*_PYTHON, "-m", "slpstream", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:
            pass  # raised on Linux once the other end is closed
        assert process.stdout is not None
        printed = process.stdout.read()
    os.close(ours)
    return subprocess.CompletedProcess(command, process.returncode, printed), shown.decode()
