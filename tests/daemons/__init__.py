"""Daemons and stations for tests, in a process of their own or in the event loop of the test."""
