"""Small replays for tests, built event by event with the project's own writer.

    data = Built((3, 18, 0)).frames(-123, -100).end().closed()

Values depend on the frame number and the player, so no two frames are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Self

from slpstream.formats.slippi import container
from slpstream.formats.slippi.commands import (
    FOD_PLATFORMS,
    FRAME_BOOKEND,
    FRAME_START,
    ITEM_UPDATE,
    POST_FRAME,
    PRE_FRAME,
    STADIUM,
    WHISPY,
)
from slpstream.model.fields import Table
from tests.formats.slippi.writer import PlayerSetup, ReplayWriter, game_start

ZERO_OF_CODE = {"f": 0.0, "?": False}
OFFLINE, ONLINE = 2, 8
METADATA: Mapping[str, Any] = {
    "startAt": "2025-02-09T22:56:19Z",
    "lastFrame": 0,
    "players": {"0": {"characters": {"1": 3}, "names": {"netplay": "Ä", "code": "A#1"}}},
    "playedOn": "dolphin",
}


def event(table: Table, **values: Any) -> Any:
    """An event with all fields of its table; fields that are not given are zero."""
    row: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}
    for field in table.fields:
        group, dot, member = field.name.partition(".")
        zero = ZERO_OF_CODE.get(field.kind.code, 0)
        if dot:
            groups.setdefault(group, {})[member] = values.pop(member, zero)
        else:
            row[field.name] = values.pop(field.name, zero)
    assert not values, f"{table.title} has no {sorted(values)}"
    return table.cls(**row, **{name: table.groups[name](**members) for name, members in groups.items()})


def pre(frame: int, player: int = 0, *, follower: bool = False, **values: Any) -> Any:
    """A Pre-Frame Update."""
    values = {"joystick_x": ((frame * 7 + player) % 161 - 80) / 80, "buttons": frame & 0xFFF} | values
    return event(PRE_FRAME, frame=frame, player_index=player, is_follower=follower, **values)


def post(frame: int, player: int = 0, *, follower: bool = False, **values: Any) -> Any:
    """A Post-Frame Update."""
    values = {"position_x": frame / 8 + player, "stocks_remaining": 4, "air_x": frame / 16} | values
    return event(POST_FRAME, frame=frame, player_index=player, is_follower=follower, **values)


def start(frame: int, **values: Any) -> Any:
    """A Frame Start."""
    return event(FRAME_START, frame=frame, **({"seed": frame & 0xFFFF} | values))


def item(frame: int, spawn_id: int = 0, **values: Any) -> Any:
    """An Item Update."""
    return event(ITEM_UPDATE, frame=frame, spawn_id=spawn_id, **({"type_id": 54} | values))


def bookend(frame: int, finalized: int | None = None) -> Any:
    """A Frame Bookend. Without `finalized` its latest finalized frame is the frame itself."""
    return event(FRAME_BOOKEND, frame=frame, latest_finalized_frame=frame if finalized is None else finalized)


class Built:
    """A replay under construction. `so_far` has its bytes while the game runs, `closed` those of the finished file."""

    def __init__(
        self,
        version: tuple[int, int, int] = (3, 18, 0),
        *,
        major_scene: int = OFFLINE,
        characters: Mapping[int, int] | None = None,
        sizes: Mapping[int, int] | None = None,
        **rows: Any,
    ) -> None:
        characters = {0: 2, 1: 20} if characters is None else characters
        self.writer = ReplayWriter(version, sizes)
        self.players: Sequence[int] = tuple(characters)
        setups = [PlayerSetup(index=i, character_id=c) for i, c in characters.items()]
        self.game_start = game_start(version, players=setups, stage_id=8, major_scene=major_scene, **rows)
        self.parts = [self.writer.open(), self.writer.event(self.game_start)]

    def add(self, *events: Any) -> Self:
        """Add events, decoded or as bytes; undeclared ones are left out."""
        self.parts += [self.writer.event(e) for e in events]
        return self

    def raw(self, data: bytes) -> Self:
        """Add bytes to the raw array that need not be events."""
        self.parts.append(self.writer.raw(data))
        return self

    def frame(
        self,
        number: int,
        *,
        finalized: int | None = None,
        players: Iterable[int] | None = None,
        followers: Iterable[int] = (),
        items: int = 0,
        stage_events: bool = False,
        **post_values: Any,
    ) -> Self:
        """Add one sending of a frame, its events in the order of the version."""
        indices = self.players if players is None else tuple(players)
        sides = [(i, False) for i in indices] + [(i, True) for i in followers]
        stage = [
            event(FOD_PLATFORMS, frame=number, platform=1, height=number / 4),
            event(WHISPY, frame=number, direction=2),
            event(STADIUM, frame=number, event=5, transformation=9),
        ]
        self.parts.append(
            self.writer.frame(
                number,
                start=start(number),
                pres=[pre(number, i, follower=follower) for i, follower in sides],
                posts=[post(number, i, follower=follower, **post_values) for i, follower in sides],
                items=[item(number, spawn_id) for spawn_id in range(items)],
                stage_events=stage if stage_events else (),
                finalized=finalized,
            )
        )
        return self

    def frames(self, first: int, last: int, **values: Any) -> Self:
        """Add the frames from `first` to `last`."""
        for number in range(first, last + 1):
            self.frame(number, **values)
        return self

    def end(self, method: int = 2, **values: Any) -> Self:
        """Add a Game End."""
        self.parts.append(self.writer.end(method, **values))
        return self

    def so_far(self) -> bytes:
        """The file while the game runs, with raw length 0 and not closed."""
        return b"".join(self.parts)

    def closed(self, metadata: Mapping[str, Any] | None = METADATA, *, raw_length_bytes: int | None = None) -> bytes:
        """The finished file, with a wrong raw length if `raw_length_bytes` is given."""
        body = self.so_far() + self.writer.close(metadata)
        header = self.writer.header() if raw_length_bytes is None else wrong_header(raw_length_bytes)
        return header + body[container.HEADER_BYTES :]


def wrong_header(raw_length_bytes: int) -> bytes:
    """A header with any 32-bit raw length, also a negative one."""
    return container.MAGIC + (raw_length_bytes & 0xFFFF_FFFF).to_bytes(4, "big")


def varied_replay() -> bytes:
    """A small replay with rollbacks, followers, items, stage events, a missing player and metadata."""
    game = Built(major_scene=ONLINE)
    game.parts.append(game.writer.gecko_list(bytes(range(256)) * 5))
    for number in range(-123, -100):
        game.frame(number, finalized=max(-124, number - 3), items=number % 3, stage_events=number % 5 == 0)
    for number in range(-102, -95):
        game.frame(number, finalized=-104, followers=(1,), items=2)
    game.frame(-94, finalized=-99, players=(1,), items=1, percent=float("nan"))
    game.add(start(-93), pre(-93), pre(-93, 1), post(-93, 1), bookend(-93, -95))  # without the post of player 0
    return game.end(placements=(0, 1, -1, -1)).closed()


def replay_of_version(version: tuple[int, int, int]) -> bytes:
    """A small replay of a version in which players, followers, items and stage events come and go, with a rollback."""
    game = Built(version, major_scene=ONLINE if version >= (3, 0, 0) else OFFLINE)
    game.frames(-123, -116)
    game.frames(-115, -110, followers=(1,), items=2, stage_events=True)
    game.frames(-109, -106, players=(1,), items=1)
    game.frames(-108, -99, percent=float("nan"))
    return game.end().closed()


@cache
def built_replays() -> dict[str, bytes]:
    """Small replays of several versions by name, put together by the project's own writer."""
    versions = ((0, 1, 0), (2, 0, 1), (2, 2, 0), (3, 3, 0), (3, 18, 0))
    return {"varied": varied_replay()} | {
        ".".join(map(str, version)): replay_of_version(version) for version in versions
    }
