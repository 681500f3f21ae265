"""Periodic work is spread out over its period."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.system.stagger import next_moment


@given(name=st.text(), period=st.sampled_from([0.5, 1.0, 5.0]), now=st.floats(0, 1e6))
def test_next_moment_comes_within_a_period(name: str, period: float, now: float) -> None:
    moment = next_moment(name, period, now)
    assert now - 1e-6 < moment <= now + period + 1e-6
    assert next_moment(name, period, moment + period / 2) == pytest.approx(moment + period)


def test_moments_of_many_names_are_spread() -> None:
    moments = [next_moment(f"setup-{number}", 5.0, 100.0) for number in range(64)]
    assert (
        max(sum(begin <= moment < begin + 0.5 for moment in moments) for begin in (100 + n / 2 for n in range(10))) < 16
    )
