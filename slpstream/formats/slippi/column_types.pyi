# Made by deploy/wheel/stubs.py.

import numpy as np
import numpy.typing as npt

from slpstream.formats.slippi.columns import EventColumns, RepeatedEventColumns

class CharacterColumns(EventColumns):
    """The fields that both updates of a character have."""

    frame: npt.NDArray[np.int32]
    """Frame number. The first is -123; the timer starts at 0. (frame number, since 0.1.0)"""
    player_index: npt.NDArray[np.uint8]
    """Player index, 0 to 3. The port is the index + 1. (since 0.1.0)"""
    is_follower: npt.NDArray[np.bool_]
    """True for a follower (Nana), which has the index of its player. (since 0.1.0)"""
    action_state_id: npt.NDArray[np.uint16]
    """State of the character. (since 0.1.0)"""
    position_x: npt.NDArray[np.float32]
    """X position. (game units, since 0.1.0)"""
    position_y: npt.NDArray[np.float32]
    """Y position. (game units, since 0.1.0)"""
    facing_direction: npt.NDArray[np.float32]
    """-1 left, 1 right. It can be 0. ([-1, 1], since 0.1.0)"""

class PreFrameColumns(CharacterColumns):
    """Once per frame and character, before the game uses the inputs. Ice Climbers are two characters."""

    seed: npt.NDArray[np.uint32]
    """Random seed at this point of the frame. (since 0.1.0)"""
    joystick_x: npt.NDArray[np.float32]
    """Processed joystick, x. ([-1, 1], since 0.1.0)"""
    joystick_y: npt.NDArray[np.float32]
    """Processed joystick, y. ([-1, 1], since 0.1.0)"""
    c_stick_x: npt.NDArray[np.float32]
    """Processed C-stick, x. ([-1, 1], since 0.1.0)"""
    c_stick_y: npt.NDArray[np.float32]
    """Processed C-stick, y. ([-1, 1], since 0.1.0)"""
    trigger: npt.NDArray[np.float32]
    """Processed trigger. ([0, 1], since 0.1.0)"""
    buttons: npt.NDArray[np.uint32]
    """Processed buttons; the lower 16 bits are the physical buttons. (bits, since 0.1.0)"""
    physical_buttons: npt.NDArray[np.uint16]
    """Physical buttons: ***S YXBA *LRZ UDRL. (bits, since 0.1.0)"""
    physical_l_trigger: npt.NDArray[np.float32]
    """Physical left trigger. ([0, 1], since 0.1.0)"""
    physical_r_trigger: npt.NDArray[np.float32]
    """Physical right trigger. ([0, 1], since 0.1.0)"""
    raw_joystick_x: npt.NDArray[np.int8]
    """Raw joystick, x. UCF reads it. ([-128, 127], since 1.2.0)"""
    percent: npt.NDArray[np.float32]
    """Damage. (percent, since 1.4.0)"""
    raw_joystick_y: npt.NDArray[np.int8]
    """Raw joystick, y. ([-128, 127], since 3.15.0)"""
    raw_c_stick_x: npt.NDArray[np.int8]
    """Raw C-stick, x. ([-128, 127], since 3.17.0)"""
    raw_c_stick_y: npt.NDArray[np.int8]
    """Raw C-stick, y. ([-128, 127], since 3.17.0)"""

class SelfInducedSpeeds:
    """The columns of `self_induced_speeds`."""

    air_x: npt.NDArray[np.float32]
    """Own air speed, x. (game units a frame, since 3.5.0)"""
    y: npt.NDArray[np.float32]
    """Own speed, y. (game units a frame, since 3.5.0)"""
    attack_x: npt.NDArray[np.float32]
    """Speed from knockback, x. (game units a frame, since 3.5.0)"""
    attack_y: npt.NDArray[np.float32]
    """Speed from knockback, y. (game units a frame, since 3.5.0)"""
    ground_x: npt.NDArray[np.float32]
    """Own ground speed, x. (game units a frame, since 3.5.0)"""

class PostFrameColumns(CharacterColumns):
    """Once per frame and character, after collision detection. Stats are computed from these values."""

    internal_character_id: npt.NDArray[np.uint8]
    """Only Zelda and Sheik change during a game. (since 0.1.0)"""
    percent: npt.NDArray[np.float32]
    """Damage. (percent, since 0.1.0)"""
    shield_size: npt.NDArray[np.float32]
    """Size of the shield. ([0, 60], since 0.1.0)"""
    last_attack_landed: npt.NDArray[np.uint8]
    """Move id of the last attack that hit. (since 0.1.0)"""
    current_combo_count: npt.NDArray[np.uint8]
    """Combo count by the rules of the game itself. (since 0.1.0)"""
    last_hit_by: npt.NDArray[np.uint8]
    """Player index of the last hit's author; 6 for none. (since 0.1.0)"""
    stocks_remaining: npt.NDArray[np.uint8]
    """Stocks left. (stocks, since 0.1.0)"""
    action_state_counter: npt.NDArray[np.float32]
    """Time in the current action state. (frames, since 0.2.0)"""
    state_flags_1: npt.NDArray[np.uint8]
    """0x02 absorbs, 0x08 reflects, same owner, 0x10 reflects. (bits, since 2.0.0)"""
    state_flags_2: npt.NDArray[np.uint8]
    """0x04 invincible, 0x08 fast fall, 0x10 and 0x20 hitlag. (bits, since 2.0.0)"""
    state_flags_3: npt.NDArray[np.uint8]
    """0x04 holds a grab, 0x80 shield. (bits, since 2.0.0)"""
    state_flags_4: npt.NDArray[np.uint8]
    """0x02 hitstun, 0x04 shield touched, 0x20 powershield. (bits, since 2.0.0)"""
    state_flags_5: npt.NDArray[np.uint8]
    """0x08 follower, 0x10 inactive, 0x40 dead, 0x80 off screen. (bits, since 2.0.0)"""
    misc_action_state: npt.NDArray[np.float32]
    """In hitstun, the frames of it that remain. (frames, since 2.0.0)"""
    is_airborne: npt.NDArray[np.bool_]
    """True in the air, false on the ground. (since 2.0.0)"""
    last_ground_id: npt.NDArray[np.uint16]
    """Id of the last ground that the character stood on. (since 2.0.0)"""
    jumps_remaining: npt.NDArray[np.uint8]
    """Jumps left. (jumps, since 2.0.0)"""
    l_cancel_status: npt.NDArray[np.uint8]
    """0 none, 1 successful, 2 unsuccessful. (since 2.0.0)"""
    hurtbox_collision_state: npt.NDArray[np.uint8]
    """0 vulnerable, 1 invulnerable, 2 intangible. (since 2.1.0)"""
    self_induced_speeds: SelfInducedSpeeds
    """(since 3.5.0)"""
    hitlag_remaining: npt.NDArray[np.float32]
    """Frames of hitlag that remain. (frames, since 3.8.0)"""
    animation_index: npt.NDArray[np.uint32]
    """Animation index. (since 3.11.0)"""
    instance_hit_by: npt.NDArray[np.uint16]
    """Instance id of the attack that hit this player. (since 3.16.0)"""
    instance_id: npt.NDArray[np.uint16]
    """Instance id of the current action. (since 3.16.0)"""

class FrameStartColumns(EventColumns):
    """Once per frame, as its first event."""

    frame: npt.NDArray[np.int32]
    """Frame number. The first is -123; the timer starts at 0. (frame number, since 2.2.0)"""
    seed: npt.NDArray[np.uint32]
    """Random seed at the start of the frame. (since 2.2.0)"""
    scene_frame_counter: npt.NDArray[np.uint32]
    """Counts on during a pause, so a jump shows one. (frames, since 3.10.0)"""

class FrameBookendColumns(EventColumns):
    """Once per frame, as its last event. The frame is complete then, which does not mean that it is final."""

    frame: npt.NDArray[np.int32]
    """Frame number. The first is -123; the timer starts at 0. (frame number, since 3.0.0)"""
    latest_finalized_frame: npt.NDArray[np.int32]
    """Frames up to this one are final. (frame number, since 3.7.0)"""

class ItemColumns(RepeatedEventColumns):
    """Once per frame and item, for at most 15 items. Projectiles are items."""

    frame: npt.NDArray[np.int32]
    """Frame number. The first is -123; the timer starts at 0. (frame number, since 3.0.0)"""
    type_id: npt.NDArray[np.uint16]
    """Item type. (since 3.0.0)"""
    state: npt.NDArray[np.uint8]
    """State of the item; its meaning depends on the type. (since 3.0.0)"""
    facing_direction: npt.NDArray[np.float32]
    """-1 left, 1 right. ([-1, 1], since 3.0.0)"""
    velocity_x: npt.NDArray[np.float32]
    """X velocity. (game units a frame, since 3.0.0)"""
    velocity_y: npt.NDArray[np.float32]
    """Y velocity. (game units a frame, since 3.0.0)"""
    position_x: npt.NDArray[np.float32]
    """X position. (game units, since 3.0.0)"""
    position_y: npt.NDArray[np.float32]
    """Y position. (game units, since 3.0.0)"""
    damage_taken: npt.NDArray[np.uint16]
    """Damage that the item has taken. (percent, since 3.0.0)"""
    expiration_timer: npt.NDArray[np.float32]
    """Frames until it expires. It can be negative. (frames, since 3.0.0)"""
    spawn_id: npt.NDArray[np.uint32]
    """Number of the item, counted over the game. (since 3.0.0)"""
    missile_type: npt.NDArray[np.uint8]
    """Samus's missile: 0 homing, 1 super. (since 3.2.0)"""
    turnip_face: npt.NDArray[np.uint8]
    """Peach's turnip: 0 smile, 1 T eyes, ... 7 stitch face. (since 3.2.0)"""
    charge_shot_launched: npt.NDArray[np.uint8]
    """Charge shot: 0 charging, 1 launched. (since 3.2.0)"""
    charge_power: npt.NDArray[np.uint8]
    """Charge shot: 0 to 7. (since 3.2.0)"""
    owner: npt.NDArray[np.int8]
    """Player index of the owner; -1 for none. (since 3.6.0)"""
    instance_id: npt.NDArray[np.uint16]
    """Instance id, as in the Post-Frame Update. (since 3.16.0)"""
