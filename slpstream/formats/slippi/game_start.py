"""Game Start (0x36) describes the setup of the game. This module also makes the `settings` of `game_start` messages
from it.

There's one of them per game, after Event Payloads, and it is big-endian. Since it only comes once, we read it row by
row and don't care about speed. Most of it is a block that the game copies from memory, and no one has documented all of
it. That's why the event keeps its payload, and the writer only changes single fields in it.

`settings` has the same form as slippi-js's `GameStartType`, with a few differences that the contract lists: the eight
player flags come from the player bitfield at 0x71, and `damageStart`, `damageSpawn`, `dashbackFix` and `shieldDropFix`
are added. `stadiumFrozen` is concluded from other fields.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from slpstream.formats.slippi.commands import GAME_START
from slpstream.formats.slippi.text import decode_ascii, decode_name
from slpstream.formats.text import UNDECODABLE
from slpstream.model.errors import FieldError
from slpstream.model.fields import BOOL, F32, I8, U8, U16, U32, Field, camel, octets

PLAYERS = 4
PLAYER_TYPE_EMPTY = 3
MAJOR_SCENE_ONLINE = 8
TIME_MODE, STOCK_MODE = 0x00, 0x20
"""Values of `in_game_mode`. Others are 0x40, coin mode, and 0x60, bonus mode."""

EXACT_CHARACTER_SINCE = (1, 6, 0)
"""Before this version Game Start has Zelda for a player that begins as Sheik; frame -123 has the right one."""

_ONLINE_SINCE = (3, 0, 0)
_FLAG_ONLINE_SINCE = (3, 19, 0)
"""Since this version `is_frozen_ps` is right in online games, too."""

_ZELDA, _SHEIK = 18, 19
_EXTERNAL_OF_INTERNAL = {7: _SHEIK, 19: _ZELDA}

FIELDS = (
    Field("version", 0x1, octets(4), "0.1.0", "Version of the replay: major.minor.build.unused."),
    Field("game_bitfield_1", 0x5, U8, "0.1.0", "0x03 timer (0 none, 2 down, 3 up), 0xE0 mode (0x20 stock).", "bits"),
    Field("game_bitfield_2", 0x6, U8, "0.1.0", "0x01 friendly fire.", "bits"),
    Field("game_bitfield_3", 0x7, U8, "0.1.0", "0x10 single-button mode, 0x80 pause.", "bits"),
    Field("game_bitfield_4", 0x8, U8, "0.1.0", "0x02 hide HUD in pause, 0x04 LRAS, 0x08 no pause, 0x40 stick.", "bits"),
    Field("bomb_rain", 0xB, BOOL, "0.1.0", "Sudden-death bombs."),
    Field("is_teams", 0xD, BOOL, "0.1.0", "Teams game, for any value but 0."),
    Field("item_spawn_behavior", 0x10, U8, "0.1.0", "How often items spawn: 255 off, 0 very low, up to 8."),
    Field("self_destruct_score_value", 0x11, I8, "0.1.0", "Score for a self-destruct: -2, -1 or 0."),
    Field("stage_id", 0x13, U16, "0.1.0", "Stage id."),
    Field("starting_timer_seconds", 0x15, U32, "0.1.0", "Start of the timer, set in every mode.", "seconds"),
    Field("item_spawn_bitfield_1", 0x28, U8, "0.1.0", "0x04 Poke Ball, 0x02 cloaking device, 0x01 metal box.", "bits"),
    Field("item_spawn_bitfield_2", 0x29, U8, "0.1.0", "0x80 bunny hood ... 0x01 fan.", "bits"),
    Field("item_spawn_bitfield_3", 0x2A, U8, "0.1.0", "0x80 lip's stick ... 0x01 ray gun.", "bits"),
    Field("item_spawn_bitfield_4", 0x2B, U8, "0.1.0", "0x80 red shell ... 0x01 heart container.", "bits"),
    Field("item_spawn_bitfield_5", 0x2C, U8, "0.1.0", "0x80 Mr. Saturn ... 0x01 capsule.", "bits"),
    Field("damage_ratio", 0x35, F32, "0.1.0", "Damage ratio."),
    Field("random_seed", 0x13D, U32, "0.1.0", "Random seed before the game."),
    Field("is_pal", 0x1A1, BOOL, "1.5.0", "PAL version."),
    Field("is_frozen_ps", 0x1A2, BOOL, "2.0.0", "Pokemon Stadium does not transform; see `stadiumFrozen`."),
    Field("minor_scene", 0x1A3, U8, "3.7.0", "2 in game; 1 and 3 occur, too."),
    Field("major_scene", 0x1A4, U8, "3.7.0", "2 versus, 8 online, 15 target test, 32 home-run contest."),
    Field("language", 0x2BD, U8, "3.12.0", "0 Japanese, 1 English."),
    Field("session_id", 0x2BE, octets(51), "3.14.0", "Id of the online session."),
    Field("game_number", 0x2F1, U32, "3.14.0", "Number of the game in the session."),
    Field("tiebreaker_number", 0x2F5, U32, "3.14.0", "0 unless a tiebreaker."),
)
"""Fields of the whole game."""

PLAYER_FIELDS = (
    Field("character_id", 0x65, U8, "0.1.0", "External character id.", stride_bytes=0x24),
    Field("type", 0x66, U8, "0.1.0", "0 human, 1 CPU, 2 demo, 3 empty.", stride_bytes=0x24),
    Field("start_stocks", 0x67, U8, "0.1.0", "Stocks at the start.", "stocks", 0x24),
    Field("character_color", 0x68, U8, "0.1.0", "Costume index.", stride_bytes=0x24),
    Field("team_shade", 0x6C, U8, "0.1.0", "0 normal, 1 light, 2 dark.", stride_bytes=0x24),
    Field("handicap", 0x6D, U8, "0.1.0", "Handicap.", stride_bytes=0x24),
    Field("team_id", 0x6E, U8, "0.1.0", "0 red, 1 blue, 2 green; meaningful only in teams games.", stride_bytes=0x24),
    Field("player_bitfield", 0x71, U8, "0.1.0", "Eight flags, from stamina 0x01 to rumble 0x80.", "bits", 0x24),
    Field("cpu_level", 0x74, U8, "0.1.0", "Level of the CPU; set for humans, too.", stride_bytes=0x24),
    Field("damage_start", 0x75, U16, "0.1.0", "Percent at the start.", "percent", 0x24),
    Field("damage_spawn", 0x77, U16, "0.1.0", "Percent after losing a stock.", "percent", 0x24),
    Field("offense_ratio", 0x7D, F32, "0.1.0", "Factor for knockback dealt.", stride_bytes=0x24),
    Field("defense_ratio", 0x81, F32, "0.1.0", "Factor for knockback taken.", stride_bytes=0x24),
    Field("model_scale", 0x85, F32, "0.1.0", "Factor for the size of the model.", stride_bytes=0x24),
    Field("dashback_fix", 0x141, U32, "1.0.0", "0 off, 1 UCF, 2 Dween.", stride_bytes=0x8),
    Field("shield_drop_fix", 0x145, U32, "1.0.0", "0 off, 1 UCF, 2 Dween.", stride_bytes=0x8),
    Field("nametag", 0x161, octets(16), "1.3.0", "Shift JIS, 8 two-byte characters.", stride_bytes=0x10),
    Field("display_name", 0x1A5, octets(31), "3.9.0", "Shift JIS, 15 characters and a NUL.", stride_bytes=0x1F),
    Field("connect_code", 0x221, octets(10), "3.9.0", "Shift JIS, `#` is 0x8194.", stride_bytes=0xA),
    Field("user_id", 0x249, octets(29), "3.11.0", "Slippi UID.", stride_bytes=0x1D),
)
"""Fields of each of the four players, `stride_bytes` apart.

Offense ratio, defense ratio and model scale are 4 bytes after the offsets of the 3.0 specification: in 202 players of
real replays the value at 0x79 is 0.0, and those at 0x7D, 0x81 and 0x85 are 1.0."""

PLAYER_FLAGS = (
    "stamina_mode",
    "silent_character",
    "low_gravity",
    "invisible",
    "black_stock_icon",
    "metal",
    "start_on_angel_platform",
    "rumble_enabled",
)
"""Names of the bits of the player bitfield, lowest first."""

_CONTROLLER_FIXES = {1: "UCF", 2: "Dween"}
_TEXT = {
    "nametag": decode_name,
    "display_name": decode_name,
    "connect_code": decode_name,
    "user_id": decode_ascii,
    "session_id": decode_ascii,
}
_ROWS = {f.name: (f.offset, f.stride_bytes, struct.Struct(">" + f.kind.code)) for f in (*FIELDS, *PLAYER_FIELDS)}
"""Offset, distance between players, and type of each row."""
MIN_PAYLOAD_BYTES = 0x140
"""The payload size that 0.1.0 declares."""
_ROW_OF = {"scene": "minor_scene", "game_mode": "major_scene", "bomb_rain_enabled": "bomb_rain"}
"""Names of rows that differ from those in the settings."""
_RENAME = {"is_pal": "isPAL", "is_frozen_ps": "isFrozenPS"}


S = TypeVar("S", bound=msgspec.Struct)


class PlayerSettings(msgspec.Struct, rename="camel", gc=False):
    """slippi-js `PlayerType` and four more fields."""

    player_index: int
    port: int
    character_id: int
    type: int
    start_stocks: int
    character_color: int
    team_shade: int
    handicap: int
    team_id: int
    stamina_mode: bool
    silent_character: bool
    low_gravity: bool
    invisible: bool
    black_stock_icon: bool
    metal: bool
    start_on_angel_platform: bool
    rumble_enabled: bool
    cpu_level: int
    damage_start: int
    damage_spawn: int
    offense_ratio: float
    defense_ratio: float
    model_scale: float
    controller_fix: str
    dashback_fix: int | UnsetType
    shield_drop_fix: int | UnsetType
    nametag: str
    display_name: str
    connect_code: str
    user_id: str


class GameInfo(msgspec.Struct, rename="camel", gc=False):
    """slippi-js `GameInfoType`."""

    game_bitfield_1: int
    game_bitfield_2: int
    game_bitfield_3: int
    game_bitfield_4: int
    bomb_rain_enabled: bool
    self_destruct_score_value: int
    item_spawn_bitfield_1: int
    item_spawn_bitfield_2: int
    item_spawn_bitfield_3: int
    item_spawn_bitfield_4: int
    item_spawn_bitfield_5: int
    damage_ratio: float


class MatchInfo(msgspec.Struct, rename="camel", gc=False):
    """slippi-js `MatchInfo`. `match_id` is the old name of `session_id`."""

    session_id: str
    game_number: int | UnsetType
    tiebreaker_number: int | UnsetType
    match_id: str


class Settings(msgspec.Struct, rename=lambda name: _RENAME.get(name) or camel(name), gc=False):
    """slippi-js `GameStartType`. `scene` is the minor scene and `game_mode` the major scene."""

    slp_version: str
    timer_type: int
    in_game_mode: int
    friendly_fire_enabled: bool
    is_teams: bool
    item_spawn_behavior: int
    stage_id: int
    starting_timer_seconds: int
    enabled_items: int
    players: list[PlayerSettings]
    scene: int | UnsetType
    game_mode: int | UnsetType
    language: int | UnsetType
    game_info_block: GameInfo
    random_seed: int
    is_pal: bool | UnsetType
    is_frozen_ps: bool | UnsetType
    stadium_frozen: bool | UnsetType
    match_info: MatchInfo

    @property
    def takes_stocks(self) -> bool:
        """Whether you lose a stock if you fall. In other modes, `stocks_remaining` doesn't mean anything."""
        return self.in_game_mode == STOCK_MODE

    def player(self, index: int) -> PlayerSettings | None:
        """Return the settings of a player index, or `None` if the port is empty."""
        return next((p for p in self.players if p.player_index == index), None)

    def has_zelda_or_sheik(self) -> bool:
        """Whether one of the players is Zelda or Sheik. Versions before 1.6.0 can't tell them apart."""
        return any(p.character_id in (_ZELDA, _SHEIK) for p in self.players)

    def as_played(self, internal_ids: Mapping[int, int]) -> Settings:
        """Return the settings with Zelda and Sheik corrected by their internal ids in frame -123, by player index."""

        def played(player: PlayerSettings) -> PlayerSettings:
            external_id = _EXTERNAL_OF_INTERNAL.get(internal_ids.get(player.player_index, -1), player.character_id)
            return msgspec.structs.replace(player, character_id=external_id)

        return msgspec.structs.replace(self, players=[played(player) for player in self.players])


class GameStartPayload:
    """The bytes of a Game Start event, beginning with the command byte. You can access them by the names of fields."""

    def __init__(self, data: bytes, *, offset: int = 0) -> None:
        """`offset` is the file offset of the event. If it is smaller than in 0.1.0, this raises `FieldError`."""
        if len(data) <= MIN_PAYLOAD_BYTES or data[0] != GAME_START:
            raise FieldError(f"Game Start: {len(data)} bytes are too few", offset=offset, command=GAME_START)
        self.data = data

    def get(self, name: str, player: int = 0) -> Any:
        """Return the value of a field. If the declared size doesn't include it, you get `UNSET`, or an empty string for
        a text, as in slippi-js.
        """
        offset, stride_bytes, kind = _ROWS[name]
        offset += stride_bytes * player
        text = _TEXT.get(name)
        if offset + kind.size > len(self.data):
            return UNSET if text is None else ""
        value = kind.unpack_from(self.data, offset)[0]
        return value if text is None else text(value)

    def bad_texts(self) -> list[tuple[str, int]]:
        """Return the names of all texts that contain bytes we can't decode, with their offsets in the event."""
        return [
            (f"{name} of player index {index}" if stride_bytes else name, offset + stride_bytes * index)
            for name, (offset, stride_bytes, _) in _ROWS.items()
            if name in _TEXT
            for index in (self.player_indices if stride_bytes else [0])
            if UNDECODABLE in self.get(name, index)
        ]

    @property
    def version(self) -> tuple[int, int, int]:
        """The version according to the event. It doesn't decide which fields are present."""
        major, minor, build = self.data[1:4]
        return major, minor, build

    @property
    def player_indices(self) -> list[int]:
        """The player indices of the ports that are in the game."""
        offset, stride_bytes, _ = _ROWS["type"]
        types = self.data[offset : offset + PLAYERS * stride_bytes : stride_bytes]
        return [index for index, type in enumerate(types) if type != PLAYER_TYPE_EMPTY]

    def settings(self) -> Settings:
        """Return the `settings` for messages."""
        mode = self.get("game_bitfield_1")
        return self._read(
            Settings,
            slp_version="{}.{}.{}".format(*self.version),
            timer_type=mode & 0x03,
            in_game_mode=mode & 0xE0,
            friendly_fire_enabled=bool(self.get("game_bitfield_2") & 0x01),
            enabled_items=sum(self.get(f"item_spawn_bitfield_{i + 1}") << (8 * i) for i in range(5)),
            players=[self._player(index) for index in self.player_indices],
            game_info_block=self._read(GameInfo),
            stadium_frozen=self._stadium_frozen(),
            match_info=self._read(MatchInfo, match_id=self.get("session_id")),
        )

    def _read(self, kind: type[S], player: int = 0, /, **computed: Any) -> S:
        """Return a struct with the computed values, and for its other members the rows of the same name."""
        for name in kind.__struct_fields__:
            if name not in computed:
                computed[name] = self.get(_ROW_OF.get(name, name), player)
        return kind(**computed)

    def _stadium_frozen(self) -> bool | UnsetType:
        """Return whether Pokemon Stadium is frozen in this game, or `UNSET` if we can't tell.

        Before 3.19, the flag only applies to offline games, because online, Stadium was always frozen (observed).
        Replays from 3.0 to 3.6 don't tell us whether the game is online, and earlier ones never are (guessed).
        """
        flag: bool | UnsetType = self.get("is_frozen_ps")
        scene: int | UnsetType = self.get("major_scene")
        if flag is UNSET or flag or self.version >= _FLAG_ONLINE_SINCE:
            return flag
        if scene is UNSET:
            return UNSET if self.version >= _ONLINE_SINCE else flag
        return scene == MAJOR_SCENE_ONLINE

    def _player(self, index: int) -> PlayerSettings:
        flags = self.get("player_bitfield", index)
        dashback, shield_drop = self.get("dashback_fix", index), self.get("shield_drop_fix", index)
        return self._read(
            PlayerSettings,
            index,
            player_index=index,
            port=index + 1,
            **{name: bool(flags >> bit & 1) for bit, name in enumerate(PLAYER_FLAGS)},
            controller_fix="Mixed" if dashback != shield_drop else _CONTROLLER_FIXES.get(dashback, "None"),
        )


def set_field(payload: bytearray, name: str, value: Any, player: int = 0) -> None:
    """Write one row into a Game Start event with its command byte. If the row is beyond its end, it is left out."""
    offset, stride_bytes, kind = _ROWS[name]
    offset += stride_bytes * player
    if offset + kind.size <= len(payload):
        kind.pack_into(payload, offset, value)
