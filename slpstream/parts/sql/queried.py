"""How a table sees a replay. It should use as few parts of it as possible, since each of them takes time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from slpstream.formats.slippi.columns import Frames
    from slpstream.formats.slippi.stats.schema import Stats
    from slpstream.model.events import GameEnd, GameStart, Metadata
    from slpstream.model.summary import GameSummary

Row = Mapping[str, Any]
"""Values by the names of columns. Columns that are left out are null."""

Holds = Callable[[Row], bool]
"""Whether a row with these values, and any other values, can pass the filter."""


class Described(Protocol):
    """A game in the form in which its first and last bytes describe it."""

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
    """A replay of which the first bytes were read."""

    @property
    def format(self) -> str:
        """Name of the format."""

    @property
    def game_id(self) -> str:
        """The id that the game has."""

    @property
    def settings(self) -> Any:
        """The setup of the game."""

    @property
    def frames(self) -> Frames:
        """The frames as columns."""

    def stats(self) -> Stats:
        """The stats of the game."""


class Queried(Protocol):
    """A replay that a query can read. The file is read when you use `game` or `replay`."""

    @property
    def file(self) -> str:
        """The path of the file, or if it's a member of an archive, its name."""

    @property
    def game(self) -> Described:
        """The description of the game."""

    @property
    def replay(self) -> Opened:
        """The replay."""
