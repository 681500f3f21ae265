"""Moments that operators have marked because they want to show them again."""
