"""Bytes that are no text in their encoding, which every format reads as U+FFFD and reports."""

UNDECODABLE = "\ufffd"
"""The character that stands for such bytes."""
BAD_TEXT = "bad_text"
"""The code of the diagnostic."""
