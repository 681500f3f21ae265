"""The version of slpstream, in a module that you can read without importing anything else."""

__version__ = "1.0.0"
