"""Replays as tables for DuckDB (extra `sql`): games, players, frames and conversions, read only as far as a query asks.

DuckDB asks a table for columns and rows when it runs a query (`lazy_table`). A `Scan` has the columns and filters of
the request, and reads one replay at a time, in any process (`scan`). The command supplies the replays (`cli_reading`)
and prints the rows (`cli_output`).
"""
