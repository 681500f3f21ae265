"""The reader: cut anywhere it says the same; what it says of a ghost; what it leaves out and what it refuses."""

from __future__ import annotations

import random
import struct
import tracemalloc
from typing import Any

import msgspec
import pytest

from slpstream.formats.mk8.header import BODY_BYTES, LAPS_AT, WIKI_LAPS_AT
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.formats.mk8.sections import BLOCK_BYTES, INFO_BYTES, MAX_BLOCKS, MAX_IMAGE_BYTES, MAX_SECTIONS
from slpstream.formats.mk8.sniff import sniff
from slpstream.model.errors import FieldError, FormatError, FramingError, Unsupported, WrongFormat
from slpstream.model.events import Diagnostic, Event, GameEnd, GameEvent, GameStart
from slpstream.model.messages import body_of
from tests.formats.mk8 import built

PART_AT = 0x48 + BODY_BYTES


def on_the_wire(event: Event) -> dict[str, Any]:
    kind, body, _ = body_of(event)
    wire: dict[str, Any] = msgspec.json.decode(b"{" + body)
    return {"type": kind, **wire}


def odd(events: list[Event]) -> list[tuple[str, int]]:
    return [(event.code, event.offset) for event in events if isinstance(event, Diagnostic)]


def sections(events: list[Event]) -> list[GameEvent]:
    return [event for event in events if isinstance(event, GameEvent) and event.kind == "section"]


def laps(events: list[Event]) -> list[int]:
    return [e.values["milliseconds"] for e in events if isinstance(e, GameEvent) and e.kind == "lap"]


def patched(data: bytes, at: int, code: str, *values: int | bytes) -> bytes:
    copy = bytearray(data)
    struct.pack_into(">" + code, copy, at, *values)
    return bytes(copy)


def test_whole_byte_by_byte_and_in_random_splits() -> None:
    data = built.ghost(built.replay_part(built.some_sections(4)))
    whole = built.log_of(data)
    single = Mk8Reader()
    for at in range(len(data)):
        assert single.feed(data[at : at + 1]) == []
    assert built.log(single) == whole
    dice = random.Random(5)
    for _ in range(5):
        cuts = sorted(dice.randrange(len(data)) for _ in range(7))
        reader = Mk8Reader()
        for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True):
            reader.feed(data[start:stop])
        assert built.log(reader, dice.randint(1, 200)) == whole
        assert reader.closed


def test_a_copy_goes_its_own_way() -> None:
    data = built.ghost()
    whole = built.log_of(data)
    reader = Mk8Reader()
    reader.feed(data[:500])
    twin = reader.copy()
    reader.feed(data[500:])
    twin.feed(data[500:])
    head = reader.finish()
    reader.more(64 * 7)
    third = reader.copy()
    rest = reader.more(1 << 20)
    assert third.more(1 << 20) == rest
    assert twin.finish() + built.log(twin) == whole
    assert head == whole[: len(head)]
    assert rest == whole[-len(rest) :]


def test_sections_come_in_slices_and_the_tail_has_them_all() -> None:
    reader = Mk8Reader()
    reader.feed(built.ghost())
    reader.finish()
    assert [len(reader.more(64 * 8)) for _ in range(3)] == [8, 8, 5]
    assert reader.more(64) == []
    recording = Mk8Reader().read(built.ghost())
    assert [type(event) for event in recording.tail] == [GameEvent] * 20 + [GameEnd]
    assert (recording.frame_count, recording.frame_events(0, 10)) == (0, [])


def test_what_is_on_the_wire() -> None:
    sizes = [2, 0, 64, None]
    part = built.replay_part([built.section(sizes), built.section(sizes, marker=0x00FF)], subsections=4)
    data = built.ghost(part)
    events = built.log_of(data, f"/a/b/{built.FILE_NAME}.dat")
    start = on_the_wire(events[0])
    vehicle = {
        "kart": {"id": 29, "name": "Blue Falcon"},
        "wheels": {"id": 15, "name": "Cyber Slick"},
        "glider": {"id": 11, "name": "Gold Glider"},
    }
    driver = {
        "character": {"id": 28, "name": "Morton"},
        "variant": 0,
        "miiWeight": {"id": 0, "name": "light"},
    }
    assert (start["type"], start["format"], start["rate"]) == ("game_start", "mk8", [60, 1])
    assert start["settings"] == {
        "kind": "gs",
        "kindName": "player ghost",
        "version": {"body": "0800", "game": "04010004", "gameName": "4.1/4.2"},
        "track": {"id": 63, "name": "Big Blue"},
        "cc": 150,
        "ccClass": 2,
        "mirror": False,
        "mode": {"id": 1, "name": "Time Trial"},
        "online": False,
        "drivers": [
            {"index": 0, **vehicle, **driver, "cpu": {"id": 0, "name": "human"}, "team": {"id": 2, "name": "solo"}}
        ],
        "player": {"name": built.NAME, "country": {"id": 49, "name": "US"}},
        "recordedAt": "2016-08-04T17:58:16",
        "vehicle": vehicle,
        "fileName": {
            "kind": "gs",
            "number": 47,
            "track": {"id": 63, "name": "Big Blue"},
            **driver,
            "vehicle": vehicle,
            "totalMilliseconds": 83216,
            "laps": list(built.LAPS),
            "playerName": built.NAME,
            "country": {"id": 49, "name": "US"},
            "motion": False,
        },
        "replay": {"sections": 2, "subsections": 4, "blocks": 1, "dataBytes": 156},
    }
    assert [on_the_wire(event) for event in events[1:]] == [
        *[
            {"type": "event", "kind": "lap", "index": index, "milliseconds": lap, "basis": "stored"}
            for index, lap in enumerate(built.LAPS)
        ],
        *[
            {
                "type": "event",
                "kind": "section",
                "index": index,
                "sizeBytes": 78,
                "crcOk": True,
                "sizes": [2, 0, 64, None],
            }
            for index in range(2)
        ],
        {
            "type": "game_end",
            "reason": "file_end",
            "winners": [],
            "durationSeconds": 83.216,
            "totalMilliseconds": 83216,
            "basis": "stored",
        },
    ]
    offsets = [event.end_offset for event in events]
    assert offsets == sorted(offsets)
    assert offsets[0] == PART_AT
    assert offsets[-2:] == [len(data), len(data)]


def test_what_is_personal_is_left_out_unless_asked_for() -> None:
    data = built.ghost()
    quiet = msgspec.json.encode(built.log_of(data)[0].settings)  # type: ignore[attr-defined]
    asked = msgspec.json.encode(built.log_of(data, personal=True)[0].settings)  # type: ignore[attr-defined]
    mii, profile = b"MII!".hex().encode(), b"profile-profile-".hex().encode()
    for secret in (b"MII!", mii, b"profile-", profile, b"region", b"miiName"):
        assert secret not in quiet
    for told in (mii, profile, b'"region":36', b'"miiName"'):
        assert told in asked
    header = Mk8Reader().read(data).header
    assert (header.mii, header.profile, header.region) == (None, None, None)


def test_a_body_without_an_outer_header_and_one_that_ends_behind_the_header() -> None:
    bare = built.ghost(outer=False)
    assert odd(built.log_of(bare)) == []
    assert built.log_of(bare)[0].end_offset == BODY_BYTES
    only = built.header(BODY_BYTES)
    events = built.log_of(only)
    assert odd(events) == [("no_replay", BODY_BYTES)]
    assert laps(events) == list(built.LAPS)
    assert isinstance(events[-1], GameEnd)


def test_seven_laps_are_found_in_either_place() -> None:
    seven = (11501, 10250, 10260, 10270, 10280, 10290, 10300)
    for laps_at in (LAPS_AT, WIKI_LAPS_AT):
        events = built.log_of(built.header(BODY_BYTES, seven, laps_at))
        assert laps(events) == list(seven)
        assert odd(events) == [("no_replay", BODY_BYTES)]


def test_laps_that_do_not_add_up_are_told_and_kept() -> None:
    data = patched(built.header(BODY_BYTES), 0x330 + 4, "H", 999)
    events = built.log_of(data)
    assert laps(events) == [32999, 20317, 30866]
    assert odd(events)[0] == ("lap_sum", 0x36C)


def test_unknown_ids_and_impossible_dates_stay_numbers() -> None:
    data = patched(built.header(BODY_BYTES), 0x17C, "I", 200)
    data = patched(data, 0x190, "I", 9)
    data = patched(data, 0x010, "I", 13)
    settings = on_the_wire(built.log_of(data)[0])["settings"]
    assert settings["track"] == {"id": 200}
    assert settings["ccClass"] == 9
    assert "cc" not in settings
    assert "recordedAt" not in settings


def test_a_total_time_that_is_none() -> None:
    data = patched(built.header(BODY_BYTES), 0x36C, "HBxH", 1, 60, 0)
    end = built.log_of(data)[-1]
    assert isinstance(end, GameEnd)
    assert (end.duration_seconds, dict(end.values)) == (None, {})


def test_wrong_checksums_are_warnings_and_strict_refuses_them() -> None:
    sections_of = built.some_sections(3)
    broken = sections_of[1][:40] + bytes([sections_of[1][40] ^ 1]) + sections_of[1][41:]
    data = built.ghost(built.replay_part([sections_of[0], broken, sections_of[2]]))
    files = {
        0x38: patched(data, 0x38, "I", 7),
        0x48 + 0x2A2: built.with_outer(patched(data, 0x48 + 0x2A2, "H", 7)[0x48:]),
        PART_AT: built.with_outer(patched(data, PART_AT, "I", 7)[0x48:]),
    }
    for offset, file in files.items():
        assert ("checksum", offset) in odd(built.log_of(file))
        with pytest.raises(FieldError):
            built.log_of(file, strict=True)
    events = built.log_of(data)
    assert [event.values["crcOk"] for event in sections(events)] == [True, False, True]
    assert [code for code, _ in odd(events)] == ["checksum"]
    with pytest.raises(FieldError, match="section 1"):
        built.log_of(data, strict=True)
    assert built.log_of(built.ghost(), strict=True) == built.log_of(built.ghost())


def test_sizes_that_do_not_add_up_leave_a_section_closed() -> None:
    good = built.section([2, 64, None])
    part = built.replay_part([good, good + b"\0", good[:9]], subsections=3)
    events = built.log_of(built.ghost(part))
    assert ["sizes" in event.values for event in sections(events)] == [True, False, False]
    assert [code for code, _ in odd(events)] == ["checksum", "section_sizes"] * 2


DAMAGE = {
    "sections none": (0x5C, "I", 0),
    "sections huge": (0x5C, "I", 1 << 30),
    "sections above the limit": (0x5C, "I", MAX_SECTIONS + 1),
    "sections beyond the tables": (0x5C, "I", 4000),
    "blocks none": (0x68, "I", 0),
    "blocks above the limit": (0x68, "I", MAX_BLOCKS + 1),
    "blocks lie": (0x68, "I", 2),
    "subsections none": (0x10, "I", 0),
    "subsections too many": (0x10, "I", 33),
    "first block inside the tables": (0x04, "I", 0x90),
    "first block behind the file": (0x04, "I", 1 << 31),
    "data ends before it begins": (0x58, "I", 0),
    "data above the limit": (0x58, "I", MAX_IMAGE_BYTES + (1 << 20)),
    "data of another size": (0x58, "I", 60000),
    "sections do not ascend": (INFO_BYTES + 4, "I", 1),
    "a section behind the data": (INFO_BYTES + 4, "I", 1 << 31),
    "blocks do not ascend": (INFO_BYTES + 4 * 20 + 4, "I", 0),
    "a block behind the file": (INFO_BYTES + 4 * 20 + 4, "I", 1 << 30),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_counts_and_offsets_that_lie_cost_the_sections_only(damage: str) -> None:
    at, code, value = DAMAGE[damage]
    events = built.log_of(patched(built.ghost(outer=False), BODY_BYTES + at, code, value))
    assert sections(events) == []
    assert [c for c, _ in odd(events)] == ["replay_damaged"]
    assert laps(events) == list(built.LAPS)
    start, end = events[0], events[-1]
    assert isinstance(start, GameStart)
    assert start.settings.replay is None
    assert isinstance(end, GameEnd)


def test_a_part_that_is_cut_anywhere_costs_the_sections_only() -> None:
    data = built.ghost(outer=False)
    for length in [*range(BODY_BYTES, BODY_BYTES + 0x100), *range(BODY_BYTES + 0x100, len(data), 997)]:
        events = built.log_of(data[:length])
        assert laps(events) == list(built.LAPS)
        assert isinstance(events[-1], GameEnd)
        assert len(sections(events)) < 20


def test_a_header_that_is_cut_anywhere_is_refused() -> None:
    data = built.ghost()
    for length in [*range(0x60), *range(0x60, PART_AT, 61)]:
        with pytest.raises(FormatError) as caught:
            built.log_of(data[:length])
        assert isinstance(caught.value, WrongFormat if length < 4 else FramingError)
        assert caught.value.offset <= length


def test_other_files_of_the_game_and_other_games_are_named() -> None:
    data = built.ghost()
    for magic, words in ((b"CTR0", "MKTV"), (b"0GTC", "Deluxe")):
        with pytest.raises(Unsupported, match=words):
            built.log_of(magic + data[4:])
    with pytest.raises(WrongFormat):
        built.log_of(b"RIFF" + data[4:], f"{built.FILE_NAME}.dat")
    with pytest.raises(FramingError):
        built.log_of(data[:0x48] + b"save" + data[0x4C:])


def test_a_name_that_says_nothing_is_told() -> None:
    assert odd(built.log_of(built.ghost(), "ghost.dat")) == [("file_name", 0)]
    assert odd(built.log_of(built.ghost(), f"{built.FILE_NAME.upper()}.DAT")) == []
    assert odd(built.log_of(built.ghost(), "")) == []


def test_sniffing() -> None:
    data = built.ghost()
    name = f"{built.FILE_NAME}.dat"
    assert sniff(data[:0x500], len(data), name) == sniff(data[0x48:0x500], None, "") == "yes"
    assert sniff(b"CTR0", 4, "") == sniff(b"0GTC", 4, "") == "yes"
    assert sniff(b"", 0, name) == sniff(b"RIFF" + data[4:], len(data), name) == "no"


def bombs() -> dict[str, list[bytes]]:
    """Blocks that are as much work as can be declared."""
    copies = b"\x80A" + b"\x10\x00" * 7 + (b"\x00" + b"\x10\x00" * 8) * 1500
    mixed = b"\xaa" + b"A\x10\x00" * 4
    head = b"Yaz0" + struct.pack(">I8x", BLOCK_BYTES)
    small = head + b"\x80A" + b"\x00\x00\xff" * 7 + (b"\x00" + b"\x00\x00\xff" * 8) * 15
    return {
        "copies of three bytes": [head + copies] * 160,
        "copies and literals in turn": [head + mixed * 2060] * 150,
        "as small as can be": [small] * 256,
    }


def bombed(bomb: str) -> bytes:
    """A ghost with such blocks, and as many sections as can be."""
    blocks = bombs()[bomb]
    image_bytes = BLOCK_BYTES * len(blocks)
    count = MAX_SECTIONS
    fake = [bytes(image_bytes // count)] * (count - 1) + [bytes(image_bytes - image_bytes // count * (count - 1))]
    return built.ghost(built.replay_part(fake, 32, blocks))


@pytest.mark.sweep
@pytest.mark.parametrize("bomb", bombs())
def test_the_worst_file_takes_little_memory(bomb: str) -> None:
    data = bombed(bomb)
    assert len(data) <= Mk8Reader.max_bytes
    tracemalloc.start()
    reader = Mk8Reader()
    reader.feed(data)
    reader.finish()
    events: list[Event] = []
    # All of the smallest file; of the others, which are slow when they are watched, what grows the image most.
    max_events = 1 << 20 if bomb == "as small as can be" else 400
    while reader.pending and len(events) < max_events:
        events += reader.more(512)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(events) > 300
    assert peak_bytes < 64 << 20


def test_unpacking_has_a_bound() -> None:
    blocks = bombs()["copies of three bytes"]
    fake = [bytes(BLOCK_BYTES)] * len(blocks)
    events = built.log_of(built.ghost(built.replay_part(fake, 32, blocks)))
    assert isinstance(events[-1], GameEnd)
    assert 0 < len(sections(events)) < len(blocks)
    messages = [event.message for event in events if isinstance(event, Diagnostic)]
    assert len([message for message in messages if "more work" in message]) == 1
