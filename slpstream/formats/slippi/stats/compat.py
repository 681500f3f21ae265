"""The frames that `getStats` of slippi-js 9.1.2 counts, and its results if there aren't exactly two players.

We have found this out by running it on replays that were whole, cut or damaged. It counts all frames up to the
finalized one, but its `lastFrame` is the newest frame that has begun. If there's a Game End, all frames are final.
Otherwise, it depends: in online games, the bookends decide. In other games with bookends, the frame 7 frames back is
final, and before 3.0, the frame before the last one. If a frame lacks the Post-Frame Update of a player, it stops
counting there, and never begins again.

If there aren't exactly two players, its lists are empty, and each player has an `overall` without any values.
"""

from __future__ import annotations

from itertools import takewhile

from msgspec import UNSET

from slpstream.formats.slippi.commands import FIRST_FRAME
from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE, Settings
from slpstream.model.events import Frame, GameEnd
from slpstream.model.fields import parse_version

ROLLBACK_FRAMES = 7
_BOOKENDS_SINCE = (3, 0, 0)


class FrameGate(Computer):
    """Only lets those frames pass that slippi-js counts."""

    def __init__(self, settings: Settings) -> None:
        self._players = [player.player_index for player in settings.players]
        self._online = settings.game_mode == MAJOR_SCENE_ONLINE
        self._bookends = parse_version(settings.slp_version) >= _BOOKENDS_SINCE
        self._lag_frames = ROLLBACK_FRAMES + 1 if self._bookends else 1
        self._held: list[tuple[Frame, int]] = []  # with the file offsets at which they became final
        self._online_lag = 0
        self._stopped = False
        self.last_frame = FIRST_FRAME - 1
        """The newest frame that has begun."""

    def feed(self, frame: Frame, end_offset: int) -> list[Frame]:
        """Take a final frame, and return the frames that count from now on."""
        if any(index in frame.entry.players for index in self._players):
            self.last_frame = frame.number
        held = self._held
        ready = 0
        if not self._online:
            ready = max(0, len(held) + 1 - self._lag_frames)
        elif held and held[-1][1] != end_offset:
            ready = len(held)
            newest, bookend = held[-1]
            # The bookend that made `newest` final is the one of this frame, or of `newest` itself.
            self._online_lag = max(0, frame.number - newest.number) if frame.end_offset <= bookend else 0
        held.append((frame, end_offset))
        return self._counted(ready)

    def finish(self, end: GameEnd) -> list[Frame]:
        """End the game, and return all remaining frames that count."""
        held = self._held
        ready = len(held)
        if end.game_end is None and held:
            ready = 0
            newest, bookend = held[-1]
            if self._online:
                # Frames that the last bookend made final count; frames that the end of the game made final do not. If
                # the file ends with a bookend, both have the same offset, and the lag is that of the previous bookend.
                if bookend < end.end_offset:
                    ready = len(held)
                elif newest.end_offset == end.end_offset and self._is_whole(newest):
                    ready = sum(1 for frame, _ in held if frame.number <= newest.number - self._online_lag)
            elif self._bookends and len(held) == self._lag_frames and self._is_whole(newest):
                ready = 1  # a frame makes the one 7 frames back final only with its bookend
        return self._counted(ready)

    def _counted(self, count: int) -> list[Frame]:
        ready = [frame for frame, _ in self._held[:count]]
        del self._held[:count]
        counted = [] if self._stopped else list(takewhile(self._is_whole, ready))
        self._stopped |= len(counted) < len(ready)
        return counted

    def _is_whole(self, frame: Frame) -> bool:
        players = frame.entry.players
        return all(index in players and players[index].post is not UNSET for index in self._players)
