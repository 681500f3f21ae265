"""Tests of following files while they are written."""
