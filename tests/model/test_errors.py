"""Errors keep their values when they are pickled or copied."""

from __future__ import annotations

import copy
import pickle

import pytest

from slpstream.model.errors import (
    ConfigError,
    FramingError,
    SlpstreamError,
    SourceError,
    SubscriptionFailed,
    Unreadable,
)

ERRORS = (
    ConfigError("a.toml", "server.port", "expected a port"),
    FramingError("an impossible size", offset=7, command=0x36),
    SourceError("a.slp", "vanished"),
    Unreadable("a.zip::b.slp", "cut off"),
    SubscriptionFailed("abc"),
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling_and_copying(error: SlpstreamError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
