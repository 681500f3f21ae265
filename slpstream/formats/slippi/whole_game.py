"""A whole `.slp` in memory. We take the settings from its head, the columns from its frames, and how it ended from its
tail.

The head and tail are read by the reader of the live path, and `frame_index` only finds the frames in between. This
makes sure that both paths agree about a game, even if there's something wrong with it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from msgspec import UNSET

from slpstream.formats.slippi import container
from slpstream.formats.slippi.assembler import FramesBefore
from slpstream.formats.slippi.columns import Frames, ascends
from slpstream.formats.slippi.commands import GAME_END, GAME_START, POST_FRAME, PRE_FRAME
from slpstream.formats.slippi.frame_entry import FrameEntry, PlayerFrame
from slpstream.formats.slippi.frame_index import ABSENT, FrameIndex, Slot, frame_index
from slpstream.formats.slippi.frame_numbers import MAX_REPEATS
from slpstream.formats.slippi.framing import EventPayloads, event_payloads_of
from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE, MIN_PAYLOAD_BYTES, GameStartPayload
from slpstream.formats.slippi.reader import Head, read_head
from slpstream.formats.slippi.result import TIME, limits_ledge_grabs
from slpstream.model.errors import FormatError, FramingError
from slpstream.model.events import Event, Frame, GameEnd, GameStart, Metadata, first_of

_UPDATES = PRE_FRAME.command, POST_FRAME.command
_MAX_FRAMES_BACK = 7
"""Longest rollback of a plain game."""
_FIRST_FRAME_BYTES = 64 * 1024
"""Enough for the first frame, which completes the settings in replays before 1.6."""


class WholeGame:
    """A replay, which doesn't have to be finished. If it has no Game Start, creating this raises `FormatError`."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        found = _after_game_start(data) or (self._head.payloads, self._head.game_start, self._head.at)
        self._payloads, self._game_start, self._frames_start = found

    @cached_property
    def _head(self) -> Head:
        return read_head(self.data)

    @cached_property
    def start(self) -> GameStart:
        """The Game Start event."""
        found = first_of(GameStart, self._head.events)
        if found is None:  # with Zelda or Sheik before 1.6.0, the first frame completes it
            reader, at = self._head.reader.copy(), self._frames_start
            found = first_of(GameStart, [*reader.feed(self.data[at : at + _FIRST_FRAME_BYTES]), *reader.finish()])
        if found is None:
            raise FramingError("the file ends before Game Start", offset=len(self.data))
        return found

    @cached_property
    def index(self) -> FrameIndex:
        """The offsets of the events of all frames."""
        return frame_index(
            self.data, self._frames_start, self._limit, self._payloads.widths, self._game_start.player_indices
        )

    @property
    def _limit(self) -> int:
        """The end of the raw array if we know it, but never more than the end of the file."""
        raw = container.raw_length(self.data)
        return min(len(self.data), container.HEADER_BYTES + raw) if raw else len(self.data)

    @cached_property
    def frames(self) -> Frames:
        """The frames as columns; see `columns`."""
        return Frames.of(self.data, self.index, self._payloads.sizes)

    @property
    def failure(self) -> FormatError | None:
        """If the bytes were wrong, this is the error that ended the game."""
        return self.index.failure

    @property
    def end(self) -> GameEnd:
        """The end of the game. If the file breaks off, the reason is `incomplete`."""
        found = first_of(GameEnd, self._late)
        if found is None:
            raise FramingError("the game has no end", offset=len(self.data))
        return found

    @property
    def metadata(self) -> Metadata | None:
        """The metadata, or `None` if there isn't any in the file."""
        return first_of(Metadata, self._late)

    @cached_property
    def is_plain(self) -> bool:
        """Whether there's nothing special about the game, so that its columns contain the final frames.

        To be plain, it must be sound and have a Game End. Also, for each number, the last sending must be the one that
        became final, and they must have become final in order. If a game isn't plain, you have to read its events one
        by one to know its final frames.
        """
        stop, width = self.index.stop, self._payloads.widths[GAME_END.command]
        has_game_end = 1 < width <= self._limit - stop and self.data[stop] == GAME_END.command
        if self.failure is not None or not has_game_end:
            return False
        sendings = self.frames.sendings
        numbers = sendings.number
        if ascends(numbers):
            return True
        bookend = sendings.bookend
        online = self.start.settings.game_mode == MAJOR_SCENE_ONLINE
        if not online or "latest_finalized_frame" not in bookend.fields or not bool(bookend.present.all()):
            return False
        newest = np.maximum.accumulate(numbers)
        final = np.maximum.accumulate(np.minimum(bookend["latest_finalized_frame"], numbers))
        in_time = (numbers[1:] > final[:-1]) & (numbers[1:] > newest[:-1] - _MAX_FRAMES_BACK)
        return bool(in_time.all() and (newest - final <= _MAX_FRAMES_BACK + 1).all())

    @cached_property
    def _late(self) -> list[Event]:
        """The events after the frames."""
        head, stop = self._head, self.index.stop
        settings = head.reader.settings
        # Falls are counted in all frames. The raw array can also end with Game Start.
        if settings is not None and settings.takes_stocks and head.reader.stage == "events":
            reader = head.reader.resumed_after_frames(stop, self._frames_before())
            events = [*reader.feed(self.data[stop:]), *reader.finish()]
            end = first_of(GameEnd, events)
            is_timeout = end is not None and end.game_end is not None and end.game_end.game_end_method == TIME
            if not is_timeout or not limits_ledge_grabs(settings):
                return events
        reader = head.reader.copy()
        return [*head.events, *reader.feed(self.data[head.at :]), *reader.finish()]

    def _frames_before(self) -> FramesBefore:
        """Return the first frame number, and what decides who the winners are: the players in the last sending of the
        highest number, and the last Post-Frame Updates of all players.
        """
        numbers, slots = self.index.numbers, self.index.slots
        if not len(numbers):
            return FramesBefore()
        number = int(numbers.max())
        row = len(numbers) - 1 - int((numbers[::-1] == number).argmax())
        entry, gone = FrameEntry(number, 0, UNSET, {}, UNSET, UNSET, UNSET), {}
        none = np.full(len(numbers), ABSENT)
        for player in [player for player, is_follower in self.index.characters if not is_follower]:
            pres, posts = (slots.get(Slot(command, player), none) for command in _UPDATES)
            last = row
            if pres[row] == posts[row] == ABSENT:
                shown = np.flatnonzero(np.maximum(pres[:row], posts[:row]) != ABSENT)
                if not len(shown):
                    continue
                last = int(shown[-1])
            post: Any = UNSET
            if posts[last] != ABSENT:
                layout = POST_FRAME.layout(self._payloads.sizes[POST_FRAME.command])
                post = layout.decode(self.data, int(posts[last]))
            if last == row:
                entry.players[player] = PlayerFrame(UNSET, post)
            elif post is not UNSET:
                gone[player] = post
        repeated = len(numbers) > MAX_REPEATS and bool((numbers == numbers[0]).all())
        return FramesBefore(int(numbers[0]), Frame(self.index.stop, number, 0, entry), gone, repeated)


def _after_game_start(data: bytes) -> tuple[EventPayloads, GameStartPayload, int] | None:
    """Return Event Payloads, Game Start and the position after it, or `None` if the reader has to read the head."""
    found = event_payloads_of(data) if data.startswith(container.MAGIC) else None
    if found is None:
        return None
    payloads, start = found
    end, raw = start + payloads.widths[GAME_START], container.raw_length(data)
    is_inside = end < len(data) and (not raw or end < container.HEADER_BYTES + raw)
    if not is_inside or data[start] != GAME_START or end - start <= MIN_PAYLOAD_BYTES:
        return None
    return payloads, GameStartPayload(data[start:end]), end
