"""The names of the files and folders of a training set."""

from __future__ import annotations

INDEX = "index.json"
PARTS = "parts"
"""Folder of the lists of games while the export runs."""
GAMES, META = "games", "meta.json"
"""Folder of the files of games, and the list of them, in the layout `slippi-ai`."""
