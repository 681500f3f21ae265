"""Setups that write one game after another, frame by frame, with occasional faults of the file."""

from __future__ import annotations

import os
import random
from functools import cache
from pathlib import Path

import trio

from slpstream.formats.slippi.write_schedule import Write, schedule
from tests.synthetic.match import synthetic_match

_SEED_OFFSET = 0x13D
_LENGTHS = (200, 350, 600, 900)
_BREAK_SECONDS = (0.2, 2.0)
_FAULTS = ("truncate", "replace", "delete", "rename", "abandon", "invalid")
_FAULT_SHARE = 0.15
_KEPT_FILES = 40


@cache
def _match(frames: int) -> tuple[bytes, int]:
    data = synthetic_match(seed=frames, frames=frames, rollbacks=True, items=True)
    return data, data.index(b"\x36") + _SEED_OFFSET


class Setup:
    """Writes games into one folder, at `speed` times real time."""

    def __init__(self, folder: Path, number: int, counts: dict[str, int], speed: float) -> None:
        self.folder = folder
        self._rng = random.Random(number)
        self._number = number
        self._games = 0
        self._counts = counts
        self._speed = speed

    async def run(self) -> None:
        """Run until cancelled."""
        await trio.sleep(self._rng.uniform(0, 2) / self._speed)
        while True:
            await self._play()
            await trio.sleep(self._rng.uniform(*_BREAK_SECONDS) / self._speed)
            self._tidy()

    async def _play(self) -> None:
        data, seed_offset = _match(self._rng.choice(_LENGTHS))
        self._games += 1
        unique = bytearray(data)
        unique[seed_offset : seed_offset + 4] = (self._number << 20 | self._games).to_bytes(4, "big")
        path = self.folder / f"Game_{self._games:06}.slp"
        fault = self._rng.choice(_FAULTS) if self._rng.random() < _FAULT_SHARE else None
        ends_at = self._rng.uniform(0.1, 0.9)
        began = trio.current_time()
        with path.open("xb", buffering=0) as file:
            for write in schedule(bytes(unique), "dolphin", speed=self._speed):
                await trio.sleep_until(began + write.at_seconds)
                _write(file.fileno(), write)
                if fault is not None and write.offset > ends_at * len(unique):
                    self._counts[fault] = self._counts.get(fault, 0) + 1
                    if self._inject(fault, path):
                        return
                    fault = None
        self._counts["games"] = self._counts.get("games", 0) + 1

    def _inject(self, fault: str, path: Path) -> bool:
        """Inject a fault. Returns whether it ends the game."""
        if fault == "invalid":
            (self.folder / f"invalid {self._games}.slp").write_bytes(self._rng.randbytes(5000))
            return False
        if fault == "rename":
            path.rename(path.with_name(f"renamed {path.name}"))
            return False
        if fault == "truncate":
            os.truncate(path, 100)
        elif fault == "replace":
            other = self.folder / "other.tmp"
            other.write_bytes(_match(200)[0])
            other.replace(path)
        elif fault == "delete":
            path.unlink()
        return True

    def _tidy(self) -> None:
        """Delete old files, so that the folders do not grow without limit."""
        files = sorted(self.folder.glob("*.slp"), key=lambda path: path.stat().st_mtime_ns)
        for path in files[:-_KEPT_FILES]:
            path.unlink()


def _write(descriptor: int, write: Write) -> None:
    os.pwrite(descriptor, write.data, write.offset)
