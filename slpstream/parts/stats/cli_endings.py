"""The files that have stats, by the endings of their names."""

from __future__ import annotations


def suffixes_with_stats() -> tuple[str, ...]:
    """Return the file name endings of the formats with Slippi stats."""
    from slpstream.formats.registry import formats
    from slpstream.formats.slippi.stats import SlippiStats

    return tuple(suffix for format_ in formats() if format_.make_stats() is SlippiStats for suffix in format_.suffixes)


def stats_endings() -> tuple[str, ...]:
    """Return the file name endings of replays with stats, and of replay logs."""
    from slpstream.formats.slplog.container import SUFFIX

    return (*suffixes_with_stats(), SUFFIX)
