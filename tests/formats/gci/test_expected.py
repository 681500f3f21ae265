"""The log of each file of the data folder against its expected values."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from slpstream.formats.gci.body import GO_FRAME
from slpstream.formats.gci.container import BODY_AT
from slpstream.model.events import Frame, GameEnd, GameStart
from tests.formats.gci.logs import events_of
from tests.formats.logs import codes, ids_of, of_kind, payload
from tests.project import IN_CI
from tests.replays import SHARED

GCI = SHARED / "gci"


def files(folder: Path) -> list[Path]:
    """The files of a folder. Outside CI this may be empty, so that `parametrize` works without the data."""
    found = sorted(folder.glob("*.gci"))
    assert found or not IN_CI
    return found


GOOD = files(GCI)


WARNINGS_OF_GOOD = {
    "ta_inputs_long": [("info", "clamped")],
    "ta_minimal": [("info", "held")],
}


def settings_of(header: dict[str, Any], replay: dict[str, Any]) -> dict[str, Any]:
    """The oracle's values of a file under our names."""
    keys = {"gameCode": "game", "maker": "maker", "fileName": "filename", "title": "title", "comment": "comment"}
    same = ("mode", "difficulty", "laps")
    renamed = {"totalFrames": "total_frames", "checkpointCount": "checkpoint_count", "inputRuns": "input_count"}
    renamed |= {"racerArrayType": "type", "tickLow": "tick_low", "unknownA": "unk32_a", "unknownB": "unk32_b"}
    return {
        **{ours: header[theirs] for ours, theirs in keys.items()},
        "blockCount": header["block_count"],
        "checksum": header["checksum"],
        **{key: replay[key] for key in same},
        **{ours: replay[theirs] for ours, theirs in renamed.items()},
        "course": replay["course"],
        "racers": [racer_of(racer) for racer in replay["racers"]],
    }


def racer_of(theirs: dict[str, Any]) -> dict[str, Any]:
    racer: dict[str, Any] = {key: theirs[key] for key in ("machine", "ai", "slider", "color") if key in theirs}
    racer["human"] = bool(theirs["human"])
    if "custom_data" in theirs:
        custom = theirs["custom_data"]
        racer["custom"] = {
            **{key: custom[key] for key in ("machine", "slider", "pilot", "body", "cockpit", "booster", "sha256")},
            "colorSwap": custom["color_swap_related"],
            "emblemCount": custom["emblem_count"],
            "emblems": [
                {
                    "part": emblem["part"],
                    "base": emblem["base"],
                    "size": emblem["size"],
                    "rotationVertical": emblem["rot_v"],
                    "rotationHorizontal": emblem["rot_h"],
                    "pixelsSha256": emblem["pixels_sha256"],
                }
                for emblem in custom["emblems"]
            ],
        }
    return racer


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_log_matches_the_expected_file(path: Path) -> None:
    expected = json.loads(path.with_name(path.name + ".expected.json").read_text())
    theirs = expected["replay"]
    data = path.read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (expected["size"], expected["sha256"])
    events = events_of(data)
    start, end = events[0], events[-1]
    assert isinstance(start, GameStart)
    assert isinstance(end, GameEnd)
    assert start.game_id == hashlib.sha256(data[BODY_AT:]).hexdigest()[:32]
    wanted = settings_of(expected["header"], theirs)
    assert ids_of(payload(start)["settings"], wanted) == wanted
    human = str(next(index for index, racer in enumerate(theirs["racers"]) if racer["human"]))
    frames = [payload(event)["frame"] for event in events if isinstance(event, Frame)]
    assert [frame["nativeFrame"] for frame in frames] == list(range(theirs["total_frames"]))
    assert [frame["players"][human]["inputs"]["raw"] for frame in frames] == raw_inputs(theirs)
    assert end.last_frame == theirs["total_frames"] - 1 - GO_FRAME
    assert end.duration_seconds == (theirs["total_frames"] - GO_FRAME) / 60
    checkpoints = [event.values for event in of_kind(events, "checkpoint")]
    assert [checkpoint["positions"] for checkpoint in checkpoints] == [c["pos"] for c in theirs["checkpoints"]]
    assert codes(events) == WARNINGS_OF_GOOD.get(path.stem, [])


def raw_inputs(theirs: dict[str, Any]) -> list[dict[str, int]]:
    """The inputs in each frame of the oracle's runs, expanded independently of the reader."""
    ours = ("buttons", "strafe", "accel", "brake", "steerX", "steerY")
    names_of = ("buttons", "strafe", "accel", "brake", "steer_x", "steer_y")
    runs = [
        (dict(zip(ours, (run[name] for name in names_of), strict=True)), run["frames_minus_1"] + 1)
        for run in theirs["inputs"]
    ]
    per_frame = [inputs for inputs, frames in runs for _ in range(frames)]
    per_frame += [runs[-1][0]] * (theirs["total_frames"] - len(per_frame))
    return per_frame[: theirs["total_frames"]]


BAD: dict[str, tuple[list[tuple[str, str]], int | None, list[tuple[str, str]]]] = {
    # By file: diagnostics, number of frames (None when the file is rejected), diagnostics of the strict reader.
    "bad_checksum": ([("warning", "checksum")], 6000, [("error", "checksum")]),
    "body_bitflip": ([("warning", "checksum")], 6000, [("error", "checksum")]),
    "padding_not_zero": ([("warning", "padding")], 6000, [("warning", "padding")]),
    "block_count_mismatch": ([("warning", "size_mismatch")], 6000, [("warning", "size_mismatch")]),
    "hostile_max_values": (
        [("warning", "clamped"), ("warning", "input_range")],
        100_000,
        [("warning", "clamped"), ("warning", "input_range")],
    ),
    "type0_racer_array": ([("warning", "racer_array_type")], 1, [("warning", "racer_array_type")]),
    "truncated_header": ([("error", "framing")], None, [("error", "framing")]),
    "type_ghost": ([("error", "unsupported")], None, [("error", "unsupported")]),
    "emblem": ([("error", "unsupported")], None, [("error", "unsupported")]),
    "other_game": ([("error", "wrong_format")], None, [("error", "wrong_format")]),
}


@pytest.mark.parametrize("path", files(GCI / "bad"), ids=lambda path: path.stem)
def test_bad_file_has_its_outcome(path: Path) -> None:
    diagnostics, frames, strict_diagnostics = BAD[path.stem]
    events = events_of(path.read_bytes())
    assert codes(events) == diagnostics
    assert sum(isinstance(event, Frame) for event in events) == (frames or 0)
    assert (len(events) == 1) is (frames is None)
    assert codes(events_of(path.read_bytes(), strict=True)) == strict_diagnostics
