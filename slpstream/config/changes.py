"""Find out which changes in a reloaded configuration we can apply to a running daemon, and which ones need a restart.

After a reload, the old configuration stays in force, except for those changed keys that can be applied. This means that
if a key needs a restart, it keeps its old value everywhere, even for stations that are added later.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec

from slpstream.config.sections import CORE, Config, Section

APPLIED_AT_RELOAD = frozenset(
    {
        "log.format",
        "log.level",
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


def changes(
    running: Config,
    read: Config,
    sections: Sequence[Section] = (),
    applicable: Collection[str] = APPLIED_AT_RELOAD,
) -> Changes:
    """Compare the configuration of the given running daemon with the one that we have just read."""
    applied: list[str] = []
    needs_restart: list[str] = []
    merged: dict[str, Any] = {}
    for section in CORE:
        name = section.name
        before, after = getattr(running, name), getattr(read, name)
        if section.many:
            if before != after:
                (applied if name in applicable else needs_restart).append(name)
            merged[name] = after if name in applicable else before
            continue
        changed = _changed_keys(before, after)
        taken = [key for key in changed if f"{name}.{key}" in applicable]
        applied += [f"{name}.{key}" for key in taken]
        needs_restart += [f"{name}.{key}" for key in changed if key not in taken]
        merged[name] = msgspec.structs.replace(before, **{key: getattr(after, key) for key in taken})
    parts: dict[str, list[msgspec.Struct]] = {}
    for section in sections:
        in_force = read if section.applied_at_reload else running
        parts.setdefault(section.name, []).extend(in_force.sections(section.struct))
        if running.sections(section.struct) == read.sections(section.struct):
            continue
        keys = [section.name]
        if not section.many:
            of_section = _changed_keys(running.section(section.struct), read.section(section.struct))
            keys = [f"{section.name}.{key}" for key in of_section]
        (applied if section.applied_at_reload else needs_restart).extend(keys)
    return Changes(Config(**merged, parts={name: kept for name, kept in parts.items() if kept}), applied, needs_restart)


def _changed_keys(before: msgspec.Struct, after: msgspec.Struct) -> list[str]:
    return [key for key in before.__struct_fields__ if getattr(before, key) != getattr(after, key)]
