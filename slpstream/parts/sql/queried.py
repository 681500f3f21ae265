"""The view of a replay for tables. A table uses as few parts as it can, since each part costs time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from slpstream.formats.slippi.frames import Frames
    from slpstream.model.events import GameEnd, GameStart, Metadata
    from slpstream.model.summary import GameSummary
    from slpstream.stats.schema import Stats

Row = Mapping[str, Any]
"""Values by the names of columns. Columns that are left out are null."""

Holds = Callable[[Row], bool]
"""Whether a row with these values, and any other values, can pass the filter."""


class Described(Protocol):
    """A game, as its first and last bytes describe it."""

    @property
    def start(self) -> GameStart:
        """The Game Start."""

    @property
    def end(self) -> GameEnd | None:
        """The end of the game."""

    @property
    def metadata(self) -> Metadata | None:
        """The metadata of the file."""

    def summary(self) -> GameSummary:
        """The players, the place, the rules and the result."""


class Opened(Protocol):
    """A replay whose first bytes have been read."""

    @property
    def format(self) -> str:
        """Name of the format."""

    @property
    def game_id(self) -> str:
        """The id of the game."""

    @property
    def settings(self) -> Any:
        """The setup of the game."""

    @property
    def frames(self) -> Frames:
        """The frames as columns."""

    def stats(self) -> Stats:
        """The stats of the game."""


class Queried(Protocol):
    """A replay that a query can read. `game` and `replay` read the file when they are used."""

    @property
    def file(self) -> str:
        """The path of the file, or the name of a member of an archive."""

    @property
    def game(self) -> Described:
        """The description of the game."""

    @property
    def replay(self) -> Opened:
        """The replay."""
