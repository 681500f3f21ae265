"""Marks for single cases of a parametrized test."""

from __future__ import annotations

from typing import Any

import pytest


def slow(*values: object) -> list[Any]:
    """These values as slow cases: `@pytest.mark.parametrize("name", ["small", *slow("large")])`.

    A tuple holds the values of several parameters, as in `parametrize`.
    """
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow) for value in values
    ]


def release(*values: object) -> list[Any]:
    """The same as cases of the release check alone."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.release) for value in values
    ]
