"""structlog, set up once: JSON lines under systemd and in pipes, coloured lines on a terminal.

`game_id` and `station` are bound with contextvars, which follow trio tasks and worker threads (not watchdog's
threads: those only wake tasks and log nothing). Logs go to stderr; stdout belongs to the commands' own output.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Literal, TextIO

import structlog

LogFormat = Literal["auto", "json", "console"]


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
    structlog.configure(
        processors=[*processors[: -1 if log_format == "console" else None], renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )


def get_logger() -> structlog.typing.FilteringBoundLogger:
    """The logger that everything uses."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger("slpstream")
    return logger
