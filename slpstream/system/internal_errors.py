"""Contain bugs: if there's an unexpected exception, it only ends the part of the process that has raised it.

If we expect something to fail, there is a type for it (`slpstream.model.errors`, `OSError`), and it is handled where it
happens. This means that any other exception is a bug in slpstream. A bug often concerns just one file or one request.
If we didn't contain it, this one file would end the streams of all stations, and after each restart it would do so
again. That's why whoever owns a part (a request, a file, an output, a station) runs it in `InternalErrors.contain`. You
won't find any other place in the package that catches `Exception`, except for two that run for every frame. These do
without a `with` block, and pass what they catch to `Containment.caught`. Here it is right, because we can't know the
types of bugs in advance, and because the owner throws away everything that belongs to the part. This doesn't mean that
bugs are hidden: each of them is logged with its traceback and an id, counted by part, and raises an alert. If you use
`strict`, a bug ends the process.

`MemoryError` is contained too. You might think that this is dangerous, but if the system runs out of memory, it kills
the process instead (overcommit, `MemoryMax=`). So the error means that one part wanted to allocate an absurd amount,
and when this part has ended, its memory is free again. We never contain exceptions that aren't derived from
`Exception`, such as `trio.Cancelled`, `KeyboardInterrupt` and `SystemExit`. If an exception group contains both kinds,
the bugs in it are reported, and everything else is raised.
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
        """`count` is called for each exception that was contained, with the name of the part.

        If you pass `strict=True`, nothing is contained, so a bug ends the process.
        """
        self.strict = strict
        self._count = count
        self._restarting: dict[object, tuple[str, float]] = {}
        """The reports about parts that are started again, and when each report ends."""
        self._log = get_logger()

    def contain(self, part: str, *, expected: tuple[type[Exception], ...] = (), **about: str) -> Containment:
        """Return a context manager. If an unexpected exception is raised in its block, this ends the block, but nothing
        else.

        Use `expected` for the types of exceptions that you handle yourself. If there is an exception, `about` is logged
        with it.
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

        If there's an unexpected exception, the part is started again after a pause, which takes 1, 2, 4 seconds and so
        on, up to a minute. Before the pause, `on_failure` is called with the id of the error and the number of failures
        in a row. `expected` and `about` have the same meaning as for `contain`.
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
        """The parts that have failed and that haven't been running for long since then, each with the reason."""
        now = trio.current_time()
        return [what for what, until in self._restarting.values() if now < until]

    def report(self, part: str, error: BaseException, about: dict[str, str]) -> str:
        """Count and log an unexpected exception. Returns its id."""
        error_id = secrets.token_hex(_ID_BYTES)
        self._count(part)
        self._log.error("internal error", error_id=error_id, part=part, **about, exc_info=error)
        return error_id


class Containment:
    """What you get from `InternalErrors.contain`.

    You can enter it again after you have left it, and even inside itself.
    """

    __slots__ = ("_about", "_errors", "_expected", "_part", "error_id")

    def __init__(
        self, errors: InternalErrors, part: str, expected: tuple[type[Exception], ...], about: dict[str, str]
    ) -> None:
        self._errors = errors
        self._part = part
        self._expected = expected
        self._about = about
        self.error_id: str | None = None
        """The id under which the exception was logged, or `None` unless the block that was left last ended with one."""

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

    def caught(self, error: BaseException) -> str:
        """Report an exception that you have caught yourself, and return the id under which it was logged.

        If a `with` block wouldn't contain it, it is raised again.
        """
        if not self.__exit__(type(error), error, error.__traceback__) or self.error_id is None:
            raise error
        return self.error_id

    def _split(self, error: BaseException) -> tuple[BaseException | None, BaseException | None]:
        """Split an exception, or a group, into the bugs in it and everything else."""
        if isinstance(error, BaseExceptionGroup):
            return error.split(lambda member: self._is_unexpected(member))  # Python 3.11 takes no bound methods
        return (error, None) if self._is_unexpected(error) else (None, error)

    def _is_unexpected(self, error: BaseException) -> bool:
        if isinstance(error, BaseExceptionGroup):
            return False  # `split` asks for the members
        return isinstance(error, Exception) and not isinstance(error, self._expected)
