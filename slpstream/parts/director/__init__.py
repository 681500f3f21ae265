"""Chooses which of several stations is shown large."""
