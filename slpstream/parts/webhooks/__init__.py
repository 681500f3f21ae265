"""Signed webhooks, which post games, sets and situations to a web server."""
