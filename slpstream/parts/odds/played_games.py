"""Finished games as rows, one a second, to score and fit models by: from a table, or from replays."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from slpstream.parts.odds.game_odds import FRAMES_PER_SECOND, Conditions, GameOdds, Post, conditions_of
from slpstream.parts.odds.model import GameState, packaged_model
from slpstream.system.files import read_regular

if TYPE_CHECKING:
    from slpstream.api import Replay
    from slpstream.formats.slippi.columns import Frames

COLUMNS = ("game", "frame", "stocks_0", "percent_0", "stocks_1", "percent_1", "winner")
"""The columns of a table that are read. Others are ignored."""
_MIN_SECONDS = 30
"""Shorter games are mostly warm-ups that a player quits."""
UNKNOWN, FIRST, SECOND = -1, 0, 1
_STATE = len(GameState._fields)
WIDTH = _STATE + 2
"""Values of a row: the state of the game, who loses the next stock, and how much percent the other takes until then."""


class TableError(Exception):
    """A table that can't be read."""


class NotCounted(Exception):
    """A game by which models aren't judged, with the reason."""


class PlayedGame(NamedTuple):
    """A finished game."""

    winner: int
    """0 or 1."""
    values: array[float]
    """The rows, one after the other, each with `WIDTH` values."""

    def states(self) -> Iterator[GameState]:
        """Yield the state of the game in each row."""
        for start in range(0, len(self.values), WIDTH):
            stocks, opponent_stocks, *others = self.values[start : start + _STATE]
            yield GameState(int(stocks), int(opponent_stocks), *others)

    def thinned(self) -> PlayedGame:
        """Return the game with every other row."""
        rows = range(0, len(self.values), 2 * WIDTH)
        return self._replace(values=array("d", [v for row in rows for v in self.values[row : row + WIDTH]]))


Row = tuple[int, int, float, int, float]
"""A frame, and the stocks and the percent of both players."""


def played_game(winner: int, rows: Iterable[Row], setup: Conditions) -> PlayedGame:
    """Return a game with the rows of its whole seconds, in order. Raises `NotCounted` for a game without rows."""
    odds = GameOdds(packaged_model(), setup)
    first, second = odds.players
    states = []
    for frame, stocks, percent, other_stocks, other_percent in rows:
        point = odds.take(frame, {first: Post(percent, stocks), second: Post(other_percent, other_stocks)})
        if point is not None and min(point.state.stocks, point.state.opponent_stocks) > 0:
            states.append(point.state)
    if not states:
        raise NotCounted("no second in which both had stocks")
    values = array("d")
    for state, (loser, extra) in zip(states, _next_stocks(states, winner), strict=True):
        values.extend((*state, loser, extra))
    return PlayedGame(winner, values)


def _next_stocks(states: Sequence[GameState], winner: int) -> list[tuple[int, float]]:
    """Return who loses the next stock after each state, and how much percent the other one takes until then.

    The last stock of a game is the loser's if this player had one left. If not, a player has quit, and it is unknown.
    """
    last = states[-1]
    final = last.stocks if winner == SECOND else last.opponent_stocks
    loser = (1 - winner) if final == 1 else UNKNOWN
    at = last
    found = []
    for state, later in reversed([*pairwise(states), (last, last)]):
        lost = state.stocks > later.stocks, state.opponent_stocks > later.opponent_stocks
        if True in lost:
            loser = UNKNOWN if all(lost) else lost.index(True)
            at = state
        extra = at.opponent_percent - state.opponent_percent if loser == FIRST else at.percent - state.percent
        found.append((loser, extra))
    return found[::-1]


def read_table(path: Path) -> list[PlayedGame]:
    """Read a table with a row for each second of each game. Raises `TableError`, or `OSError` if it can't be read.

    The rows of a game follow each other, in order.
    """
    try:
        text = read_regular(path).decode()
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise TableError(f"no column {missing[0]}")
        games: dict[str, tuple[int, list[Row]]] = {}
        for number, row in enumerate(reader, 2):
            try:
                winner, values = _values(row)
            except (TypeError, ValueError):
                raise TableError(f"line {number}: not the numbers of a game") from None
            known, rows = games.setdefault(row["game"], (winner, []))
            if winner != known or (rows and rows[-1][0] >= values[0]):
                raise TableError(f"line {number}: another winner than before, or not in the order of frames")
            rows.append(values)
    except UnicodeDecodeError:
        raise TableError("not a text") from None
    except csv.Error as error:
        raise TableError(str(error)) from None
    found = []
    for name, (winner, rows) in games.items():
        try:
            found.append(played_game(winner, rows, _setup_of(rows)))
        except NotCounted as error:
            raise TableError(f"game {name}: {error}") from None
    if not found:
        raise TableError("no games")
    return found


def _values(row: dict[str, str]) -> tuple[int, Row]:
    winner = int(row["winner"])
    if winner not in (FIRST, SECOND):
        raise ValueError
    stocks, other_stocks = int(row["stocks_0"]), int(row["stocks_1"])
    return winner, (int(row["frame"]), stocks, float(row["percent_0"]), other_stocks, float(row["percent_1"]))


def _setup_of(rows: Sequence[Row]) -> Conditions:
    """Return the setup of a game in a table, which has as many stocks as in its first row."""
    stocks = (rows[0][1], rows[0][3])
    players = [{"playerIndex": i, "startStocks": count} for i, count in enumerate(stocks)]
    return msgspec.convert({"inGameMode": 0x20, "isTeams": False, "players": players}, Conditions)


def game_of(replay: Replay) -> PlayedGame:
    """Return the game in a replay. Raises `NotCounted` if it has no odds, or wasn't decided between two people.

    This needs numpy.
    """
    if replay.format != "slippi":
        raise NotCounted("not a game of Melee")
    setup = conditions_of(replay.settings)
    if setup.without_odds or setup.has_computer:
        raise NotCounted(setup.without_odds or "played against the computer")
    winners = [each.player_index for each in replay.game_end.winners]
    indices = [player.player_index for player in setup.players]
    if len(winners) != 1 or winners[0] not in indices:
        raise NotCounted("not decided")
    if (replay.game_end.duration_seconds or 0) < _MIN_SECONDS:
        raise NotCounted("ended too early")
    return played_game(indices.index(winners[0]), _rows(replay.frames, indices), setup)


def _rows(frames: Frames, indices: Sequence[int]) -> Iterator[Row]:
    """Yield the rows of the whole seconds, from the last sending of each frame."""
    import numpy as np  # noqa: PLC0415 -- only the columns of replays need it

    one, two = (frames.players[index].post for index in indices)
    present = np.flatnonzero(one.present & two.present & (frames.number >= 0))
    seconds = frames.number[present] // FRAMES_PER_SECOND
    rows = present[np.diff(seconds, prepend=-1) > 0]
    columns = [post[name][rows].tolist() for post in (one, two) for name in ("stocks_remaining", "percent")]
    yield from zip(frames.number[rows].tolist(), *columns, strict=True)
