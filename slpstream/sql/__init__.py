"""Replays as tables for DuckDB (extra `sql`): games, players, frames and conversions, read only as far as a query
needs.

DuckDB requests columns and rows of a table when it runs a query (`lazy_table`). A `Scan` is such a request. It reads
one replay at a time, in any process (`scan`). The command supplies the replays.
"""
