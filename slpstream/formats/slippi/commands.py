"""Command bytes, and the field tables of Game End and of those events that come every frame. Each field has its own
row.

The source is the Slippi replay specification, 0.1.0 to 3.18. All values are big-endian, and offsets count from the
command byte. The rows are in the order of their offsets, there are no gaps between them, and a later version never does
more than append fields. So if you take the rows that fit into a declared payload size, these are always the first ones,
and if you decode an event and encode it again, you get the same bytes.

You will see `required=1` in events that only add some data to a frame, because all they need is the frame number.

Game Start is in `game_start`, because it has rows that repeat for each of the four players.
"""

from __future__ import annotations

from slpstream.model.fields import BOOL, F32, I8, I32, U8, U16, U32, Field, Table

GAME_START = 0x36
MESSAGE_SPLITTER = 0x10
GECKO_LIST = 0x3D

FIRST_FRAME = -123
FIRST_PLAYABLE_FRAME = -39
FRAMES_PER_SECOND = 60
LAST_DYING = 0x0A
"""The last of the action states in which a character dies; the first is 0."""
LEDGE_CATCH = 0xFC
"""The action state in which a character grabs a ledge."""
MAX_REPEATED_EVENTS = 1024
"""Limit for the items and for the stage events of one sending; the game sends at most 15 and 3."""

_FRAME = Field("frame", 0x1, I32, "0.1.0", "Frame number. The first is -123; the timer starts at 0.", "frame number")
_PLAYER = (
    Field("player_index", 0x5, U8, "0.1.0", "Player index, 0 to 3. The port is the index + 1."),
    Field("is_follower", 0x6, BOOL, "0.1.0", "True for a follower (Nana), which has the index of its player."),
)

PRE_FRAME = Table(
    "Pre-Frame Update",
    0x37,
    [
        _FRAME,
        *_PLAYER,
        Field("seed", 0x7, U32, "0.1.0", "Random seed at this point of the frame."),
        Field("action_state_id", 0xB, U16, "0.1.0", "State of the character."),
        Field("position_x", 0xD, F32, "0.1.0", "X position.", "game units"),
        Field("position_y", 0x11, F32, "0.1.0", "Y position.", "game units"),
        Field("facing_direction", 0x15, F32, "0.1.0", "-1 left, 1 right. It can be 0.", "[-1, 1]"),
        Field("joystick_x", 0x19, F32, "0.1.0", "Processed joystick, x.", "[-1, 1]"),
        Field("joystick_y", 0x1D, F32, "0.1.0", "Processed joystick, y.", "[-1, 1]"),
        Field("c_stick_x", 0x21, F32, "0.1.0", "Processed C-stick, x.", "[-1, 1]"),
        Field("c_stick_y", 0x25, F32, "0.1.0", "Processed C-stick, y.", "[-1, 1]"),
        Field("trigger", 0x29, F32, "0.1.0", "Processed trigger.", "[0, 1]"),
        Field("buttons", 0x2D, U32, "0.1.0", "Processed buttons; the lower 16 bits are the physical buttons.", "bits"),
        Field("physical_buttons", 0x31, U16, "0.1.0", "Physical buttons: ***S YXBA *LRZ UDRL.", "bits"),
        Field("physical_l_trigger", 0x33, F32, "0.1.0", "Physical left trigger.", "[0, 1]"),
        Field("physical_r_trigger", 0x37, F32, "0.1.0", "Physical right trigger.", "[0, 1]"),
        Field("raw_joystick_x", 0x3B, I8, "1.2.0", "Raw joystick, x. UCF reads it.", "[-128, 127]"),
        Field("percent", 0x3C, F32, "1.4.0", "Damage.", "percent"),
        Field("raw_joystick_y", 0x40, I8, "3.15.0", "Raw joystick, y.", "[-128, 127]"),
        Field("raw_c_stick_x", 0x41, I8, "3.17.0", "Raw C-stick, x.", "[-128, 127]"),
        Field("raw_c_stick_y", 0x42, I8, "3.17.0", "Raw C-stick, y.", "[-128, 127]"),
    ],
    doc="Once per frame and character, before the game uses the inputs. Ice Climbers are two characters.",
)

POST_FRAME = Table(
    "Post-Frame Update",
    0x38,
    [
        _FRAME,
        *_PLAYER,
        Field("internal_character_id", 0x7, U8, "0.1.0", "Only Zelda and Sheik change during a game."),
        Field("action_state_id", 0x8, U16, "0.1.0", "State of the character."),
        Field("position_x", 0xA, F32, "0.1.0", "X position.", "game units"),
        Field("position_y", 0xE, F32, "0.1.0", "Y position.", "game units"),
        Field("facing_direction", 0x12, F32, "0.1.0", "-1 left, 1 right. It can be 0.", "[-1, 1]"),
        Field("percent", 0x16, F32, "0.1.0", "Damage.", "percent"),
        Field("shield_size", 0x1A, F32, "0.1.0", "Size of the shield.", "[0, 60]"),
        Field("last_attack_landed", 0x1E, U8, "0.1.0", "Move id of the last attack that hit."),
        Field("current_combo_count", 0x1F, U8, "0.1.0", "Combo count by the rules of the game itself."),
        Field("last_hit_by", 0x20, U8, "0.1.0", "Player index of the last hit's author; 6 for none."),
        Field("stocks_remaining", 0x21, U8, "0.1.0", "Stocks left.", "stocks"),
        Field("action_state_counter", 0x22, F32, "0.2.0", "Time in the current action state.", "frames"),
        Field("state_flags_1", 0x26, U8, "2.0.0", "0x02 absorbs, 0x08 reflects, same owner, 0x10 reflects.", "bits"),
        Field("state_flags_2", 0x27, U8, "2.0.0", "0x04 invincible, 0x08 fast fall, 0x10 and 0x20 hitlag.", "bits"),
        Field("state_flags_3", 0x28, U8, "2.0.0", "0x04 holds a grab, 0x80 shield.", "bits"),
        Field("state_flags_4", 0x29, U8, "2.0.0", "0x02 hitstun, 0x04 shield touched, 0x20 powershield.", "bits"),
        Field("state_flags_5", 0x2A, U8, "2.0.0", "0x08 follower, 0x10 inactive, 0x40 dead, 0x80 off screen.", "bits"),
        Field("misc_action_state", 0x2B, F32, "2.0.0", "In hitstun, the frames of it that remain.", "frames"),
        Field("is_airborne", 0x2F, BOOL, "2.0.0", "True in the air, false on the ground."),
        Field("last_ground_id", 0x30, U16, "2.0.0", "Id of the last ground that the character stood on."),
        Field("jumps_remaining", 0x32, U8, "2.0.0", "Jumps left.", "jumps"),
        Field("l_cancel_status", 0x33, U8, "2.0.0", "0 none, 1 successful, 2 unsuccessful."),
        Field("hurtbox_collision_state", 0x34, U8, "2.1.0", "0 vulnerable, 1 invulnerable, 2 intangible."),
        Field("self_induced_speeds.air_x", 0x35, F32, "3.5.0", "Own air speed, x.", "game units a frame"),
        Field("self_induced_speeds.y", 0x39, F32, "3.5.0", "Own speed, y.", "game units a frame"),
        Field("self_induced_speeds.attack_x", 0x3D, F32, "3.5.0", "Speed from knockback, x.", "game units a frame"),
        Field("self_induced_speeds.attack_y", 0x41, F32, "3.5.0", "Speed from knockback, y.", "game units a frame"),
        Field("self_induced_speeds.ground_x", 0x45, F32, "3.5.0", "Own ground speed, x.", "game units a frame"),
        Field("hitlag_remaining", 0x49, F32, "3.8.0", "Frames of hitlag that remain.", "frames"),
        Field("animation_index", 0x4D, U32, "3.11.0", "Animation index."),
        Field("instance_hit_by", 0x51, U16, "3.16.0", "Instance id of the attack that hit this player."),
        Field("instance_id", 0x53, U16, "3.16.0", "Instance id of the current action."),
    ],
    doc="Once per frame and character, after collision detection. Stats are computed from these values.",
)

FRAME_START = Table(
    "Frame Start",
    0x3A,
    [
        _FRAME._replace(since="2.2.0"),
        Field("seed", 0x5, U32, "2.2.0", "Random seed at the start of the frame."),
        Field("scene_frame_counter", 0x9, U32, "3.10.0", "Counts on during a pause, so a jump shows one.", "frames"),
    ],
    required=1,
    doc="Once per frame, as its first event.",
)

ITEM_UPDATE = Table(
    "Item Update",
    0x3B,
    [
        _FRAME._replace(since="3.0.0"),
        Field("type_id", 0x5, U16, "3.0.0", "Item type."),
        Field("state", 0x7, U8, "3.0.0", "State of the item; its meaning depends on the type."),
        Field("facing_direction", 0x8, F32, "3.0.0", "-1 left, 1 right.", "[-1, 1]"),
        Field("velocity_x", 0xC, F32, "3.0.0", "X velocity.", "game units a frame"),
        Field("velocity_y", 0x10, F32, "3.0.0", "Y velocity.", "game units a frame"),
        Field("position_x", 0x14, F32, "3.0.0", "X position.", "game units"),
        Field("position_y", 0x18, F32, "3.0.0", "Y position.", "game units"),
        Field("damage_taken", 0x1C, U16, "3.0.0", "Damage that the item has taken.", "percent"),
        Field("expiration_timer", 0x1E, F32, "3.0.0", "Frames until it expires. It can be negative.", "frames"),
        Field("spawn_id", 0x22, U32, "3.0.0", "Number of the item, counted over the game."),
        Field("missile_type", 0x26, U8, "3.2.0", "Samus's missile: 0 homing, 1 super."),
        Field("turnip_face", 0x27, U8, "3.2.0", "Peach's turnip: 0 smile, 1 T eyes, ... 7 stitch face."),
        Field("charge_shot_launched", 0x28, U8, "3.2.0", "Charge shot: 0 charging, 1 launched."),
        Field("charge_power", 0x29, U8, "3.2.0", "Charge shot: 0 to 7."),
        Field("owner", 0x2A, I8, "3.6.0", "Player index of the owner; -1 for none."),
        Field("instance_id", 0x2B, U16, "3.16.0", "Instance id, as in the Post-Frame Update."),
    ],
    required=1,
    doc="Once per frame and item, for at most 15 items. Projectiles are items.",
)

FRAME_BOOKEND = Table(
    "Frame Bookend",
    0x3C,
    [
        _FRAME._replace(since="3.0.0"),
        Field("latest_finalized_frame", 0x5, I32, "3.7.0", "Frames up to this one are final.", "frame number"),
    ],
    doc="Once per frame, as its last event. The frame is complete then, which does not mean that it is final.",
)

GAME_END = Table(
    "Game End",
    0x39,
    [
        Field("game_end_method", 0x1, U8, "0.1.0", "0 unresolved, 1 time, 2 game, 3 resolved, 7 no contest, or other."),
        Field("lras_initiator_index", 0x2, I8, "2.0.0", "Quit with L+R+A+Start; -1 for none.", "player index"),
        Field("placement_1", 0x3, I8, "3.13.0", "Placement of player index 0: 0 first, -1 not in the game."),
        Field("placement_2", 0x4, I8, "3.13.0", "Placement of player index 1."),
        Field("placement_3", 0x5, I8, "3.13.0", "Placement of player index 2."),
        Field("placement_4", 0x6, I8, "3.13.0", "Placement of player index 3."),
    ],
    doc="Once per game. It can be missing; the replay `duplicate_game_end` has it twice.",
)

FOD_PLATFORMS = Table(
    "FOD Platforms",
    0x3F,
    [
        _FRAME._replace(since="3.18.0"),
        Field("platform", 0x5, U8, "3.18.0", "0 right platform, 1 left platform."),
        Field("height", 0x6, F32, "3.18.0", "Height of the platform.", "game units"),
    ],
    required=1,
    kind="fod_platform",
    doc="Fountain of Dreams: once per frame and platform that moved.",
)

WHISPY = Table(
    "Whispy Blow Direction",
    0x40,
    [_FRAME._replace(since="3.18.0"), Field("direction", 0x5, U8, "3.18.0", "0 none, 1 left, 2 right.")],
    required=1,
    kind="whispy",
    doc="Dream Land: once per change of the direction.",
)

STADIUM = Table(
    "Stadium Transformations",
    0x41,
    [
        _FRAME._replace(since="3.18.0"),
        Field("event", 0x5, U16, "3.18.0", "2 initialise, 3 on monitor, 4 receding, 5 rising, 6 finalise, 0 finished."),
        Field("transformation", 0x7, U16, "3.18.0", "3 fire, 4 grass, 5 normal, 6 rock, 9 water."),
    ],
    required=1,
    kind="stadium",
    doc="Pokemon Stadium: once per step of a transformation. Documented, but not seen in a real replay yet.",
)

_STAGE_EVENTS = FOD_PLATFORMS, WHISPY, STADIUM
STAGE_EVENT_KINDS = {table.command: table.kind for table in _STAGE_EVENTS if table.kind}
"""The `kind` of each stage event in messages, by command byte."""

_TABLES = PRE_FRAME, POST_FRAME, GAME_END, FRAME_START, ITEM_UPDATE, FRAME_BOOKEND, *_STAGE_EVENTS
TABLES = {table.command: table for table in _TABLES}
"""The field tables by command byte."""
