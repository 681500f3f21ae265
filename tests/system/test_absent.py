"""Optional dependencies of libraries that are kept from being loaded."""

from __future__ import annotations

import importlib
import sys

import pytest

from slpstream.system.absent import absent

NAME = "this"
"""A module that nobody loads."""


@pytest.fixture(autouse=True)
def not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, NAME, raising=False)


def test_module_is_absent_inside_and_available_outside() -> None:
    with absent(NAME), pytest.raises(ModuleNotFoundError):
        importlib.import_module(NAME)
    assert importlib.import_module(NAME).__name__ == NAME


def test_module_that_is_loaded_already_stays() -> None:
    loaded = importlib.import_module(NAME)
    with absent(NAME):
        assert importlib.import_module(NAME) is loaded
    assert importlib.import_module(NAME) is loaded


def test_module_is_available_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), absent(NAME):
        raise ZeroDivisionError
    assert NAME not in sys.modules
