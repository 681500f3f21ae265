"""structlog, set up once: JSON lines under systemd and in pipes, coloured lines on a terminal.

`station` is bound with contextvars, which follow trio tasks and worker threads (not watchdog's threads: those only wake
tasks and log nothing). Logs go to stderr; stdout belongs to the commands' own output. Lines that go straight to the
journal begin with their level as sd-daemon(3) has it, so that `journalctl -p warning` finds them.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import Literal, TextIO

import structlog

LogFormat = Literal["auto", "json", "console"]
_JOURNAL_LEVELS: Mapping[str, str] = {
    "debug": "<7>",
    "info": "<6>",
    "warning": "<4>",
    "error": "<3>",
    "critical": "<2>",
}


def configure(log_format: LogFormat, level: str, stream: TextIO | None = None) -> None:
    """Sets up structlog for the process. `level` is a name of the standard library's levels in lower case."""
    stream = sys.stderr if stream is None else stream
    if log_format == "auto":
        log_format = "console" if stream.isatty() and "INVOCATION_ID" not in os.environ else "json"
    processors: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer(colors=stream.isatty())
        if log_format == "console"
        else structlog.processors.JSONRenderer(sort_keys=False)
    )
    if is_journal(stream):
        renderer = _with_journal_level(renderer)
    structlog.configure(
        processors=[*processors[: -1 if log_format == "console" else None], renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )


def _with_journal_level(renderer: structlog.types.Processor) -> structlog.types.Processor:
    """The level before each line: the journal takes every line of a traceback as a message of its own."""

    def render(logger: structlog.types.WrappedLogger, name: str, event: structlog.types.EventDict) -> str:
        level = _JOURNAL_LEVELS[event["level"]]
        return "\n".join(level + line for line in str(renderer(logger, name, event)).split("\n"))

    return render


def is_journal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether systemd reads what is written to a stream (systemd.exec(5), "$JOURNAL_STREAM")."""
    given = environ.get("JOURNAL_STREAM", "")
    if not given:
        return False
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):  # no file, or closed
        return False
    # The variable is inherited: whose stderr was redirected has it too. Hence device and inode.
    return given == f"{status.st_dev}:{status.st_ino}"


def get_logger() -> structlog.typing.FilteringBoundLogger:
    """The logger that everything uses."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger("slpstream")
    return logger
