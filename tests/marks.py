"""Marks for single cases of a parametrized test, and skips of tests without deleted parts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.project import has_part


def of_part(value: str) -> Any:
    """Mark this value, the name of a part or of its command, as a case that requires the part."""
    return pytest.param(value, marks=pytest.mark.parts(value))


def require_parts(*names: str) -> None:
    """Skip the running test if one of these parts was deleted."""
    for name in names:
        if not has_part(name):
            pytest.skip(f"the part {name} was deleted")


def slow(*values: object) -> list[Any]:
    """Mark these values as slow cases: `@pytest.mark.parametrize("name", ["small", *slow("large")])`.

    A tuple holds the values of several parameters, as in `parametrize`.
    """
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow) for value in values
    ]


def release(*values: object) -> list[Any]:
    """Mark these values as cases of the release check only, like `slow`."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.release) for value in values
    ]
