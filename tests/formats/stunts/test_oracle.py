"""Each file of the data folder against its expected values, and the bad ones against a table of outcomes."""

from __future__ import annotations

import hashlib
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slpstream.formats.stunts.layout import fitting
from slpstream.formats.stunts.reader import StuntsReader
from slpstream.model.errors import FormatError
from slpstream.model.events import Frame, GameEnd, GameStart
from tests.formats.logs import codes, log_of
from tests.formats.stunts.built import BITS
from tests.project import IN_CI
from tests.replays import SHARED

FOLDER = SHARED / "stunts"

BAD = {
    "empty.rpl": ("framing", 0),
    "header_only.rpl": ("framing", 26),
    "plain_track.trk": ("wrong_format", 0),
    "trailing_junk.rpl": ("framing", 2617),
    "truncated.rpl": ("framing", 2610),
}
"""The code and the offset of the error for each bad file; of all others, which have no track, ("framing", 26)."""

WARNINGS = {
    "synthetic/ambiguous_18_ticks.rpl": ["layout_ambiguous"],
    "synthetic/old_20_ticks_ambiguous.rpl": ["layout_ambiguous"],
    "synthetic/freq_zero.rpl": ["frequency"],
}
"""Codes of the warnings; all other files have no warnings."""


@cache
def expected() -> dict[str, Any]:
    path = FOLDER / "expected.json"
    if not path.is_file():
        if IN_CI:
            raise FileNotFoundError(path)
        return {}
    values: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return values


def good() -> list[str]:
    return [name for name, values in expected().items() if "error" not in values]


def frames_of(events: list[Any]) -> list[Frame]:
    return [event for event in events if isinstance(event, Frame)]


def oracle_values(path: Path) -> dict[str, Any]:
    """A file's values under the oracle's names, from its log and its recording."""
    data = path.read_bytes()
    reader = StuntsReader(name=path.name)
    events = log_of(reader, data)
    assert reader.failure is None
    recording: Any = reader.recording
    start, end, replay = events[0], events[-1], recording.replay
    assert isinstance(start, GameStart)
    assert isinstance(end, GameEnd)
    settings = start.settings
    raw = bytes(frame.entry.players[0].wire_inputs.raw.byte for frame in frames_of(events))
    player, opponent = settings.player, settings.opponent
    opponent_raw = replay.opponent_car + bytes([replay.opponent_color, replay.opponent_transmission])
    return {
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "layout": settings.layout,
        "layouts_possible": [layout.name for layout in fitting(data, len(data))],
        "ticks": settings.ticks,
        "frequency": settings.frequency_hz,
        "replay_seconds": end.duration_seconds,
        "player": {"car": player.car, "color": player.color, "transmission": player.transmission},
        "opponent": opponent,
        "opponent_id": replay.opponent_id,
        "opponent_raw_hex": opponent_raw.hex(),
        "track_name": settings.track.name,
        "track_name_raw_hex": replay.track_name.hex(),
        "horizon": settings.track.horizon,
        "horizon_name": settings.track.horizon_name or "unknown",
        "filler": replay.track.data[-1],
        "track_sha256": settings.track.sha256,
        "elements_nonzero": sum(bool(code) for row in replay.track.elements for code in row),
        "terrain_max": max(max(row) for row in replay.track.terrain),
        "bits": {name: held(raw, bit) for name, bit in {**BITS, "bit6": 0x40, "bit7": 0x80}.items()},
        "both_pedals_ticks": sum(byte & 0x03 == 0x03 for byte in raw),
        "both_steer_ticks": sum(byte & 0x0C == 0x0C for byte in raw),
        "trailing_zero_ticks": replay.inputs.trailing_idle_frames,
        "likely_finished": end.values["finished"] == "likely",
        "race_seconds_if_finished": end.values.get("raceSeconds"),
        "changes": sum(1 for _ in groupby(raw)),
        "inputs_sha256": hashlib.sha256(raw).hexdigest(),
        "first_40_ticks": list(raw[:40]),
    }


def held(raw: bytes, bit: int) -> dict[str, int]:
    presses = sum(not before & bit and bool(after & bit) for before, after in pairwise(b"\0" + raw))
    return {"ticks_held": sum(bool(byte & bit) for byte in raw), "presses": presses}


@pytest.mark.parametrize("name", good())
def test_values_match_the_expected_file(name: str) -> None:
    path = FOLDER / name
    assert oracle_values(path) == {key: value for key, value in expected()[name].items() if key != "note"}
    events = log_of(StuntsReader(name=name), path.read_bytes())
    assert [code for _, code in codes(events)] == WARNINGS.get(name, [])
    StuntsReader().read(path.read_bytes())  # recognised without its name


@pytest.mark.parametrize("path", sorted((FOLDER / "bad").glob("*.*")), ids=lambda path: path.name)
def test_bad_file_raises_its_error(path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        StuntsReader(name=path.name).read(path.read_bytes())
    assert (caught.value.code, caught.value.offset) == BAD.get(path.name, ("framing", 26))
    with pytest.raises(FormatError) as caught:
        StuntsReader().read(path.read_bytes())
    assert caught.value.code == "wrong_format"
