"""Declares the command `init`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="init",
    docs="howto/install.md",
    commands=[Command("init", "Write a first configuration file.", "slpstream.parts.init.cli:command")],
)
