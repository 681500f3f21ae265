"""The content of Playback Dolphin's communication file. This module has no side effects.

It follows the specification COMM_SPEC.md (project-slippi/slippi-wiki 71c6a39), and the source of Dolphin that reads the
file (project-slippi/Ishiiruka 18ee345, `SlippiReplayComm.cpp` and `EXI_DeviceSlippi.cpp`). The build that is based on
mainline Dolphin was not available.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slpstream.game.dolphin_queue import Clip, queue_of
from slpstream.model.foreign_data import json_or_none
from slpstream.model.prepared import prepared


@prepared
class _Content(msgspec.Struct, frozen=True):
    """The fields of a communication file that name the mirrored game."""

    mode: str = "normal"
    replay: str = ""
    station: str = msgspec.field(default="", name="gameStation")


class Mirror(NamedTuple):
    """A game that is shown while it is being played."""

    path: Path
    station: str = ""


class Replay(NamedTuple):
    """One instant replay. If the same moment is requested a second time, this has another `number`."""

    clip: Clip
    number: int


class Queue(NamedTuple):
    """Moments that are shown one after the other."""

    clips: tuple[Clip, ...]
    number: int


Command = Mirror | Replay | Queue


def kind_of(command: Command) -> str:
    """Return the name of the command in metrics and the log."""
    return type(command).__name__.lower()


def playable(command: Command) -> Command | None:
    """Return the part of a command whose files exist and whose frames are in order, or `None` if nothing is left.

    This blocks.
    """
    if isinstance(command, Mirror):
        return command if command.path.is_file() else None
    if isinstance(command, Replay):
        return command if command.clip.playable else None
    clips = tuple(clip for clip in command.clips if clip.playable)
    return command._replace(clips=clips) if clips else None


def encode(command: Command, command_id: str) -> bytes:
    """Return the content of the file. Each command needs a new `command_id`."""
    content: dict[str, Any]
    if isinstance(command, Mirror):
        content = {"mode": "mirror", "replay": str(command.path), "gameStation": command.station}
    elif isinstance(command, Replay):
        clip = command.clip
        content = {
            "mode": "normal",
            "replay": str(clip.path),
            "startFrame": clip.start_frame,
            "endFrame": clip.end_frame,
            "gameStation": clip.station,
        }
    else:
        content = {"mode": "queue", "replay": "", "queue": queue_of(command.clips)}
    return msgspec.json.encode({**content, "commandId": command_id, "outputOverlayFiles": True}) + b"\n"


def mirrored(content: bytes) -> Mirror | None:
    """Return the game that a communication file mirrors, or `None` for any other content."""
    found = json_or_none(content, _Content)
    if found is None or found.mode != "mirror" or not found.replay:
        return None
    return Mirror(Path(found.replay), found.station)
