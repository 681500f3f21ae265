"""The events of a replay, with diagnostics for unusual values."""

from __future__ import annotations

import hashlib
import tracemalloc
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from slpstream.formats.gci.body import INPUT_BITS, LAST_INPUT, InputRun, Racer, read_body
from slpstream.formats.gci.container import BODY_AT, CHECKSUM_AT
from slpstream.formats.gci.custom import CUSTOM_BYTES, EMBLEM, PILOT_EXCLUSIVE
from slpstream.formats.gci.frames import wire_inputs
from slpstream.formats.gci.reader import MAX_FRAMES, GciReader
from slpstream.formats.gci.settings import Replay
from slpstream.model.events import Diagnostic, Event, Frame, FrameFinalized, GameEnd, GameEvent, GameStart
from tests.formats.gci.logs import (
    custom_machine,
    events_of,
    grand_prix,
    of_array_type,
    runs,
    time_attack,
    with_checksum,
    with_custom,
)
from tests.formats.gci.writer import as_pattern, encode, fitted, new_replay, read_replay, write_emblems
from tests.formats.logs import codes, of_kind, payload
from tests.formats.whole_files import longest_gci

NAN = 0x7FC00001


def diagnostic(events: list[Event], code: str) -> Diagnostic:
    (found,) = [event for event in events if isinstance(event, Diagnostic) and event.code == code]
    return found


def test_log_of_a_time_attack() -> None:
    replay = time_attack()
    total = replay.body.total_frames
    assert total is not None
    data = encode(replay)
    events = events_of(data)
    start, end = events[0], events[-1]
    assert isinstance(start, GameStart)
    assert (start.format, start.rate) == ("gci", (60, 1))
    assert start.game_id == hashlib.sha256(data[BODY_AT:]).hexdigest()[:32]
    frames = [event for event in events if isinstance(event, Frame)]
    assert [frame.number for frame in frames] == list(range(-182, total - 182))
    assert [frame.entry.native_frame for frame in frames] == list(range(total))
    assert [event.through for event in events if isinstance(event, FrameFinalized)] == [f.number for f in frames]
    assert isinstance(end, GameEnd)
    assert (end.reason, end.last_frame, end.end_offset) == ("file_end", total - 183, len(data))
    assert end.duration_seconds == (total - 182) / 60
    assert end.values == {"finished": "assumed", "raceFrames": total - 182, "basis": "estimated"}
    offsets = [event.end_offset for event in events]
    assert offsets == sorted(offsets)


@pytest.mark.parametrize(
    "replay", [time_attack(), grand_prix(), with_custom(), *map(of_array_type, range(8)), of_array_type(127)]
)
def test_all_values_are_read(replay: Replay) -> None:
    assert read_replay(encode(replay)) == replay


def test_game_id_does_not_depend_on_the_container() -> None:
    replay = time_attack()
    copied = replace(replay, entry=replace(replay.entry, copy_count=3, modified=600_000_000))
    first, second = events_of(encode(replay))[0], events_of(encode(copied))[0]
    assert isinstance(first, GameStart)
    assert isinstance(second, GameStart)
    assert first.game_id == second.game_id
    assert first.settings.modified_at != second.settings.modified_at


def test_settings_of_a_grand_prix() -> None:
    settings: Any = payload(events_of(encode(grand_prix()))[0])["settings"]
    assert (settings["gameCode"], settings["region"]) == ("GFZE", "NTSC-U")
    assert settings["course"] == {"id": 17, "name": "Fire Field: Undulation"}
    assert (settings["mode"], settings["modeName"]) == (1, "Grand Prix")
    assert (settings["difficulty"], settings["difficultyName"]) == (3, "Master")
    assert len(settings["racers"]) == 30
    human, cpu = settings["racers"][:2]
    assert human == {
        "index": 0,
        "human": True,
        "machine": {"id": 6, "name": "Blue Falcon"},
        "ai": 1,
        "slider": 50,
        "color": 1,
    }
    assert cpu == {
        "index": 1,
        "human": False,
        "machine": {"id": 1, "name": "White Cat"},
        "ai": 1,
        "slider": 0,
    }
    assert settings["savedAt"] == "2018-05-08T12:34:56"
    assert settings["title"] == "F-ZERO GX"


def test_settings_of_a_custom_machine() -> None:
    replay = with_custom()
    settings = payload(events_of(encode(replay))[0])["settings"]
    custom = settings["racers"][0]["custom"]
    assert custom["kind"] == "original"
    assert custom["pilot"] == {"id": 37, "name": "Lily Flyer"}
    assert custom["body"] == {"id": 12, "name": "Big Tyrant", "color": [255, 10, 20]}
    assert custom["cockpit"]["name"] == "Crystal Egg"
    assert custom["booster"]["name"] == "Crown -77"
    assert [emblem["part"]["name"] for emblem in custom["emblems"]] == ["body", "cockpit", "body", "body"]
    pictures = read_replay(encode(replay)).pictures
    for emblem in custom["emblems"]:
        picture = pictures[emblem["pixelsSha256"]]
        assert (picture.width, picture.height, len(picture.pixels)) == (64, 64, 8192)
        assert hashlib.sha256(picture.pixels).hexdigest() == emblem["pixelsSha256"]
    banner = pictures[settings["banner"]["sha256"]]
    assert (banner.width, banner.height, len(banner.pixels)) == (96, 32, 0x1800)
    assert b'pixels"' not in msgspec.json.encode(settings)


def test_pilot_exclusive_machine_has_no_part_names() -> None:
    machine = replace(custom_machine(), kind=PILOT_EXCLUSIVE, machine=6, body=0, cockpit=0, booster=0)
    replay = new_replay(runs(20), racers=[Racer(color=0, custom=machine)])
    settings: Any = payload(events_of(encode(replay))[0])["settings"]
    custom = settings["racers"][0]["custom"]
    assert (custom["kind"], custom["body"]["name"]) == ("pilot_exclusive", None)


def test_unknown_ids_have_no_name() -> None:
    replay = new_replay(runs(20), racers=[Racer(machine=63, color=0)], course=63, mode=3, difficulty=7)
    settings: Any = payload(events_of(encode(replay))[0])["settings"]
    assert settings["course"] == {"id": 63, "name": None}
    assert settings["racers"][0]["machine"] == {"id": 63, "name": None}
    assert (settings["mode"], settings["modeName"]) == (3, None)


def test_inputs_out_of_range_are_clipped_and_kept_raw() -> None:
    run = InputRun(strafe=-128, accel=127, brake=101, frames=200, steer_x=127, steer_y=-101)
    wire = wire_inputs(run)
    assert (wire.steer, wire.pitch, wire.strafe, wire.throttle, wire.brake) == (1.0, -1.0, -1.0, 1.0, 1.0)
    assert (wire.raw.strafe, wire.raw.accel, wire.raw.steer_x) == (-128, 127, 127)
    data = encode(new_replay([InputRun(frames=200), run, InputRun(frames=7)]))
    found = diagnostic(events_of(data), "input_range")
    assert "1 of 3 runs" in found.message
    first_run_bit = read_body(data[BODY_AT:]).inputs_bit + LAST_INPUT.bits
    assert found.offset == BODY_AT + (first_run_bit + INPUT_BITS) // 8


@pytest.mark.parametrize(
    ("frames", "total", "taken", "code"),
    [(400, 400, 400, None), (400, 390, 390, "clamped"), (400, 450, 450, "held"), (3000, 181, 181, "total_frames")],
)
def test_length_of_the_race_sets_the_number_of_frames(frames: int, total: int, taken: int, code: str | None) -> None:
    inputs = [InputRun(accel=1, frames=100)] * (frames // 100 - 1) + [InputRun(accel=2, frames=100)]
    events = events_of(encode(new_replay(inputs, total_frames=total, checkpoints=[])))
    seen = [event.players[0].inputs.throttle for event in events if isinstance(event, Frame)]  # type: ignore[union-attr]
    plain = [run.accel / 100 for run in inputs for _ in range(run.frames)]
    assert seen == (plain + [plain[-1]] * (taken - len(plain)))[:taken]
    assert code is None or diagnostic(events, code)
    assert codes(events) if code else not codes(events)


def test_excessive_number_of_frames_is_clamped_with_a_diagnostic() -> None:
    reader = GciReader()
    reader.feed(encode(new_replay([InputRun(frames=256)] * 16_384, total_frames=(1 << 20) - 1)))
    events = reader.finish()
    found = diagnostic(events, "clamped")
    assert found.severity == "warning"
    assert reader.recording is not None
    assert reader.recording.frame_count == MAX_FRAMES
    end = reader.recording.tail[-1]
    assert isinstance(end, GameEnd)
    assert end.last_frame == MAX_FRAMES - 183


def test_checkpoints_and_laps_follow_their_frame() -> None:
    replay = new_replay(runs(400), total_frames=1082)
    events = events_of(encode(replay))
    game_events = [
        (event.kind, event.frame, getattr(events[index - 1], "through", None))
        for index, event in enumerate(events)
        if isinstance(event, GameEvent)
    ]
    assert game_events == [
        ("checkpoint", 0, 0),
        ("checkpoint", 300, 300),
        ("lap", 300, None),
        ("checkpoint", 600, 600),
        ("lap", 600, None),
        # As in real replays the last checkpoint is one frame after the finish, so it follows the last frame.
        ("checkpoint", 901, 899),
        ("lap", 901, None),
    ]
    assert [lap.values for lap in of_kind(events, "lap")][:1] == [
        {"index": 0, "basis": "inferred", "frames": 300, "milliseconds": 5000, "millisecondsBasis": "estimated"}
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"mode": 1}, "not Time Attack"),
        ({"laps": 2}, "more checkpoints than laps"),
        ({"total_frames": 1086}, "the last one is not at the finish"),
        ({"array_type": 4, "total_frames": None, "human_flags": ()}, "no number of frames"),
    ],
)
def test_laps_are_inferred_only_if_everything_fits(change: dict[str, Any], why: str) -> None:
    replay = new_replay(runs(400), total_frames=1082)
    assert len(of_kind(events_of(encode(replay)), "lap")) == 3
    changed = fitted(replace(replay, body=replace(replay.body, **change)))
    assert of_kind(events_of(encode(changed)), "lap") == [], why


def test_checkpoints_not_in_order_give_no_laps() -> None:
    replay = new_replay(runs(400), total_frames=1082)
    first, second, third, last = replay.body.checkpoints
    for order in ((first, third, second, last), (first, second, second, last)):
        changed = fitted(replace(replay, body=replace(replay.body, checkpoints=order)))
        assert of_kind(events_of(encode(changed)), "lap") == []


def test_positions_that_are_not_finite_are_null_and_raw() -> None:
    replay = time_attack()
    first, second, *others = replay.body.checkpoints
    not_finite = (NAN, as_pattern(1.5), 0xFF800000)
    changed = replace(second, places=(not_finite, *second.places[1:]), frame2=second.frame1 - 1)
    data = encode(fitted(replace(replay, body=replace(replay.body, checkpoints=(first, changed, *others)))))
    events = events_of(data)
    plain, found = (payload(event) for event in of_kind(events, "checkpoint")[:2])
    assert (found["positions"][0], found["enabled"]) == ([None, 1.5, None], False)
    assert found["rawPositions"][0] == ["7fc00001", "3fc00000", "ff800000"]
    assert (plain["enabled"], plain["basis"]) == (True, "stored")
    assert "rawPositions" not in plain
    assert codes(events) == [("warning", "position")]
    assert encode(read_replay(data)) == data


def test_emblem_sizes_that_are_not_finite_are_null_and_raw() -> None:
    emblems = custom_machine().emblems
    machine = replace(custom_machine(), emblem_blocks=write_emblems(replace(emblems[0], width=NAN), *emblems[1:]))
    settings: Any = payload(events_of(encode(new_replay(runs(9), racers=[Racer(color=0, custom=machine)])))[0])
    first, second = settings["settings"]["racers"][0]["custom"]["emblems"][:2]
    assert first["size"] == [None, pytest.approx(0.2)]
    assert first["raw"] == ["00000000", "00000000", "7fc00001", "3e4ccccd"]
    assert "raw" not in second
    assert EMBLEM.pack(machine.emblems[0])[64:68] == NAN.to_bytes(4, "big")


def test_invalid_part_ids_give_a_diagnostic() -> None:
    machine = replace(custom_machine(), booster=0xEE)
    events = events_of(encode(new_replay(runs(90), racers=[Racer(color=0, custom=machine)])))
    found = diagnostic(events, "part_id")
    assert "booster 238" in found.message
    settings: Any = payload(events[0])["settings"]
    assert settings["racers"][0]["custom"]["booster"]["id"] == 238


@pytest.mark.parametrize(
    ("racers", "index", "message"),
    [
        ([Racer(human=0), Racer(color=1), Racer(color=2)], 1, "2 racers are human"),
        ([Racer(human=0)], 0, "no racer is human"),
        ([], 0, "no racer is human"),
    ],
)
def test_inputs_belong_to_the_first_human(racers: list[Racer], index: int, message: str) -> None:
    events = events_of(encode(new_replay(runs(100), racers=racers)))
    frame = next(event for event in events if isinstance(event, Frame))
    assert list(frame.players) == [index]
    assert message in diagnostic(events, "humans").message


def test_without_total_frames_the_inputs_set_the_number_of_frames() -> None:
    racer = Racer(ai=None, slider=None, old_slider=77, color=1)
    replay = new_replay(runs(100), racers=[racer], array_type=1)
    events = events_of(encode(replay))
    settings: Any = payload(events[0])["settings"]
    assert "totalFrames" not in settings
    assert settings["racers"][0]["slider"] == 77
    count = sum(isinstance(event, Frame) for event in events)
    assert count == sum(run.frames for run in replay.body.inputs)
    assert codes(events) == [("warning", "racer_array_type")]


def test_wrong_checksum_is_a_warning_or_an_error_if_strict() -> None:
    data = bytearray(encode(time_attack()))
    data[CHECKSUM_AT] ^= 1
    events = events_of(bytes(data))
    assert diagnostic(events, "checksum").offset == CHECKSUM_AT
    assert isinstance(events[-1], GameEnd)
    (rejected,) = events_of(bytes(data), strict=True)
    assert isinstance(rejected, Diagnostic)
    assert (rejected.severity, rejected.code, rejected.offset) == ("error", "checksum", CHECKSUM_AT)


def test_padding_and_length_are_checked() -> None:
    replay = time_attack()
    padded = with_checksum(encode(replay)[:-1] + b"\x80")
    assert codes(events_of(padded, strict=True)) == [("warning", "padding")]
    longer = replace(replay, entry=replace(replay.entry, block_count=3))
    assert codes(events_of(encode(longer))) == [("warning", "size_mismatch")]


def test_truncated_body_gives_the_events_before_the_end() -> None:
    replay = with_custom()
    data = encode(replay)
    inputs_offset = BODY_AT + 20 + CUSTOM_BYTES + 4 * 56
    for length, racers, checkpoints, has_frames in (
        (inputs_offset + 100, 1, 4, True),
        (inputs_offset - 100, 1, 2, False),
        (BODY_AT + CUSTOM_BYTES - 1000, 0, 0, False),
        (BODY_AT + 16, 0, 0, False),
    ):
        events = events_of(data[:length])
        start, end = events[0], events[-1]
        assert isinstance(start, GameStart)
        assert isinstance(end, GameEnd)
        assert start.settings.course.id == replay.body.course
        assert len(start.settings.racers) == racers
        assert len(of_kind(events, "checkpoint")) == checkpoints
        assert any(isinstance(event, Frame) for event in events) == has_frames
        assert diagnostic(events, "truncated").offset == length
        assert end.values["finished"] == "unknown"
        assert codes(events[: 1 + len(codes(events))]) == codes(events)  # immediately after Game Start
        (rejected,) = events_of(with_checksum(data[:length]), strict=True)
        assert isinstance(rejected, Diagnostic)
        assert (rejected.severity, rejected.code, rejected.offset) == ("error", "truncated", length)


def test_body_that_ends_inside_the_first_fields_is_rejected() -> None:
    data = encode(time_attack())
    (rejected,) = events_of(data[: BODY_AT + 12])
    assert isinstance(rejected, Diagnostic)
    assert (rejected.severity, rejected.code, rejected.offset) == ("error", "truncated", BODY_AT + 12)


def test_inputs_have_the_form_that_all_formats_share() -> None:
    run = InputRun(buttons=0xD4, strafe=-100, accel=100, brake=25, frames=200, steer_x=50, steer_y=-7)
    frame = events_of(encode(new_replay([run])))[1]
    assert isinstance(frame, Frame)
    assert payload(frame)["frame"] == {
        "frame": -182,
        "nativeFrame": 0,
        "revision": 0,
        "players": {
            "0": {
                "inputs": {
                    "steer": 0.5,
                    "pitch": -0.07,
                    "strafe": -1.0,
                    "throttle": 1.0,
                    "brake": 0.25,
                    "buttons": ["side_attack", "boost", "both_strafe"],
                    "raw": {"buttons": 212, "strafe": -100, "accel": 100, "brake": 25, "steerX": 50, "steerY": -7},
                }
            }
        },
    }


def test_declared_counts_allocate_nothing_without_the_bytes() -> None:
    data = longest_gci()[BODY_AT:]
    for length in (20, 2_000, 40_000, 1_020_000):
        tracemalloc.start()
        try:
            reading = read_body(data[:length])
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert reading.damage is not None
        assert peak < 8 * length + (1 << 16)


@pytest.mark.parametrize(
    ("field", "raw", "offset"),
    [("title", b"F-ZERO\x81GX", 0x44), ("comment", b"\x8d26/11/26 20:00", 0x64), ("file_name", b"fzr\xff", 0x08)],
)
def test_bytes_that_are_not_text_are_reported(field: str, raw: bytes, offset: int) -> None:
    replay = time_attack()
    entry = replace(replay.entry, **{field: raw.ljust(len(getattr(replay.entry, field)), b"\0")})
    events = events_of(with_checksum(encode(replace(replay, entry=entry))))
    assert [event.offset for event in events if isinstance(event, Diagnostic)] == [offset]
    assert diagnostic(events, "bad_text").message.startswith(field)
    shown = {"title": "title", "comment": "comment", "file_name": "fileName"}[field]
    assert "\ufffd" in payload(events[0])["settings"][shown]
