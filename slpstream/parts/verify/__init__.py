"""The check of the daemon by itself.

It decodes finished games again, and compares the result with the messages that were sent.
"""
