"""Text files with one value each, which you can use in any program that shows text from a file.

The part `text_files` also writes files, but these are for every station, and contain stocks and percent. The files here
belong to one scoreboard: left and right are as the operator has them, and there are also the round and the casters. If
the scoreboard follows the station on air, they are about this station.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slpstream.parts.scoreboards.board import Board, values_of
from slpstream.parts.scoreboards.files import TextFiles
from slpstream.parts.scoreboards.part import SCOREBOARD_VALUES


class TextScoreboard:
    """A folder of text files."""

    def __init__(self, folder: Path, mapping: Mapping[str, str]) -> None:
        """`mapping` contains the name of a value (see `values_of`) for each file.

        If it is empty, each value is in `NAME.txt`.
        """
        self._files = TextFiles(folder, exclusive=True)
        self._mapping = mapping or {f"{name}.txt": name for name in SCOREBOARD_VALUES}

    def update(self, board: Board | None) -> bool:
        """Show a board. Returns whether a file has changed. This blocks, and raises `SinkError` if it fails."""
        if board is None:
            return self._files.create(self._mapping)
        values = values_of(board)
        return self._files.update({file: values[name] for file, name in self._mapping.items()})
