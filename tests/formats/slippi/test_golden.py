"""Replays of all versions always give the same messages, however their bytes are split.

For each replay, `golden.json` has the number of frames and the last one; the number of messages by type and the SHA-256
of the message lines of both logs; and in `blocks` four hex digits for every 64 live messages, so that a failure can
name the place.

After an intended change of the messages, look at the difference and write the file again:

    python -m tests.formats.slippi.test_golden
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from slpstream.formats.slippi.container import HEADER_BYTES
from tests.formats.slippi.built import Built, varied_replay
from tests.formats.slippi.logs import (
    Log,
    Logs,
    as_live,
    bytewise,
    cut_at,
    event_boundaries,
    first_difference,
    logs_of,
    nearly_bytewise,
    random_cuts,
)
from tests.marks import release
from tests.replays import existing, own_replays, replay

pytestmark = pytest.mark.usefixtures("with_and_without_kernel")

OWN_NAMES = [path.stem for path in own_replays()]
REAL_NAMES = [
    "v0.1",
    "v2.0",
    "game",
    "items",
    "ics2",
    "rollbackFrameTest",
    "FodPlatforms",
    "doubles",
    "homeRun_jp",
    "geckoCodes",
    "crazy_name_tags",
    "v3.18",
    "slippi-js__itemExport",
    "slippi-js__gameModeTest__Super-Sudden-Death",
]
NAMES = OWN_NAMES + existing(*REAL_NAMES)
LEFT_OUT = ("v2.0", "items", "FodPlatforms")
"""Large real replays that only the release check splits."""
CUT = [
    "singles_0.1",
    "name_tags_1.3",
    "crashed_2.1",
    "rollbacks_3.0",
    "gecko_3.3",
    "lost_game_end_3.6",
    "rollbacks_items_3.7",
    "duplicate_game_end_3.18",
    "ice_climbers_rollbacks_3.18",
    "unknown_event_3.18",
    *existing(*(name for name in REAL_NAMES if name not in LEFT_OUT)),
    *release(*existing(*LEFT_OUT)),
]
"""Replays that are split in many ways."""
LARGE_BYTES = 200_000
GOLDEN_FILE = Path(__file__).with_name("golden.json")
BLOCK_MESSAGES = 64
SEEDS = (1, 2, 3)
VERSIONS = [(0, 1, 0), (1, 2, 0), (2, 2, 0), (3, 0, 0), (3, 3, 0), (3, 7, 0), (3, 13, 0), (3, 18, 0)]


def digest(log: Log) -> str:
    """SHA-256 of the message lines."""
    sha256 = hashlib.sha256()
    for message in log:
        sha256.update(message.json() + b"\n")
    return sha256.hexdigest()


def summary(logs: Logs) -> dict[str, Any]:
    """The entry of a replay in `golden.json`."""
    numbers = [m.frame for m in logs.finalized if m.frame is not None]
    return {
        "frames": len(numbers),
        "lastFrame": max(numbers),
        "types": {
            "live": dict(sorted(Counter(m.type for m in logs.live).items())),
            "finalized": dict(sorted(Counter(m.type for m in logs.finalized).items())),
        },
        "sha256": {"live": digest(logs.live), "finalized": digest(logs.finalized)},
        "blocks": "".join(
            digest(logs.live[at : at + BLOCK_MESSAGES])[:4] for at in range(0, len(logs.live), BLOCK_MESSAGES)
        ),
    }


def first_changed_block(golden: str, logs: Logs) -> str:
    """The first block of messages that differs from the golden file."""
    seen = summary(logs)["blocks"]
    for at in range(0, max(len(golden), len(seen)), 4):
        if golden[at : at + 4] != seen[at : at + 4]:
            messages = logs.live[at // 4 * BLOCK_MESSAGES :][:BLOCK_MESSAGES]
            numbers = [m.frame for m in messages if m.frame is not None]
            where = f"frames {numbers[0]} to {numbers[-1]}" if numbers else "no frames"
            return f"first changed: {where}, live messages from {at // 4 * BLOCK_MESSAGES}"
    return "the live log is unchanged, the finalized log differs"


class Expected:
    """The message lines of a replay read in one piece, to compare with those of other ways of reading it."""

    def __init__(self, logs: Logs) -> None:
        self._lines = logs.lines()

    def check(self, seen: Logs, how: str) -> None:
        """Fail with the first message that differs."""
        for mode, a, b in zip(("live", "finalized"), self._lines, seen.lines(), strict=True):
            difference = first_difference(a, b)
            assert difference is None, f"{how}, {mode} log: {difference}"


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    values: dict[str, Any] = json.loads(GOLDEN_FILE.read_text())
    return values


def test_golden_file_has_all_replays(golden: dict[str, Any]) -> None:
    assert list(golden) == [*OWN_NAMES, *REAL_NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, golden: dict[str, Any]) -> None:
    data = replay(name)
    logs = logs_of([data])
    expected, seen = golden[name], summary(logs)
    assert seen == expected, first_changed_block(expected["blocks"], logs)


@pytest.mark.slow
@pytest.mark.parametrize("name", CUT)
def test_golden_however_it_is_cut(name: str) -> None:
    data = replay(name)
    whole = Expected(logs_of([data]))
    whole.check(as_live(data, random_cuts(len(data), SEEDS[0])), "raw length 0 first")
    if len(data) > LARGE_BYTES:
        whole.check(logs_of(nearly_bytewise(data)), "nearly byte by byte, and split at random")
        return
    whole.check(logs_of(bytewise(data)), "byte by byte")
    for seed in SEEDS:
        whole.check(logs_of(cut_at(data, random_cuts(len(data), seed))), f"split with seed {seed}")
    whole.check(as_live(data, ()), "raw length 0 first, in one piece")


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: ".".join(map(str, v)))
def test_built_replays_of_every_version_do_not_depend_on_splits(version: tuple[int, int, int]) -> None:
    data = Built(version).frames(-123, -103, items=2, followers=(1,), stage_events=True).end().closed()
    logs = logs_of([data])
    assert [m.frame for m in logs.finalized if m.frame is not None] == list(range(-123, -102))
    whole = Expected(logs)
    whole.check(logs_of(bytewise(data)), "byte by byte")
    whole.check(as_live(data, range(1, len(data))), "raw length 0 first, byte by byte")
    whole.check(as_live(data, ()), "raw length 0 first, in one piece")


@pytest.mark.slow
def test_small_replay_cut_anywhere() -> None:
    """One cut at each event boundary, at the bytes on either side, and at every byte after Game End.

    The raw length is 0 first for the cuts at the boundaries, and at every byte of both ends.
    """
    data = varied_replay()
    whole = Expected(logs_of([data]))
    boundaries = event_boundaries(data)
    ends = {*range(HEADER_BYTES + 1), *range(boundaries[-1], len(data))}
    for cut in sorted(ends | {boundary + step for boundary in boundaries for step in (-1, 0, 1)}):
        whole.check(logs_of([data[:cut], data[cut:]]), f"cut at {cut}")
    for cut in sorted(ends | set(boundaries)):
        whole.check(as_live(data, [cut]), f"raw length 0 first, cut at {cut}")


def write_golden() -> None:
    """Write `golden.json` from the current messages of the replays. The entries of missing replays stay."""
    old = json.loads(GOLDEN_FILE.read_text())
    values = {
        name: summary(logs_of([replay(name)])) if name in NAMES else old[name] for name in [*OWN_NAMES, *REAL_NAMES]
    }
    GOLDEN_FILE.write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    write_golden()
