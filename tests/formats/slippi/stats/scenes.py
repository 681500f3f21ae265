"""Small games for the tests of single computers. Each frame is given by its differences from standing still.

scene = Scene().frame(a={"percent": 5.0, "action_state_id": 0x4B}).frames(10)
stats, events = scene.run()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.frame_entry import FrameEntry, PlayerFrame
from slpstream.formats.slippi.framing import read_event_payloads
from slpstream.formats.slippi.game_start import GameStartPayload, Settings
from slpstream.formats.slippi.packed_frame import PackedFrame, whole_frames
from slpstream.formats.slippi.stats import SlippiStats
from slpstream.formats.slippi.stats.schema import Stats
from slpstream.model.events import Event, Frame, GameEnd
from tests.formats.slippi.built import bookend, post, pre, start
from tests.formats.slippi.writer import PlayerSetup, ReplayWriter, game_start

STANDING: Mapping[str, Any] = {
    "action_state_id": 0x0E,
    "stocks_remaining": 4,
    "last_hit_by": 6,
    "position_x": 0.0,
    "internal_character_id": 1,
}
INPUTS = ("joystick_x", "joystick_y", "c_stick_x", "c_stick_y", "physical_buttons", "physical_l_trigger", "seed")
NAMES = "abcd"


class Scene:
    """Frames from `first` on, with players `a` to `d` at the indices 0 to 3. Values persist until they are changed."""

    def __init__(self, players: int = 2, *, first: int = -123, stage_id: int = 32, **rows: Any) -> None:
        setups = [PlayerSetup(index=i, character_id=2, team_id=i % 2) for i in range(players)]
        payload = game_start((3, 18, 0), players=setups, stage_id=stage_id, **rows)
        self.settings: Settings = GameStartPayload(payload).settings()
        self.number = first
        self._last: list[dict[str, Any]] = [dict(STANDING) for _ in range(players)]
        self.built: list[Frame] = []
        self._scene_counter = 0

    def frame(self, *, paused: int = 0, revision: int = 0, **changes: dict[str, Any]) -> Self:
        """Add a frame. The `action_state_counter` grows by itself, unless the state changes or a value is given."""
        players: dict[int, PlayerFrame] = {}
        for index, last in enumerate(self._last):
            change = changes.get(NAMES[index], {})
            changes_state = change.get("action_state_id", last["action_state_id"]) != last["action_state_id"]
            counter = 0.0 if changes_state else last.get("action_state_counter", 0.0) + 1
            last.update({"action_state_counter": counter} | change)
            inputs = {name: last[name] for name in INPUTS if name in last}
            values = {name: value for name, value in last.items() if name not in INPUTS}
            players[index] = PlayerFrame(
                pre(self.number, index, **({"joystick_x": 0.0, "buttons": 0} | inputs)),
                post(self.number, index, **values),
            )
        self._scene_counter += 1 + paused
        begin = start(self.number, scene_frame_counter=self._scene_counter)
        entry = FrameEntry(self.number, revision, begin, players, msgspec.UNSET, msgspec.UNSET, msgspec.UNSET)
        self.built.append(Frame(1000 + self.number, self.number, revision, entry))
        self.number += 1
        return self

    def frames(self, count: int, **changes: dict[str, Any]) -> Self:
        """Add several frames. The changes take place in the first."""
        for at in range(count):
            self.frame(**(changes if at == 0 else {}))  # type: ignore[arg-type]
        return self

    def without(self, index: int) -> Self:
        """Remove a player from the last frame."""
        del self.built[-1].entry.players[index]
        return self

    def packed(self) -> list[Frame]:
        """The frames as the reader of a live game gives them, which are bytes."""
        writer = ReplayWriter((3, 18, 0))
        header = writer.open()[HEADER_BYTES:]
        events = whole_frames(tuple(read_event_payloads(header).widths))
        frames = []
        for frame in self.built:
            entry, number = frame.entry, frame.number
            sides = entry.players.values()
            data = [entry.start, *(side.pre for side in sides), *(side.post for side in sides), bookend(number)]
            parts = sum(1 << index for index in entry.players)
            content = PackedFrame(0, b"".join(map(writer.event, data)), events, parts, frame.revision)
            frames.append(Frame(frame.end_offset, number, frame.revision, content))
        return frames

    def run(self, *, finished: bool = True, **options: Any) -> tuple[Stats, list[Event]]:
        """The stats of all frames, and their events."""
        stats = SlippiStats(self.settings, **options)
        emitted = [event for frame in self.built for event in stats.feed(frame, frame.end_offset)]
        if finished:
            emitted += stats.finish(GameEnd(5000, "game_end", object()))
        return stats.stats(), emitted
