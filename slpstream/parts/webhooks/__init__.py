"""Signed webhooks: games, sets and situations are posted to a web server."""
