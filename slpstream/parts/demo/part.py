"""Declares the demo of a running daemon, and the commands `demo` and `simulate`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Part

PART = Part(
    name="demo",
    start="slpstream.parts.demo.station:Demo",
    alias="station",
    endpoints="slpstream.parts.demo.endpoints:endpoints",
    commands=[
        Command("demo", "Run a daemon with bundled synthetic matches.", "slpstream.parts.demo.cli_demo:command"),
        Command("simulate", "Write a replay again the way a game would.", "slpstream.parts.demo.cli_simulate:command"),
    ],
)
