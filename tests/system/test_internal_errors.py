"""Containment of bugs: which exceptions are contained or raised, and how parts are restarted."""

from __future__ import annotations

import json
from io import StringIO
from itertools import pairwise

import pytest
import structlog
import trio
import trio.testing

from slpstream.system import logs
from slpstream.system.backoff import MAX_PAUSE_SECONDS, backoff_seconds
from slpstream.system.internal_errors import Containment, InternalErrors


class Contained:
    """Errors that are contained, with the parts that were counted."""

    def __init__(self) -> None:
        self.counted: list[str] = []
        self.errors = InternalErrors(self.counted.append, strict=False)


@pytest.fixture
def contained() -> Contained:
    return Contained()


def test_bug_is_counted_and_logged_with_traceback_and_id(contained: Contained) -> None:
    stream = StringIO()
    logs.configure("json", "info", stream)
    try:
        with contained.errors.contain("request", path="/v1/games") as containment:
            raise KeyError("oops")
    finally:
        structlog.reset_defaults()
    line = json.loads(stream.getvalue())
    assert contained.counted == ["request"]
    assert containment.error_id is not None
    assert len(containment.error_id) == 8
    assert line["error_id"] == containment.error_id
    assert (line["level"], line["part"], line["path"]) == ("error", "request", "/v1/games")
    assert "test_internal_errors.py" in line["exception"]
    assert "KeyError: 'oops'" in line["exception"]


@pytest.mark.parametrize(
    "error",
    [
        *(ValueError(), MemoryError(), RecursionError(), AssertionError()),
        ExceptionGroup("", [ValueError(), ExceptionGroup("", [KeyError()])]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exceptions_are_contained_and_an_id_is_that_of_its_block(contained: Contained, error: Exception) -> None:
    containment = contained.errors.contain("file")
    with containment:
        with containment:
            raise error
        assert containment.error_id is not None
    assert containment.error_id is None
    assert contained.counted == ["file"]


def _caught(containment: Containment, error: BaseException) -> str:
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001 -- as its users do
        return containment.caught(caught)


def test_caught_exception_is_contained_like_that_of_a_block(contained: Contained) -> None:
    containment = contained.errors.contain("file", expected=(OSError,))
    assert _caught(containment, ValueError()) == containment.error_id
    for error in (FileNotFoundError(), SystemExit(3)):
        with pytest.raises(type(error)):
            _caught(containment, error)
    assert contained.counted == ["file"]
    with pytest.raises(ValueError, match="oops"):
        _caught(InternalErrors(strict=True).contain("file"), ValueError("oops"))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), FileNotFoundError()])
def test_other_base_exceptions_and_expected_ones_are_raised(contained: Contained, error: BaseException) -> None:
    with pytest.raises(type(error)), contained.errors.contain("file", expected=(OSError,)):
        raise error
    assert contained.counted == []


@pytest.mark.trio
async def test_strict_raises() -> None:
    counted: list[str] = []
    strict = InternalErrors(counted.append, strict=True)

    async def run() -> None:
        raise ValueError("oops")

    with pytest.raises(ValueError, match="oops"), strict.contain("file"):
        raise ValueError("oops")
    with pytest.raises(ValueError, match="oops"):
        await strict.keep_running("obs", run)
    assert counted == []


def test_group_is_split(contained: Contained) -> None:
    group = BaseExceptionGroup("", [ValueError("bug"), ExceptionGroup("", [OSError(), KeyError()]), SystemExit()])
    with pytest.raises(BaseExceptionGroup) as raised, contained.errors.contain("file", expected=(OSError,)):
        raise group
    assert contained.counted == ["file"]
    first, second = raised.value.exceptions
    assert isinstance(first, ExceptionGroup)
    assert [type(error) for error in first.exceptions] == [OSError]
    assert isinstance(second, SystemExit)


@pytest.mark.trio
async def test_bug_in_a_nursery_that_is_cancelled_meanwhile(contained: Contained) -> None:
    """The group has `Cancelled` too, which must reach its scope."""

    async def fail_when_cancelled() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("bug")

    with trio.CancelScope() as scope:
        with contained.errors.contain("station"):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fail_when_cancelled)
                nursery.start_soon(trio.sleep_forever)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
        await trio.lowlevel.checkpoint()
        raise AssertionError("not reached")
    assert scope.cancelled_caught
    assert contained.counted == ["station"]


@pytest.mark.trio
async def test_part_is_started_again_with_backoff(contained: Contained, autojump_clock: trio.testing.MockClock) -> None:
    began: list[float] = []
    failures: list[int] = []

    async def run() -> None:
        began.append(trio.current_time())
        if len(began) == 10:
            await trio.sleep(90)
        if len(began) < 12:
            raise ValueError("bug")

    start = trio.current_time()
    await contained.errors.keep_running("jsonl", run, on_failure=lambda _, count: failures.append(count))
    pauses = [later - earlier for earlier, later in pairwise(began)]
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 60, 91, 2])
    assert failures == [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2]
    assert contained.counted == ["jsonl"] * 11
    assert began[0] == start
    assert backoff_seconds(100_000, 1.0) == MAX_PAUSE_SECONDS, "after weeks too"


@pytest.mark.trio
async def test_part_that_failed_is_reported_until_it_has_run_for_a_while(
    contained: Contained, autojump_clock: trio.testing.MockClock
) -> None:
    async def run() -> None:
        if not contained.counted:
            raise ValueError("bug")
        await trio.sleep(30)

    async with trio.open_nursery() as nursery:

        async def keep_running() -> None:
            await contained.errors.keep_running("obs", run, station="a")

        nursery.start_soon(keep_running)
        await trio.sleep(5)
        [reason] = contained.errors.restarting()
        assert reason.startswith("obs, station a: internal error ")
        await trio.sleep(15)
        assert contained.errors.restarting() == []
