"""The frames that `getStats` of slippi-js 9.1.2 counts, and its results if there aren't exactly two players.

We have found this out by running it on replays that were whole, cut or damaged. It counts all frames up to the
finalized one, but its `lastFrame` is the newest frame that has begun. If there's a Game End, all frames are final.
Otherwise, it depends: in online games, the bookends decide. In other games with bookends, the frame 7 frames back is
final, and before 3.0, the frame before the last one. If a frame lacks the Post-Frame Update of a player, it stops
counting there, and never begins again.

If there aren't exactly two players, its lists are empty, and each player has an `overall` without any values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE, Settings
from slpstream.formats.slippi.stats.player import has_post
from slpstream.formats.slippi.stats.schema import InputCounts
from slpstream.model.events import Frame, GameEnd
from slpstream.model.fields import parse_version

ROLLBACK_FRAMES = 7
_BOOKENDS_SINCE = (3, 0, 0)

CountedFrames = Iterator[tuple[Frame, int]]
"""Frames, each with the file offset at which it became final."""


class FrameGate:
    """Only lets those frames pass that slippi-js counts."""

    def __init__(self, settings: Settings) -> None:
        self._players = [player.player_index for player in settings.players]
        self._online = settings.game_mode == MAJOR_SCENE_ONLINE
        self._bookends = parse_version(settings.slp_version) >= _BOOKENDS_SINCE
        self._lag_frames = ROLLBACK_FRAMES + 1 if self._bookends else 1
        self._held: list[tuple[Frame, int]] = []
        self._online_lag = 0
        self._stopped = False
        self.last_frame: int | None = None
        """The newest frame that has begun."""

    def copy(self) -> Self:
        """Return a copy of this gate. It has the same state, but is independent from then on."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._held = list(self._held)
        return twin

    def feed(self, frame: Frame, end_offset: int) -> CountedFrames:
        """Take a final frame, and yield the frames that count from now on."""
        if self._has_begun(frame):
            self.last_frame = frame.number
        held = self._held
        ready = 0
        if not self._online:
            ready = len(held) + 1 - self._lag_frames
        elif held and held[-1][1] != end_offset:
            ready = len(held)
            self._online_lag = max(0, self._newest_before(frame, held[-1][1]) - held[-1][0].number)
        held.append((frame, end_offset))
        yield from self._counted(max(0, ready))

    def finish(self, end: GameEnd) -> CountedFrames:
        """End the game, and yield all remaining frames that count."""
        held = self._held
        ready = len(held)
        if end.game_end is None and held:
            ready = 0
            newest = held[-1][0]
            if self._online:
                # Frames that the last bookend made final count; frames that the end of the game made final do not. If
                # the file ends with a bookend, both have the same offset, and the lag is that of the previous bookend.
                if held[-1][1] < end.end_offset:
                    ready = len(held)
                elif newest.end_offset == end.end_offset and self._whole(newest):
                    ready = sum(1 for frame, _ in held if frame.number <= newest.number - self._online_lag)
            elif self._bookends and len(held) == self._lag_frames and self._whole(newest):
                ready = 1  # a frame makes the one 7 frames back final only with its bookend
        yield from self._counted(ready)

    def _counted(self, count: int) -> CountedFrames:
        held = self._held
        counted, self._held = held[:count], held[count:]
        for frame, end_offset in counted:
            if self._stopped or not self._whole(frame):
                self._stopped = True
                return
            yield frame, end_offset

    def _newest_before(self, frame: Frame, end_offset: int) -> int:
        """Return the number of the frame whose bookend ends at an offset.

        This is either this frame or the one before it.
        """
        if frame.end_offset <= end_offset:
            return frame.number
        return self._held[-1][0].number

    def _whole(self, frame: Frame) -> bool:
        present = frame.entry.players
        return all(has_post(present.get(index)) for index in self._players)

    def _has_begun(self, frame: Frame) -> bool:
        return any(index in frame.entry.players for index in self._players)


NO_INPUTS = InputCounts()
"""The inputs of players in games that slippi-js has no stats for."""
