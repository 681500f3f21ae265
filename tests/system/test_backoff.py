"""Pauses before another try."""

from __future__ import annotations

from slpstream.system.backoff import MAX_PAUSE_SECONDS, backoff_seconds


def test_pauses_double_up_to_a_minute() -> None:
    assert [backoff_seconds(failures, 1.0) for failures in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]


def test_part_that_fails_for_weeks_is_still_tried_each_minute() -> None:
    assert backoff_seconds(100_000, 1.0) == MAX_PAUSE_SECONDS
