"""The heights that divide a stage into places, in game units. They are the same on every stage whose ledges we know."""

from __future__ import annotations

BELOW = -10.0
"""A player lower than this is below the stage, wherever the ledges are."""
PLATFORM = 5.0
"""Ground higher than this is a platform: the main ground of these stages is nearly level, at height 0."""
