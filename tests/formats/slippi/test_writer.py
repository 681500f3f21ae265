"""Writing: decoded events are encoded back to the same bytes, event by event, in every version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from slpstream.formats.slippi import container, metadata
from slpstream.formats.slippi.commands import GAME_START, GECKO_LIST, POST_FRAME, TABLES
from slpstream.formats.slippi.framing import event_payloads_of
from slpstream.formats.slippi.game_start import GameStartPayload
from tests.formats.slippi.writer import PlayerSetup, ReplayWriter, Version, game_start, size_of_table_at, sizes_at
from tests.replays import NOT_REPLAYS, replays

# Sizes declared in real files: Game Start, Pre, Post, Game End, Frame Start, Item, Bookend.
DECLARED: dict[Version, tuple[int, ...]] = {
    (0, 1, 0): (320, 58, 33, 1),
    (1, 0, 0): (352, 58, 37, 1),
    (1, 2, 0): (352, 59, 37, 1),
    (1, 7, 1): (417, 63, 37, 1),
    (2, 0, 1): (418, 63, 51, 2),
    (3, 7, 0): (420, 63, 72, 2, 8, 42, 8),
    (3, 9, 1): (584, 63, 76, 2, 8, 42, 8),
    (3, 12, 0): (701, 63, 80, 2, 12, 42, 8),
    (3, 13, 0): (701, 63, 80, 6, 12, 42, 8),
    (3, 14, 0): (760, 63, 80, 6, 12, 42, 8),
    (3, 15, 0): (760, 64, 80, 6, 12, 42, 8),
    (3, 16, 0): (760, 64, 84, 6, 12, 44, 8),
    (3, 18, 0): (760, 66, 84, 6, 12, 44, 8),
}


class TakenApart:
    """A replay's parts, found with nothing but the framing."""

    def __init__(self, data: bytes) -> None:
        found = event_payloads_of(data)
        assert found is not None
        self.payloads, at = found
        self.events: list[bytes] = []
        while at < len(data):
            size = self.payloads.widths[data[at]]
            if not size or at + size > len(data):
                break
            self.events.append(data[at : at + size])
            at += size
        self.rest = data[at:]
        self.version: Version = GameStartPayload(self.events[0]).version

    def again(self, event: bytes) -> Any:
        """The event, decoded if it has a table, otherwise unchanged."""
        table = TABLES.get(event[0])
        # Bytes beyond the known fields are not decoded; real replays of development versions have some.
        known = table is not None and table.layout(len(event) - 1).struct.size == len(event) - 1
        return table.layout(len(event) - 1).decode(event, 0) if table is not None and known else event

    def metadata(self) -> dict[str, Any] | None:
        return metadata.read_element(self.rest, 0)


def written_again(data: bytes) -> bytes:
    """A replay with every event and the metadata decoded and encoded; a file that was cut off is cut off again."""
    parts = TakenApart(data)
    writer = ReplayWriter(parts.version, parts.payloads.sizes)
    body = writer.open() + b"".join(writer.event(parts.again(event)) for event in parts.events)
    if not parts.rest.endswith(container.CLOSE):
        return body + parts.rest
    body += writer.close(parts.metadata())
    head = writer.header() if container.raw_length(data) else container.header(0)
    return head + body[len(head) :]


@pytest.mark.parametrize("path", [p for p in replays() if p.stem not in NOT_REPLAYS], ids=lambda path: path.stem)
def test_replay_is_written_again_byte_for_byte(path: Path) -> None:
    data = path.read_bytes()
    actual = written_again(data)
    at = next((i for i, (a, b) in enumerate(zip(actual, data, strict=False)) if a != b), None)
    assert at is None, f"the first difference is at offset {at}"
    assert len(actual) == len(data)


@pytest.mark.parametrize("version", DECLARED, ids=str)
def test_sizes_are_those_of_real_files(version: Version) -> None:
    commands = (GAME_START, 0x37, 0x38, 0x39, 0x3A, 0x3B, 0x3C)
    sizes = sizes_at(version)
    assert tuple(sizes[command] for command in commands if command in sizes) == DECLARED[version]


def test_size_of_a_long_gecko_list_overflows() -> None:
    # v3.13 of the real ones: 69,600 bytes, declared 4,064.
    assert sizes_at((3, 13, 0), gecko_list_bytes=69_600)[GECKO_LIST] == 4064


def test_game_start_reads_back() -> None:
    fox = PlayerSetup(
        index=1, character_id=2, character_color=3, nametag="FOX!", display_name="Vixen #1", connect_code="VIXN#101"
    )
    cpu = PlayerSetup(index=3, character_id=9, type=1, cpu_level=7, user_id="abc", damage_start=300)
    event = game_start(
        (3, 18, 0), players=[fox, cpu], stage_id=31, random_seed=7, major_scene=8, session_id="mode.x", game_number=3
    )
    settings = GameStartPayload(event).settings()
    assert settings.slp_version == "3.18.0"
    assert (settings.in_game_mode, settings.timer_type, settings.starting_timer_seconds) == (0x20, 2, 480)
    assert (settings.stage_id, settings.random_seed, settings.item_spawn_behavior) == (31, 7, 255)
    assert (settings.game_mode, settings.scene, settings.match_info.session_id) == (8, 2, "mode.x")
    assert settings.match_info.game_number == 3
    assert [player.port for player in settings.players] == [2, 4]
    first, second = settings.players
    assert (first.character_id, first.character_color, first.start_stocks) == (2, 3, 4)
    assert (first.nametag, first.display_name, first.connect_code) == ("FOX!", "Vixen #1", "VIXN#101")
    assert (first.controller_fix, first.offense_ratio, first.model_scale) == ("UCF", 1.0, 1.0)
    assert (second.type, second.cpu_level, second.user_id, second.damage_start) == (1, 7, "abc", 300)


@pytest.mark.parametrize(
    ("version", "major_scene", "flag", "frozen"),
    [
        ((3, 18, 0), 8, False, True),
        ((3, 18, 0), 8, True, True),
        ((3, 18, 0), 2, False, False),
        ((3, 18, 0), 2, True, True),
        ((3, 19, 0), 8, False, False),
        ((3, 6, 0), 8, False, UNSET),
        ((3, 6, 0), 8, True, True),
        ((2, 0, 0), 2, False, False),
        ((1, 7, 1), 2, True, UNSET),
    ],
)
def test_stadium_was_frozen_online_regardless_of_the_flag(
    version: tuple[int, int, int], major_scene: int, flag: bool, frozen: bool | UnsetType
) -> None:
    players = [PlayerSetup(index=0, character_id=2)]
    event = game_start(version, players=players, stage_id=3, major_scene=major_scene, is_frozen_ps=flag)
    assert GameStartPayload(event).settings().stadium_frozen is frozen


@pytest.mark.parametrize(("version", "speeds"), [((3, 4, 0), b"{}"), ((2, 0, 0), b"{}"), ((3, 5, 0), b'{"airX":0.0')])
def test_speeds_that_a_version_lacks_are_an_empty_object(version: tuple[int, int, int], speeds: bytes) -> None:
    data = POST_FRAME.layout(size_of_table_at(POST_FRAME, version)).decode(bytes(100), 0)
    assert b'"selfInducedSpeeds":' + speeds in msgspec.json.encode(data)
