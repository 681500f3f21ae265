"""Playback Dolphin's view of its communication file: checks every write against Dolphin's documentation.

It imitates Dolphin's source (described in `slpstream/parts/playback_dolphin/commands.py`): it compares the
modification time in whole seconds, requires a new `commandId` for each playback, plays frames from `startFrame` to
`endFrame`, and waits for ever for a file that does not exist.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TYPES = {
    "mode": str,
    "replay": str,
    "commandId": str,
    "startFrame": int,
    "endFrame": int,
    "outputOverlayFiles": bool,
    "isRealTimeMode": bool,
    "gameStation": str,
    "queue": list,
}
FIRST_FRAME = -123


class Refused(AssertionError):
    """Dolphin would have missed or misread this write."""


class CommunicationChecks:
    """Checks the writes to one file, in order. `take` must be called after each write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen: list[dict[str, Any]] = []
        self._ids: set[str] = set()
        self._second: int | None = None
        self._at_seconds: float | None = None

    def take(self, at_seconds: float) -> dict[str, Any]:
        """Check content written at this time of a steady clock. Raises `Refused`."""
        content: dict[str, Any] = json.loads(self.path.read_bytes())
        second = int(self.path.stat().st_mtime)
        if self._second is not None and second <= self._second:
            raise Refused(f"the modification time is second {second}, after {self._second}")
        if self._at_seconds is not None and at_seconds - self._at_seconds < 1:
            raise Refused(f"written {at_seconds - self._at_seconds} seconds after the last write")
        self._second, self._at_seconds = second, at_seconds
        self._check(content)
        self.seen.append(content)
        return content

    def _check(self, content: dict[str, Any]) -> None:
        for key, value in content.items():
            if key not in TYPES or type(value) is not TYPES[key]:
                raise Refused(f"{key} is {value!r}")
        command_id = content.get("commandId", "")
        if not command_id or command_id in self._ids:
            raise Refused(f"commandId {command_id!r} is not new")
        self._ids.add(command_id)
        mode = content.get("mode", "normal")
        if mode == "queue":
            if not content["queue"]:
                raise Refused("the queue is empty")
            items = content["queue"]
        elif mode in ("normal", "mirror"):
            items = [{**content, "path": content["replay"]}]
        else:
            raise Refused(f"there is no mode {mode!r}")
        for item in items:
            first, last = item.get("startFrame", FIRST_FRAME), item.get("endFrame", 2**31 - 1)
            if not FIRST_FRAME <= first < last:
                raise Refused(f"frames {first} to {last}")
            if not Path(item["path"]).is_file():
                raise Refused(f"there is no file {item['path']}")
