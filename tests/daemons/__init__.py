"""Daemons and stations for tests, in a separate process or in the event loop of the test."""
