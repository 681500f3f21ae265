"""Bytes in texts that can't be decoded. All formats read them as U+FFFD, and report them with a diagnostic."""

UNDECODABLE = "\ufffd"
"""The character that stands for undecodable bytes."""
BAD_TEXT = "bad_text"
"""The code of the diagnostic."""
