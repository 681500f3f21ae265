"""The daemon checks itself: it decodes finished games again, and compares the result with the messages that were
sent.
"""
