"""Asynchronous tests run in trio, in time that jumps whenever all tasks wait. Nothing runs in threads."""

from __future__ import annotations

from functools import partial
from inspect import iscoroutinefunction, signature

import pytest
import trio
from trio.testing import MockClock

from tests.virtual_time import inline


@pytest.fixture(autouse=True)
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trio.to_thread, "run_sync", inline)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in signature(pyfuncitem.obj).parameters}
    trio.run(partial(pyfuncitem.obj, **arguments), clock=MockClock(autojump_threshold=0))
    return True
