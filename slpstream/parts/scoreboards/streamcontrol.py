"""StreamControl, which reads `streamcontrol.json`. This is a flat object of texts, with a key for each widget in the
user's layout.

We have looked at farpenoodle/StreamControl c29caea (0.5). A layout can give any names to its widgets, so we need a
mapping. Overlays notice a change because there is a `timestamp` that gets larger.
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
        """`mapping` contains the name of a value (see `values_of`) for each widget.

        If it is empty, we use `DEFAULT_MAPPING`.
        """
        self._file = JsonFile(path, {}, timestamp_key="timestamp")
        self._mapping = mapping or DEFAULT_MAPPING

    def update(self, board: Board | None) -> bool:
        """Show a board. Returns whether the file has changed. This blocks, and raises `SinkError` if it fails."""
        if board is None:
            return False
        values = values_of(board)
        return self._file.update({widget: values[name] for widget, name in self._mapping.items()})
