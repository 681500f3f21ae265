"""The newest lines of the daemon's log, and the endpoint that shows them to operators.

No response of the daemon tells where files are on its machine, so these lines lack the folders.
"""

from __future__ import annotations

import os
import re
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from starlette.requests import Request
from starlette.responses import Response

from slpstream.config import Config
from slpstream.parts.bugreport.part import LOG_PATH, KeptLog, LogLines
from slpstream.parts.interface import RunningPart
from slpstream.web.endpoint import Endpoint, NoParameters, json_response

if TYPE_CHECKING:
    from slpstream.parts.interface import Host

_MAX_LINE_CHARACTERS = 8000
_FOLDERS = re.compile(r"""(?<![\w:/\\.])(?:[A-Za-z]:)?[/\\](?:[^\s"'<>|:]*[/\\])?([^\s"'<>|:/\\]*)""")
_LEFT_OUT = "(path)"


class KeptLines(RunningPart):
    """Keeps the newest lines in memory. They are rendered as JSON, whatever the format of the log is."""

    def __init__(self, host: Host) -> None:
        self.lines: deque[str] = deque(maxlen=host.config.section(KeptLog).kept_lines)
        self._render = structlog.processors.JSONRenderer(default=repr)

    def open(self) -> None:
        """Add a step to the log that keeps each line, after those that complete it."""
        processors = structlog.get_config()["processors"]
        structlog.configure(processors=[*processors[:-1], self._keep, processors[-1]])

    def close(self) -> None:
        """Remove that step."""
        processors = structlog.get_config()["processors"]
        structlog.configure(processors=[each for each in processors if each != self._keep])

    def configure(self, config: Config) -> None:
        """Begin again if the log was set up again, which is what a reload does after its format or level changed."""
        if self._keep not in structlog.get_config()["processors"]:
            self.open()

    def _keep(
        self, logger: structlog.types.WrappedLogger, name: str, event: structlog.types.EventDict
    ) -> structlog.types.EventDict:
        known = structlog.processors.format_exc_info(logger, name, {**event})
        line = self._render(logger, name, _without_folders(known))
        self.lines.append(str(line)[:_MAX_LINE_CHARACTERS])
        return event


def _without_folders(value: Any) -> Any:
    """Leave out paths in a value of the log, except for the names of Python's files in tracebacks."""
    if isinstance(value, os.PathLike) or (isinstance(value, str) and Path(value).is_absolute()):
        return _LEFT_OUT
    if isinstance(value, list | tuple | set | frozenset):
        return [_without_folders(each) for each in value]
    if isinstance(value, dict):
        return {_without_folders(key): _without_folders(each) for key, each in value.items()}
    if not isinstance(value, str):
        return value
    return _FOLDERS.sub(lambda found: found[1] if found[1].endswith(".py") else _LEFT_OUT, value)


def endpoints(running: KeptLines | None) -> list[Endpoint]:
    """Make the endpoint for the lines."""

    async def log(request: Request, _: NoParameters) -> Response:
        return await json_response(request, LogLines([] if running is None else [*running.lines]))

    return [
        Endpoint(LOG_PATH, "getLog", "The newest lines of the log, for bug reports.", log, LogLines, operates=True),
    ]
