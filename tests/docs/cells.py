"""Runs the cells of a notebook as Jupyter does: in an event loop that is already running, with `await` in any."""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import Iterable
from typing import Any

_DEADLINE_SECONDS = 60


def run_cells(sources: Iterable[str], names: dict[str, Any]) -> None:
    """Run cells one after the other, with these global names."""

    async def run() -> None:
        for source in sources:
            result = eval(compile(source, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
            if inspect.iscoroutine(result):
                await asyncio.wait_for(result, _DEADLINE_SECONDS)

    asyncio.run(run())
