"""What of a configuration that was read again can be applied to a running daemon, and what needs a restart.

The configuration that is in force afterwards is the old one with those keys of the new one that can be applied. So what
needs a restart stays as it was for everything, also for stations that come later.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from slpstream.config.sections import LISTED, Config

APPLIED_AT_RELOAD = frozenset(
    {
        "log.format",
        "log.level",
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
"""Keys, and whole sections that can be there several times. A token file is read again even when its name is the
same."""


class Changes(NamedTuple):
    """The outcome of reading a configuration again."""

    config: Config
    """What is in force from now on."""
    applied: list[str]
    """The keys that have changed: `log.level`; for stations `stations`."""
    needs_restart: list[str]
    """Those that have changed in the file, and not in the daemon."""


def changes(running: Config, read: Config, applicable: Collection[str] = APPLIED_AT_RELOAD) -> Changes:
    """What follows from `read` for a daemon that runs with `running`."""
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
