"""The tournament desk of one daemon, a module for each part."""
