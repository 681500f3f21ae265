"""Which changes of a reloaded configuration apply to a running daemon, and which need a restart.

After a reload the old configuration stays in force, except for the changed keys that can be applied. A key that needs a
restart therefore keeps its old value everywhere, also for stations that are added later.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from slpstream.config.sections import LISTED, Config

APPLIED_AT_RELOAD = frozenset(
    {
        "audit.clock_seconds",
        "audit.frame_rate",
        "audit.games",
        "audit.hours",
        "audit.stutters_per_minute",
        "log.format",
        "log.level",
        "on_air.choose",
        "on_air.min_seconds",
        "on_air.operator_seconds",
        "on_air.result_seconds",
        "recordings.max_age_days",
        "recordings.max_size_bytes",
        "server.allowed_hosts",
        "server.allowed_origins",
        "server.max_connections",
        "server.operate_token_file",
        "server.require_token",
        "server.token_file",
        "sets.best_of",
        "sets.handwarmer_seconds",
        "sets.handwarmer_stocks",
        "sets.max_handwarmer_percent",
        "sets.max_handwarmer_seconds",
        "sets.new_set_minutes",
        "sets.quit_counts",
        "stations",
        "store.max_age_days",
        "store.max_size_bytes",
        "stream.outbox_bytes",
        "stream.socket_buffer_bytes",
        "watch.pace",
        "watch.stalled_seconds",
    }
)
"""Names of keys, and of whole sections that may occur several times. Token files are read again even if their names are
unchanged."""


class Changes(NamedTuple):
    """The outcome of a reload."""

    config: Config
    """The configuration in force from now on."""
    applied: list[str]
    """The keys that have changed, such as `log.level`; `stations` for any change of stations."""
    needs_restart: list[str]
    """The keys that have changed in the file but not in the daemon."""


def changes(running: Config, read: Config, applicable: Collection[str] = APPLIED_AT_RELOAD) -> Changes:
    """Compare the configuration of a running daemon with the one that has just been read."""
    applied: list[str] = []
    needs_restart: list[str] = []
    merged: dict[str, Any] = {}
    for section in Config.__struct_fields__:
        before, after = getattr(running, section), getattr(read, section)
        if section in LISTED:
            if before != after:
                (applied if section in applicable else needs_restart).append(section)
            merged[section] = after if section in applicable else before
            continue
        changed = [name for name in before.__struct_fields__ if getattr(before, name) != getattr(after, name)]
        taken = [name for name in changed if f"{section}.{name}" in applicable]
        applied += [f"{section}.{name}" for name in taken]
        needs_restart += [f"{section}.{name}" for name in changed if name not in taken]
        merged[section] = msgspec.structs.replace(before, **{name: getattr(after, name) for name in taken})
    return Changes(Config(**merged), applied, needs_restart)
