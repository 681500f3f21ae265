"""Declares training sets: the layout of `slpstream export --to training`, and the rows of the Python interface."""

from __future__ import annotations

from slpstream.parts.interface import Part

PART = Part(
    name="training",
    docs="reference/columns.md",
    functions={
        "export_training": "slpstream.parts.training.cli_export:export",
        "training_rows": "slpstream.parts.training.rows:game_rows",
        "live_training_rows": "slpstream.parts.training.live:LiveRows",
    },
)
