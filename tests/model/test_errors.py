"""Errors are the same in another process."""

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
def test_an_error_is_the_same_after_pickling_and_copying(error: SlpstreamError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
