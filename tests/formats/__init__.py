"""Tests of the formats, and of the commands and the daemon with formats other than Slippi."""
