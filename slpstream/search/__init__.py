"""Searching the frames of games for situations."""
