"""The section `[on_air]`: its check, and its changes at a reload."""

from __future__ import annotations

import pytest

from slpstream import config
from slpstream.model.errors import ConfigError
from slpstream.parts import registry
from slpstream.parts.on_air.part import OnAir


def test_operator_seconds_need_the_rule() -> None:
    with pytest.raises(ConfigError, match="operator_seconds"):
        config.check({"on_air": {"operator_seconds": 60.0}}, registry.sections())
    config.check({"on_air": {"operator_seconds": 60.0, "choose": "rule"}}, registry.sections())


def test_all_keys_apply_at_a_reload() -> None:
    read = config.check({"on_air": {"min_seconds": 5.0, "choose": "rule"}}, registry.sections())
    outcome = config.changes(config.Config(), read, registry.sections())
    assert outcome.applied == ["on_air.choose", "on_air.min_seconds"]
    assert outcome.needs_restart == []
    assert outcome.config.section(OnAir) == read.section(OnAir)
