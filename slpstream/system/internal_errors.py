"""Containment of bugs: an unexpected exception ends the part of the process that raised it, and nothing else.

Expected failures have their own types (`slpstream.model.errors`, `OSError`) and are handled where they happen. Any
other exception is a bug in slpstream. It often concerns one file or one request. Without containment, one such
file would end the streams of all stations, again after each restart. So the owner of a part (a request, a file, an
output, a station) runs it in `InternalErrors.contain`. This is the only place in the package that catches any
`Exception`: the types of bugs are not known in advance, and the owner keeps nothing of the part that failed. Bugs stay
loud: each is logged with its traceback and an id, counted by part, and raises an alert. With `strict`, each ends the
process.

`MemoryError` is contained too. A system without memory kills the process instead (overcommit, `MemoryMax=`), so what
raises is one allocation of an absurd size, for one part; its memory is free again once the part has ended.
Exceptions that are not derived from `Exception` are never contained: `trio.Cancelled`, `KeyboardInterrupt`,
`SystemExit`. If an exception group has both, the bugs in it are reported and the rest is raised.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import trio

from slpstream.system.backoff import MAX_PAUSE_SECONDS, backoff_seconds
from slpstream.system.logs import get_logger

CORE_LABELS = (
    "file",
    "index",
    "notifications",
    "reload",
    "request",
    "retention",
    "sets",
    "station",
    "stream",
    "subfolders",
    "subscriber",
    "upkeep",
)
"""The names in `slpstream_internal_errors_total` for pieces of the core that fail alone. Parts add theirs."""

_FIRST_PAUSE_SECONDS = 1.0
_STABLE_SECONDS = 10.0
"""A part that has run this long since its last failure works again."""
_ID_BYTES = 4


class InternalErrors:
    """Contains and reports the bugs of one process."""

    def __init__(self, count: Callable[[str], None] = lambda part: None, *, strict: bool = True) -> None:
        """`count` is called with the part for each contained exception. With `strict`, nothing is contained: a bug
        ends the process."""
        self.strict = strict
        self._count = count
        self._restarting: dict[object, tuple[str, float]] = {}
        """The reports about parts that are started again, and when each report ends."""
        self._log = get_logger()

    def contain(self, part: str, *, expected: tuple[type[Exception], ...] = (), **about: str) -> Containment:
        """A context manager that ends its block, and nothing else, when an unexpected exception is raised in it.

        `expected` are types that the caller handles itself. `about` is logged with the exception.
        """
        return Containment(self, part, expected, about)

    async def keep_running(
        self,
        part: str,
        run: Callable[[], Awaitable[object]],
        *,
        expected: tuple[type[Exception], ...] = (),
        on_failure: Callable[[str, int], None] = lambda error_id, failures: None,
        **about: str,
    ) -> None:
        """Run a part until it returns or is cancelled.

        After an unexpected exception it is started again, after a pause of 1, 2, 4 seconds and so on up to a minute.
        `expected` and `about` are those of `contain`. `on_failure` is called with the id of the error and the number of
        failures in a row, before the pause.
        """
        key = object()
        failures = 0
        try:
            while True:
                began = trio.current_time()
                with Containment(self, part, expected, about) as contained:
                    await run()
                    return
                now = trio.current_time()
                failures = 1 if now - began > MAX_PAUSE_SECONDS else failures + 1
                pause_seconds = backoff_seconds(failures, _FIRST_PAUSE_SECONDS)
                where = "".join(f", {name} {value}" for name, value in about.items())
                self._restarting[key] = (
                    f"{part}{where}: internal error {contained.error_id}, started again",
                    now + pause_seconds + _STABLE_SECONDS,
                )
                on_failure(contained.error_id or "", failures)
                await trio.sleep(pause_seconds)
        finally:
            self._restarting.pop(key, None)

    def restarting(self) -> list[str]:
        """The parts that have failed and have not run for a while since, with the reason."""
        now = trio.current_time()
        return [what for what, until in self._restarting.values() if now < until]

    def report(self, part: str, error: BaseException, about: dict[str, str]) -> str:
        """Count and log an unexpected exception. Returns its id."""
        error_id = secrets.token_hex(_ID_BYTES)
        self._count(part)
        self._log.error("internal error", error_id=error_id, part=part, **about, exc_info=error)
        return error_id


class Containment:
    """One use of `InternalErrors.contain`. It can be entered again after it was left, or inside itself."""

    __slots__ = ("_about", "_errors", "_expected", "_part", "error_id")

    def __init__(
        self, errors: InternalErrors, part: str, expected: tuple[type[Exception], ...], about: dict[str, str]
    ) -> None:
        self._errors = errors
        self._part = part
        self._expected = expected
        self._about = about
        self.error_id: str | None = None
        """The id under which the exception was logged; `None` unless the block that was left last ended with one."""

    def __enter__(self) -> Self:
        self.error_id = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error_id = None  # also that of a block inside this one
        if error is None or self._errors.strict:
            return False
        unexpected, others = self._split(error)
        if unexpected is None:
            return False
        self.error_id = self._errors.report(self._part, unexpected, self._about)
        if others is not None:
            raise others
        return True

    def _split(self, error: BaseException) -> tuple[BaseException | None, BaseException | None]:
        """The bugs in an exception or group, and the rest of it."""
        if isinstance(error, BaseExceptionGroup):
            return error.split(lambda member: self._is_unexpected(member))  # Python 3.11 takes no bound methods
        return (error, None) if self._is_unexpected(error) else (None, error)

    def _is_unexpected(self, error: BaseException) -> bool:
        if isinstance(error, BaseExceptionGroup):
            return False  # `split` asks for the members
        return isinstance(error, Exception) and not isinstance(error, self._expected)
