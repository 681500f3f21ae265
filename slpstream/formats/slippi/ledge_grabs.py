"""The ledge grabs of each player, which can decide a timeout of an online game of two players.

When the time runs out in Slippi Online, a player who has grabbed ledges more than 45 times loses, unless both players
have (documented: release notes of Slippi Dolphin 3.4.1, for ranked, unranked and direct games, not for teams). Replays
do not show the version of Dolphin, so the rule is applied to games from before 3.4.1, too (guessed). A grab is the
beginning of the action state 0xFC, as in `ledgegrabCount` of the stats (observed); the game has a separate counter.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET

from slpstream.formats.slippi.commands import LEDGE_CATCH
from slpstream.formats.slippi.final_frames import FinalFrames
from slpstream.formats.slippi.frame_decoder import PackedFrame
from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE, Settings
from slpstream.model.events import Event

MAX_LEDGE_GRABS = 45
_LEDGE_CATCH = LEDGE_CATCH.to_bytes(2, "big")
_float_at = struct.Struct(">f").unpack_from
_PAIR = 2


def have_limit(settings: Settings) -> bool:
    """Whether the limit of ledge grabs applies to a game with these settings."""
    online = settings.game_mode == MAJOR_SCENE_ONLINE
    return online and len(settings.players) == _PAIR and not settings.is_teams


class LedgeGrabs:
    """Counts the ledge grabs of each player from final frames."""

    def __init__(self, players: Iterable[int]) -> None:
        self.counts = dict.fromkeys(players, 0)
        """By player index."""
        self._last: dict[int, tuple[int, Any]] = {}
        self._frames = FinalFrames()

    def copy(self) -> LedgeGrabs:
        """An independent counter in the same state."""
        twin = LedgeGrabs(())
        twin.counts, twin._last, twin._frames = dict(self.counts), dict(self._last), self._frames.copy()
        return twin

    def take(self, events: Iterable[Event]) -> None:
        """Take the next events of the game; a frame counts when it is final."""
        for frame in self._frames.take(events):
            content = frame.content
            if type(content) is PackedFrame:
                self._take_packed(content)
            else:
                self._take_players(content.players)

    def _take_packed(self, frame: PackedFrame) -> None:
        # Nearly all frames come here. Decoding them would take longer than all other work on them.
        data = frame.data
        for index, at, counter_at in frame.decoder.action_offsets:
            if data[at : at + 2] == _LEDGE_CATCH:
                self.add(index, LEDGE_CATCH, UNSET if counter_at < 0 else _float_at(data, counter_at)[0])
            elif index in self._last:
                del self._last[index]

    def _take_players(self, players: Mapping[int, Any]) -> None:
        for index, player in players.items():
            if player.post is not UNSET:
                self.add(index, player.post.action_state_id, player.post.action_state_counter)

    def add(self, index: int, state: int, counter: Any) -> None:
        """Take a player's action state in a final frame, and how long it has lasted."""
        if state == LEDGE_CATCH and index in self.counts:
            last, last_counter = self._last.get(index, (None, UNSET))
            if last != LEDGE_CATCH or (counter is not UNSET and counter < last_counter):
                self.counts[index] += 1
            self._last[index] = state, counter
        elif index in self._last:
            del self._last[index]
