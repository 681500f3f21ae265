"""Each file of the data folder against its expected values, with all fields of the oracle."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from slpstream.formats.gci import names
from slpstream.formats.gci.body import GO_FRAME, Racer, Reading, read_body
from slpstream.formats.gci.container import BODY_AT, Container, read_container
from slpstream.formats.gci.custom import CustomMachine, write_custom
from slpstream.model.events import Frame, GameEnd, GameStart
from tests.formats.gci.logs import events_of
from tests.formats.logs import codes, payload
from tests.project import IN_CI
from tests.replays import SHARED

GCI = SHARED / "gci"


def files(folder: Path) -> list[Path]:
    """The files of a folder. Outside CI this may be empty, so that `parametrize` works without the data."""
    found = sorted(folder.glob("*.gci"))
    assert found or not IN_CI
    return found


GOOD = files(GCI)


def header_of(container: Container) -> dict[str, Any]:
    """The container under the oracle's names."""
    entry = container.entry
    return {
        "game": entry.game_code.decode(),
        "maker": entry.maker.decode(),
        "unused_6": entry.unused_6,
        "banner_flags": entry.banner_flags,
        "filename": entry.file_name_text,
        "mtime_seconds_since_2000": entry.modified,
        "image_offset": entry.image_offset,
        "icon_format": entry.icon_format,
        "anim_speed": entry.animation_speed,
        "permissions": entry.permissions,
        "copy_count": entry.copy_count,
        "first_block": entry.first_block,
        "block_count": entry.block_count,
        "comment_address": entry.comment_offset,
        "checksum": f"{entry.checksum:04x}",
        "checksum_computed": f"{container.computed_checksum:04x}",
        "file_type": f"{entry.file_type:04x}",
        "title": entry.title_text,
        "comment": entry.comment_text,
    }


def custom_of(machine: CustomMachine) -> dict[str, Any]:
    """A custom machine under the oracle's names."""
    return {
        "unknown_0_hex": machine.kind.hex(),
        "machine": machine.machine,
        "color_swap_related": machine.color_swap,
        "emblem_count": machine.emblem_count,
        "unknown_8_hex": machine.unknown_8.hex(),
        "slider": machine.slider,
        "emblems": [
            {
                "part": emblem.part,
                "rot_v": emblem.rotation_vertical,
                "rot_h": emblem.rotation_horizontal,
                "base": list(emblem.base),
                "size": list(emblem.size),
                "pixels_sha256": emblem.pixels_sha256,
            }
            for emblem in machine.emblems
        ],
        "pilot": machine.pilot,
        "body": machine.body,
        "body_color_hex": machine.body_color.hex(),
        "cockpit": machine.cockpit,
        "cockpit_color_hex": machine.cockpit_color.hex(),
        "booster": machine.booster,
        "booster_color_hex": machine.booster_color.hex(),
        "sha256": hashlib.sha256(write_custom(machine)).hexdigest(),
    }


def racer_of(racer: Racer) -> dict[str, Any]:
    """A racer under the oracle's names. The oracle leaves out the fields that a CPU does not have."""
    values: dict[str, Any] = {"human": racer.human, "machine": racer.machine, "ai": racer.ai, "slider": racer.slider}
    if racer.human:
        values |= {"color": racer.color, "custom": int(racer.custom is not None)}
    if racer.custom is not None:
        values["custom_data"] = custom_of(racer.custom)
    return values


def replay_of(reading: Reading) -> dict[str, Any]:
    """A body under the oracle's names."""
    body = reading.body
    return {
        "tick_low": body.tick_low,
        "type": body.array_type,
        "course": body.course,
        "unk32_a": body.unknown_a,
        "unk32_b": body.unknown_b,
        "racer_count": len(body.racers),
        "difficulty": body.difficulty,
        "mode": body.mode,
        "unk1": body.unknown_flag,
        "laps": body.laps,
        "racers": [racer_of(racer) for racer in body.racers],
        "humans": len(body.humans),
        "h1": list(body.human_flags),
        "h2": list(body.human_pairs),
        "total_frames": body.total_frames,
        "checkpoint_count": len(body.checkpoints),
        "checkpoints": [
            {
                "frame1": checkpoint.frame1,
                "frame2": checkpoint.frame2,
                "unk": list(checkpoint.unknown),
                "pos": [list(position) for position in checkpoint.positions],
            }
            for checkpoint in body.checkpoints
        ],
        "input_header_bit": reading.inputs_bit,
        "input_last": len(body.inputs) - 1,
        "inputs": [
            {
                "buttons": run.buttons,
                "strafe": run.strafe,
                "accel": run.accel,
                "brake": run.brake,
                "frames_minus_1": run.frames - 1,
                "steer_x": run.steer_x,
                "steer_y": run.steer_y,
            }
            for run in body.inputs
        ],
        "end_bit": reading.end_bit,
        "tail_zero": not body.rest,
        "input_count": len(body.inputs),
        "input_frames_sum": sum(run.frames for run in body.inputs),
        "pos_float_bits": [
            [[f"{pattern:08x}" for pattern in place] for place in checkpoint.places] for checkpoint in body.checkpoints
        ],
    }


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_values_match_the_expected_file(path: Path) -> None:
    expected = json.loads(path.with_name(path.name + ".expected.json").read_text())
    data = path.read_bytes()
    assert expected["file"] == path.name
    assert (len(data), hashlib.sha256(data).hexdigest()) == (expected["size"], expected["sha256"])
    container = read_container(data)
    reading = read_body(container.body, file_offset=BODY_AT)
    assert reading.damage is None
    assert header_of(container) == expected["header"]
    ours, theirs = replay_of(reading), expected["replay"]
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        assert ours[key] == value, key
    check_log(path, data, expected)


WARNINGS_OF_GOOD = {
    "ta_inputs_long": [("info", "clamped")],
    "ta_minimal": [("info", "held")],
}


def check_log(path: Path, data: bytes, expected: dict[str, Any]) -> None:
    theirs = expected["replay"]
    events = events_of(data)
    start, end = events[0], events[-1]
    assert isinstance(start, GameStart)
    assert isinstance(end, GameEnd)
    assert start.game_id == hashlib.sha256(data[BODY_AT:]).hexdigest()[:32]
    settings: Any = payload(start)["settings"]
    assert settings["gameCode"] == expected["header"]["game"]
    assert settings["course"] == {"id": theirs["course"], "name": names.courses()[theirs["course"]]}
    assert (settings["mode"], settings["difficulty"]) == (theirs["mode"], theirs["difficulty"])
    assert [racer["machine"]["id"] for racer in settings["racers"]] == [racer["machine"] for racer in theirs["racers"]]
    assert [racer["human"] for racer in settings["racers"]] == [bool(racer["human"]) for racer in theirs["racers"]]
    human = str(next(index for index, racer in enumerate(theirs["racers"]) if racer["human"]))
    frames = [payload(event)["frame"] for event in events if isinstance(event, Frame)]
    assert [frame["nativeFrame"] for frame in frames] == list(range(theirs["total_frames"]))
    assert [frame["players"][human]["inputs"]["raw"] for frame in frames] == raw_inputs(theirs)
    assert end.last_frame == theirs["total_frames"] - 1 - GO_FRAME
    assert end.duration_seconds == (theirs["total_frames"] - GO_FRAME) / 60
    checkpoints = [payload(event) for event in events if getattr(event, "kind", "") == "checkpoint"]
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
