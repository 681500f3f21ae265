"""Clients that do what no client should, against the whole daemon."""
