"""StreamControl: `streamcontrol.json`, one flat object of texts, with a key for each widget of the user's layout.

Looked at: farpenoodle/StreamControl c29caea (0.5). Layouts name their widgets as they like, hence the mapping. Overlays
notice a change by a `timestamp` that grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from slpstream.parts.scoreboards.board import Board, values_of
from slpstream.parts.scoreboards.files import JsonFile

DEFAULT_MAPPING: Final[Mapping[str, str]] = {
    "pName1": "name1",
    "pName2": "name2",
    "pScore1": "score1",
    "pScore2": "score2",
    "rounds": "round",
}
"""Names of values by widget, for the layout that is shipped with StreamControl."""


class StreamControl:
    """The file of one installation."""

    def __init__(self, path: Path, mapping: Mapping[str, str]) -> None:
        """`mapping` has the names of values (`values_of`) by widget; empty: `DEFAULT_MAPPING`."""
        self._file = JsonFile(path, {}, timestamp_key="timestamp")
        self._mapping = mapping or DEFAULT_MAPPING

    def update(self, board: Board | None) -> bool:
        """Show a board. Returns whether the file has changed. Raises `SinkError`. Blocks."""
        if board is None:
            return False
        values = values_of(board)
        return self._file.update({widget: values[name] for widget, name in self._mapping.items()})
