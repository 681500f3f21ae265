"""Misbehaving clients against a whole daemon."""
