"""Optional dependencies of libraries that must not be loaded."""

from __future__ import annotations

import importlib
import sys

import pytest

from slpstream.system.absent import absent

NAME = "this"
"""A module that no other code loads."""


def test_module_is_absent_unless_it_is_already_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    with absent(NAME), pytest.raises(ModuleNotFoundError):
        importlib.import_module(NAME)
    with pytest.raises(ZeroDivisionError), absent(NAME):
        raise ZeroDivisionError
    assert NAME not in sys.modules
    loaded = importlib.import_module(NAME)
    with absent(NAME):
        assert importlib.import_module(NAME) is loaded
    assert importlib.import_module(NAME) is loaded
