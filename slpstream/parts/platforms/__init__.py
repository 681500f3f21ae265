"""Notifications of changed files on macOS and Windows. Without them, watchdog reports changes."""
