"""Replays for the tests of replay logs, and blocks with other fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from slpstream.formats.registry import choose
from slpstream.formats.slplog.container import Block
from tests.formats.games import games
from tests.formats.slippi.built import varied_replay
from tests.replays import SHARED, real_replays, replay_path
from tests.synthetic.match import synthetic_match

OWN = (
    *("singles_0.1", "crashed_2.1", "gecko_3.3", "short_pre_frames_3.17", "duplicate_game_end_3.18"),
    *("unknown_event_3.18", "stadium_3.19"),
)


@cache
def synthetic() -> bytes:
    """A match of 700 frames, with rollbacks, items and Ice Climbers."""
    return synthetic_match(seed=5, frames=700, rollbacks=True, items=True, followers=True, gecko=True)


def files() -> Mapping[str, Path | bytes]:
    """Files of all formats by name: built ones, and all files of the test data, including damaged ones."""
    others = [path for folder in ("gci", "stunts", "mk8") for path in sorted((SHARED / folder).rglob("*"))]
    real = real_replays() + [path for path in others if path.is_file() and path.suffix != ".json"]
    built: dict[str, Path | bytes] = {"varied.slp": varied_replay(), "match.slp": synthetic()[:200_000], **games()}
    own = {f"{name}.slp": replay_path(name) for name in OWN}
    return built | own | {f"{path.parent.name}/{path.name}": path for path in real}


def format_of(name: str, data: bytes) -> str:
    """The name of a file's format, empty for a file that is not a replay."""
    found = choose(name, data[:0x500], len(data))
    return "" if found is None else found.name


def changed(block: Block, **values: Any) -> Block:
    """A block with other values of these fields."""
    fields = {name: getattr(block, name) for name in Block.__annotations__}
    return Block(**(fields | values))
