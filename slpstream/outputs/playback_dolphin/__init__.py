"""Drives a Playback Dolphin through its communication file: mirroring, instant replays, and a queue between sets."""

from slpstream.outputs.playback_dolphin.commands import Clip, combos
from slpstream.outputs.playback_dolphin.communication_file import CommunicationFile
from slpstream.outputs.playback_dolphin.playback import PlaybackDolphin, around

__all__ = ["Clip", "CommunicationFile", "PlaybackDolphin", "around", "combos"]
