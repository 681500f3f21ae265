"""The migrations of the index. They are put together from the migrations of each family of tables.

To get from version n to n + 1, the statements in `MIGRATIONS[n]` are executed in one transaction.
"""

from __future__ import annotations

from slpstream.store.tables import corrections, games_schema, highlights, remembered, search, setups, situations

VERSION = 14
_FAMILIES = (
    games_schema.MIGRATIONS,
    search.MIGRATIONS,
    corrections.MIGRATIONS,
    remembered.MIGRATIONS,
    highlights.MIGRATIONS,
    setups.MIGRATIONS,
    situations.MIGRATIONS,
)
"""Within a version, the statements of a family come after those of the families above it."""
MIGRATIONS: tuple[tuple[str, ...], ...] = tuple(
    tuple(statement for family in _FAMILIES for statement in family.get(version, ()))
    for version in range(1, VERSION + 1)
)
