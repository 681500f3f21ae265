"""Tests of the stats."""
