"""Undecodable bytes in texts. Every format reads them as U+FFFD and reports them."""

UNDECODABLE = "\ufffd"
"""The character that stands for undecodable bytes."""
BAD_TEXT = "bad_text"
"""The code of the diagnostic."""
