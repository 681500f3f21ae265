"""Compute the stats of a whole game from its columns. This uses the same computers, but doesn't decode any fields that
they don't need.

In each frame, we only turn those fields into values that the computers read, column by column. This works if the game
has a Game End, its bytes are valid, and no frame number comes again once it is final. For all other games, we have to
read the events one by one, and the result is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.stats.game import SlippiStats
from slpstream.formats.slippi.stats.selected import (
    SelectedEntry,
    SelectedPlayer,
    SelectedPost,
    SelectedPre,
    SelectedStart,
)
from slpstream.formats.slippi.stats.targets import MAJOR_SCENE_TARGET_TEST
from slpstream.model.events import Event, Frame, GameEnd

if TYPE_CHECKING:
    from slpstream.formats.slippi.columns import Character, EventColumns, Frames
    from slpstream.formats.slippi.whole_game import WholeGame


class WithoutEvents:
    """A stats computer that doesn't return any events before the game ends."""

    def __init__(self, stats: SlippiStats) -> None:
        self.stats = stats

    def copy(self) -> Self:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        return type(self)(self.stats.copy())

    def feed(self, frame: Frame, end_offset: int) -> list[Event]:
        """Take a final frame. Returns no events."""
        self.stats.take(frame, end_offset)
        return []

    def finish(self, end: GameEnd) -> list[Event]:
        """End the game. Returns the last events."""
        return self.stats.finish(end)


def whole_stats(game: WholeGame, *, compat: bool = False, crew: bool = False) -> SlippiStats | None:
    """Return the stats of a finished game, or `None` if you have to read its events one by one."""
    settings = game.start.settings
    if settings.game_mode == MAJOR_SCENE_TARGET_TEST or not game.is_plain:  # target tests need the items
        return None
    end = game.end
    stats = SlippiStats(settings, compat=compat, crew=crew)
    stats.feed_all(_frames(game.frames, [player.player_index for player in settings.players], end.end_offset))
    stats.finish(end)
    return stats


def _frames(frames: Frames, of_players: Iterable[int], end_offset: int) -> Iterator[Frame]:
    """Iterate over the final frames in order, but only include the given players.

    A hostile file might have updates of 256.
    """
    numbers: list[int] = frames.number.tolist()
    players = {index: frames.players[index] for index in of_players if index in frames.players}
    sides = zip(*(_sides(numbers, character) for character in players.values()), strict=True)
    present: Iterator[dict[int, Any]] = map(dict, map(zip, repeat(players), sides)) if players else repeat({})
    if not all(_complete(character) for character in players.values()):
        present = ({index: side for index, side in all.items() if side is not None} for all in present)
    starts = _values(frames.start, SelectedStart) if "scene_frame_counter" in frames.start.fields else repeat(UNSET)
    return map(Frame, repeat(end_offset), numbers, frames.revision.tolist(), map(SelectedEntry, starts, present))


def _complete(character: Character) -> bool:
    return bool(character.pre.present.all() and character.post.present.all())


def _sides(numbers: list[int], character: Character) -> Iterable[SelectedPlayer | None]:
    """Return a player's part of each frame. If the player isn't in a frame, it is `None`."""
    posts = _values(character.post, SelectedPost, frame=numbers)
    if _complete(character):
        return map(SelectedPlayer, _changes(character.pre), posts)
    pres = _values(character.pre, SelectedPre)
    return (
        None if pre is UNSET and post is UNSET else SelectedPlayer(pre, post)
        for pre, post in zip(pres, posts, strict=True)
    )


def _changes(columns: EventColumns) -> list[Any]:
    """Return the Pre-Frame Updates of all frames.

    If the inputs are the same as in the frame before, you get UNSET instead.
    """
    import numpy as np  # noqa: PLC0415

    changed = np.zeros(len(columns), np.bool_)
    changed[:1] = True
    used = [columns[name] for name in SelectedPre.__struct_fields__ if name in columns.fields]
    for column in used:
        changed[1:] |= column[1:] != column[:-1]
    rows = np.flatnonzero(changed)
    lists = [
        columns[name][rows].tolist() if name in columns.fields else repeat(UNSET)
        for name in SelectedPre.__struct_fields__
    ]
    pres: list[Any] = [UNSET] * len(columns)
    for row, pre in zip(rows.tolist(), map(SelectedPre, *lists), strict=True):
        pres[row] = pre
    return pres


def _values(columns: EventColumns, struct: type[msgspec.Struct], **given: list[Any]) -> Iterable[Any]:
    """Return the event of each frame as a `struct`. If there's no event, or the replay doesn't have a field, you get
    UNSET.

    If you already have the values of some fields, pass them as lists in `given`.
    """
    lists: list[Iterable[Any]] = []
    for name in struct.__struct_fields__:
        if name in given:
            lists.append(given[name])
        elif name in columns.fields:
            lists.append(columns[name].tolist())
        else:
            lists.append(repeat(UNSET, len(columns)))
    values = map(struct, *lists)
    present = columns.present
    if bool(present.all()):
        return values
    return (value if is_present else UNSET for value, is_present in zip(values, present.tolist(), strict=True))
