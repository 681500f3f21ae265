"""The version, where nothing else needs importing to know it."""

__version__ = "0.1.0"
