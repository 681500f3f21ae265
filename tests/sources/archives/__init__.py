"""Tests of reading replays in archives and compressed replays."""
