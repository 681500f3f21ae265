"""The version, where nothing else needs importing to know it."""

__version__ = "1.0.0"
