"""Logging with structlog. You get JSON lines under systemd and in pipes, and coloured lines on a terminal.

We bind `station` with contextvars, because trio's tasks and worker threads inherit these. The threads of watchdog
don't, but that's fine, because all they do is wake tasks. Logs go to stderr, since stdout belongs to the output of
commands. If the lines go straight to the journal, each of them begins with its level, as described in sd-daemon(3).
This makes it possible to find them with `journalctl -p warning`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import Literal, TextIO

from slpstream.system.absent import absent
from slpstream.system.text import printable

with absent("rich"):  # structlog would load it for coloured tracebacks, which is slow; ours are plain
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
    """Set up structlog for the whole process. `level` is the name of a level of `logging`, in lower case."""
    stream = sys.stderr if stream is None else stream
    if log_format == "auto":
        log_format = "console" if stream.isatty() and "INVOCATION_ID" not in os.environ else "json"
    processors: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        # The console renderer formats tracebacks itself, and JSON escapes control characters.
        _printable_values if log_format == "console" else structlog.processors.format_exc_info,
    ]
    renderer: structlog.types.Processor = (
        # Plain tracebacks omit the values of variables, which are long and can be secrets. structlog refuses colors on
        # Windows unless colorama is installed.
        structlog.dev.ConsoleRenderer(
            colors=os.name != "nt" and stream.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
        if log_format == "console"
        else structlog.processors.JSONRenderer(sort_keys=False)
    )
    if is_journal(stream):
        renderer = _with_journal_level(renderer)
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )


def _printable_values(
    _logger: structlog.types.WrappedLogger, _name: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """Escape the control characters that might be in the names of files and players."""
    return {key: printable(value) if isinstance(value, str) else value for key, value in event.items()}


def _with_journal_level(renderer: structlog.types.Processor) -> structlog.types.Processor:
    """Put the level in front of each line, because the journal makes a message of each line in a traceback."""

    def render(logger: structlog.types.WrappedLogger, name: str, event: structlog.types.EventDict) -> str:
        level = _JOURNAL_LEVELS[event["level"]]
        return "\n".join(level + line for line in str(renderer(logger, name, event)).split("\n"))

    return render


def is_journal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream is connected to the journal (see "$JOURNAL_STREAM" in systemd.exec(5))."""
    given = environ.get("JOURNAL_STREAM", "")
    if not given:
        return False
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):  # not a file, or closed
        return False
    # Processes with a redirected stderr inherit the variable too, so compare device and inode.
    return given == f"{status.st_dev}:{status.st_ino}"


def get_logger() -> structlog.typing.FilteringBoundLogger:
    """Return the logger that the whole package uses."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger("slpstream")
    return logger


class LogLimit:
    """Limits how often an event is logged. Use this for events that clients can cause as often as they like."""

    def __init__(self, max_lines: int, seconds: float, clock: Callable[[], float]) -> None:
        """For each event, allow at most `max_lines` lines in every period of `seconds`."""
        self._max_lines = max_lines
        self._seconds = seconds
        self._clock = clock
        self._periods: dict[str, _Period] = {}

    def admit(self, event: str) -> dict[str, int] | None:
        """Decide whether you can log an event. If not, this returns `None`.

        Otherwise, add the returned values to the line. If lines were `suppressed` before it, they contain the number.
        """
        now = self._clock()
        period = self._periods.get(event)
        if period is None:
            period = self._periods[event] = _Period(now)
        elif now - period.began_at >= self._seconds:
            period.began_at, period.lines = now, 0
        if period.lines >= self._max_lines:
            period.suppressed += 1
            return None
        period.lines += 1
        suppressed, period.suppressed = period.suppressed, 0
        return {"suppressed": suppressed} if suppressed else {}


class _Period:
    __slots__ = ("began_at", "lines", "suppressed")

    def __init__(self, began_at: float) -> None:
        self.began_at = began_at
        self.lines = self.suppressed = 0
