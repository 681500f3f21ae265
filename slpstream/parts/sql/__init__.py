"""Replays as tables for DuckDB (extra `sql`). There are games, players, frames and conversions, and only as much of
them is read as a query needs.

When DuckDB runs a query, it asks a table for columns and rows (`lazy_table`). A `Scan` contains the columns and filters
that it asks for, and reads one replay at a time, which can happen in any process (`scan`). The command finds the
replays (`cli_reading`) and prints the rows (`cli_output`).
"""
