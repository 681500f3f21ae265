"""Notifications about changed files on macOS and Windows. Without this part, watchdog reports the changes."""
