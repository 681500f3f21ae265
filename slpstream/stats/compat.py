"""What slippi-js 9.1.2 `getStats` does besides computing: which frames it counts, and what it says of other than two
players. Found by running it on whole, cut and damaged replays.

Frames: it counts up to the finalized frame, while `lastFrame` is the newest that has begun. With a Game End all frames
are final. Without, it is for online games what the bookends say; with bookends else 7 frames back; before 3.0 one
frame back. At the first frame in which a player lacks the post-frame update it stops counting for good.

Other than two players: empty lists, and an `overall` with nothing in it for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE, Settings
from slpstream.model.events import Frame, GameEnd
from slpstream.model.fields import parse_version
from slpstream.stats.player import is_there
from slpstream.stats.schema import InputCounts

ROLLBACK_FRAMES = 7
_BOOKENDS_SINCE = (3, 0, 0)

Counted = Iterator[tuple[Frame, int]]


class Gate:
    """Lets those frames through that slippi-js counts."""

    def __init__(self, settings: Settings) -> None:
        self._players = [player.player_index for player in settings.players]
        self._online = settings.game_mode == MAJOR_SCENE_ONLINE
        self._bookends = parse_version(settings.slp_version) >= _BOOKENDS_SINCE
        self._behind = ROLLBACK_FRAMES + 1 if self._bookends else 1
        self._held: list[tuple[Frame, int]] = []
        self._lag = 0
        self._stopped = False
        self.last_frame: int | None = None
        """The newest that has begun."""

    def copy(self) -> Self:
        """An independent gate at the same place."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._held = list(self._held)
        return twin

    def feed(self, frame: Frame, end_offset: int) -> Counted:
        """One final frame; yields those that count by now."""
        if self._has_begun(frame):
            self.last_frame = frame.number
        held = self._held
        ready = 0
        if not self._online:
            ready = len(held) + 1 - self._behind
        elif held and held[-1][1] != end_offset:
            ready = len(held)
            self._lag = max(0, self._newest_before(frame, held[-1][1]) - held[-1][0].number)
        held.append((frame, end_offset))
        yield from self._counted(max(0, ready))

    def finish(self, end: GameEnd) -> Counted:
        """No more frames will come; yields those that count all the same."""
        held = self._held
        ready = len(held)
        if end.game_end is None and held:
            ready = 0
            newest = held[-1][0]
            if self._online:
                # What the last bookend made final counts, what the end made final does not. Both show the same
                # offset when the file ends with a bookend; then it lags as the one before did.
                if held[-1][1] < end.end_offset:
                    ready = len(held)
                elif newest.end_offset == end.end_offset and self._whole(newest):
                    ready = sum(1 for frame, _ in held if frame.number <= newest.number - self._lag)
            elif self._bookends and len(held) == self._behind and self._whole(newest):
                ready = 1  # only a frame with its bookend makes the one 7 frames back final
        yield from self._counted(ready)

    def _counted(self, count: int) -> Counted:
        held = self._held
        counted, self._held = held[:count], held[count:]
        for frame, end_offset in counted:
            if self._stopped or not self._whole(frame):
                self._stopped = True
                return
            yield frame, end_offset

    def _newest_before(self, frame: Frame, end_offset: int) -> int:
        """The number of the frame whose bookend ended at an offset: this frame's, or that of one before it."""
        if frame.end_offset <= end_offset:
            return frame.number
        return self._held[-1][0].number

    def _whole(self, frame: Frame) -> bool:
        present = frame.entry.players
        return all(is_there(present.get(index)) for index in self._players)

    def _has_begun(self, frame: Frame) -> bool:
        return any(index in frame.entry.players for index in self._players)


NO_INPUTS = InputCounts()
"""The inputs of a player whose game slippi-js does not look at."""
