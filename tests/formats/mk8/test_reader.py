"""The reader: events of a ghost, personal data, damaged and foreign files."""

from __future__ import annotations

import struct

import msgspec
import pytest

from slpstream.formats.mk8.header import BODY_BYTES, LAP_OFFSETS, OUTER_BYTES, PLAYER_NAME_OFFSET, WIKI_LAP_OFFSETS
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.formats.mk8.sections import BLOCK_BYTES, INFO_BYTES, MAX_BLOCKS, MAX_IMAGE_BYTES, MAX_SECTIONS
from slpstream.formats.mk8.sniff import sniff
from slpstream.model.errors import FieldError, FormatError, FramingError, Unsupported, WrongFormat
from slpstream.model.events import Diagnostic, Event, GameEnd, GameEvent, GameStart
from tests.formats.logs import diagnostics, of_kind, payload
from tests.formats.mk8 import built
from tests.formats.whole_files import bombs

PART_OFFSET = 0x48 + BODY_BYTES


def laps(events: list[Event]) -> list[int]:
    return [lap.values["milliseconds"] for lap in of_kind(events, "lap")]


def patched(data: bytes, at: int, code: str, *values: int | bytes) -> bytes:
    copy = bytearray(data)
    struct.pack_into(">" + code, copy, at, *values)
    return bytes(copy)


def test_more_returns_sections_in_slices_and_tail_returns_all() -> None:
    reader = Mk8Reader()
    reader.feed(built.ghost())
    reader.finish()
    assert [len(reader.more(64 * 8)) for _ in range(3)] == [8, 8, 5]
    assert reader.more(64) == []
    recording = Mk8Reader().read(built.ghost())
    assert [type(event) for event in recording.tail] == [GameEvent] * 20 + [GameEnd]
    assert (recording.frame_count, recording.frame_events(0, 10)) == (0, [])


def test_messages_of_a_ghost() -> None:
    sizes = [2, 0, 64, None]
    part = built.replay_part([built.section(sizes), built.section(sizes, marker=0x00FF)], subsections=4)
    data = built.ghost(part)
    events = built.log_of(data, f"/a/b/{built.FILE_NAME}.dat")
    start = payload(events[0])
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
    assert [payload(event) for event in events[1:]] == [
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
    assert offsets[0] == PART_OFFSET
    assert offsets[-2:] == [len(data), len(data)]


def test_personal_data_is_left_out_unless_requested() -> None:
    data = built.ghost()
    default = msgspec.json.encode(built.log_of(data)[0].settings)  # type: ignore[attr-defined]
    personal = msgspec.json.encode(built.log_of(data, personal=True)[0].settings)  # type: ignore[attr-defined]
    mii, profile = b"MII!".hex().encode(), b"profile-profile-".hex().encode()
    for secret in (b"MII!", mii, b"profile-", profile, b"region", b"miiName"):
        assert secret not in default
    for secret in (mii, profile, b'"region":36', b'"miiName"'):
        assert secret in personal
    header = Mk8Reader().read(data).header
    assert (header.mii, header.profile, header.region) == (None, None, None)


def test_body_without_outer_header_or_without_replay_part() -> None:
    bare = built.ghost(outer=False)
    assert diagnostics(built.log_of(bare)) == []
    assert built.log_of(bare)[0].end_offset == BODY_BYTES
    header_only = built.header(BODY_BYTES)
    events = built.log_of(header_only)
    assert diagnostics(events) == [("no_replay", BODY_BYTES)]
    assert laps(events) == list(built.LAPS)
    assert isinstance(events[-1], GameEnd)


def test_seven_laps_are_found_at_our_offsets_and_at_the_wikis() -> None:
    seven = (11501, 10250, 10260, 10270, 10280, 10290, 10300)
    for lap_offsets in (LAP_OFFSETS, WIKI_LAP_OFFSETS):
        events = built.log_of(built.header(BODY_BYTES, seven, lap_offsets))
        assert laps(events) == list(seven)
        assert diagnostics(events) == [("no_replay", BODY_BYTES)]


def test_laps_that_do_not_add_up_are_kept_with_a_diagnostic() -> None:
    data = patched(built.header(BODY_BYTES), 0x330 + 4, "H", 999)
    events = built.log_of(data)
    assert laps(events) == [32999, 20317, 30866]
    assert diagnostics(events)[0] == ("lap_sum", 0x36C)


def test_unknown_ids_have_no_name_and_an_impossible_date_is_left_out() -> None:
    data = patched(built.header(BODY_BYTES), 0x17C, "I", 200)
    data = patched(data, 0x190, "I", 9)
    data = patched(data, 0x010, "I", 13)
    settings = payload(built.log_of(data)[0])["settings"]
    assert settings["track"] == {"id": 200}
    assert settings["ccClass"] == 9
    assert "cc" not in settings
    assert "recordedAt" not in settings


def test_invalid_total_time_is_left_out() -> None:
    data = patched(built.header(BODY_BYTES), 0x36C, "HBxH", 1, 60, 0)
    end = built.log_of(data)[-1]
    assert isinstance(end, GameEnd)
    assert (end.duration_seconds, dict(end.values)) == (None, {})


def test_wrong_checksums_are_warnings_unless_strict() -> None:
    sections_of = built.some_sections(3)
    broken = sections_of[1][:40] + bytes([sections_of[1][40] ^ 1]) + sections_of[1][41:]
    data = built.ghost(built.replay_part([sections_of[0], broken, sections_of[2]]))
    files = {
        0x38: patched(data, 0x38, "I", 7),
        0x48 + 0x2A2: built.with_outer(patched(data, 0x48 + 0x2A2, "H", 7)[0x48:]),
        PART_OFFSET: built.with_outer(patched(data, PART_OFFSET, "I", 7)[0x48:]),
    }
    for offset, file in files.items():
        assert ("checksum", offset) in diagnostics(built.log_of(file))
        with pytest.raises(FieldError):
            built.log_of(file, strict=True)
    events = built.log_of(data)
    assert [event.values["crcOk"] for event in of_kind(events, "section")] == [True, False, True]
    assert [code for code, _ in diagnostics(events)] == ["checksum"]
    with pytest.raises(FieldError, match="section 1"):
        built.log_of(data, strict=True)
    assert built.log_of(built.ghost(), strict=True) == built.log_of(built.ghost())


def test_section_whose_sizes_do_not_add_up_has_no_sizes() -> None:
    good = built.section([2, 64, None])
    part = built.replay_part([good, good + b"\0", good[:9]], subsections=3)
    events = built.log_of(built.ghost(part))
    assert ["sizes" in event.values for event in of_kind(events, "section")] == [True, False, False]
    assert [code for code, _ in diagnostics(events)] == ["checksum", "section_sizes"] * 2


DAMAGE = {
    "no sections": (0x5C, "I", 0),
    "huge number of sections": (0x5C, "I", 1 << 30),
    "more sections than the limit": (0x5C, "I", MAX_SECTIONS + 1),
    "more sections than in the table": (0x5C, "I", 4000),
    "no blocks": (0x68, "I", 0),
    "more blocks than the limit": (0x68, "I", MAX_BLOCKS + 1),
    "wrong number of blocks": (0x68, "I", 2),
    "no subsections": (0x10, "I", 0),
    "too many subsections": (0x10, "I", 33),
    "first block inside the tables": (0x04, "I", 0x90),
    "first block after the end of the file": (0x04, "I", 1 << 31),
    "data ends before it begins": (0x58, "I", 0),
    "more data than the limit": (0x58, "I", MAX_IMAGE_BYTES + (1 << 20)),
    "data of another size": (0x58, "I", 60000),
    "sections not ascending": (INFO_BYTES + 4, "I", 1),
    "section after the end of the data": (INFO_BYTES + 4, "I", 1 << 31),
    "blocks not ascending": (INFO_BYTES + 4 * 20 + 4, "I", 0),
    "block after the end of the file": (INFO_BYTES + 4 * 20 + 4, "I", 1 << 30),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_wrong_counts_and_offsets_lose_only_the_sections(damage: str) -> None:
    at, code, value = DAMAGE[damage]
    events = built.log_of(patched(built.ghost(outer=False), BODY_BYTES + at, code, value))
    assert of_kind(events, "section") == []
    assert [c for c, _ in diagnostics(events)] == ["replay_damaged"]
    assert laps(events) == list(built.LAPS)
    start, end = events[0], events[-1]
    assert isinstance(start, GameStart)
    assert start.settings.replay is None
    assert isinstance(end, GameEnd)


def test_truncated_header_is_rejected() -> None:
    data = built.ghost()
    for length in [*range(0x60), *range(0x60, PART_OFFSET, 61)]:
        with pytest.raises(FormatError) as caught:
            built.log_of(data[:length])
        assert isinstance(caught.value, WrongFormat if length < 4 else FramingError)
        assert caught.value.offset <= length


def test_other_files_of_the_game_and_of_other_games_are_rejected() -> None:
    data = built.ghost()
    for magic, words in ((b"CTR0", "MKTV"), (b"0GTC", "Deluxe")):
        with pytest.raises(Unsupported, match=words):
            built.log_of(magic + data[4:])
    with pytest.raises(WrongFormat):
        built.log_of(b"RIFF" + data[4:], f"{built.FILE_NAME}.dat")
    with pytest.raises(FramingError):
        built.log_of(data[:0x48] + b"save" + data[0x4C:])


def test_unusual_file_name_gives_a_diagnostic() -> None:
    assert diagnostics(built.log_of(built.ghost(), "ghost.dat")) == [("file_name", 0)]
    assert diagnostics(built.log_of(built.ghost(), f"{built.FILE_NAME.upper()}.DAT")) == []
    assert diagnostics(built.log_of(built.ghost(), "")) == []


def test_sniff() -> None:
    data = built.ghost()
    name = f"{built.FILE_NAME}.dat"
    assert sniff(data[:0x500], len(data), name) == sniff(data[0x48:0x500], None, "") == "yes"
    assert sniff(b"CTR0", 4, "") == sniff(b"0GTC", 4, "") == "yes"
    assert sniff(b"", 0, name) == sniff(b"RIFF" + data[4:], len(data), name) == "no"


def test_unpacking_stops_at_the_work_limit() -> None:
    blocks = bombs()["copies of three bytes"]
    fake = [bytes(BLOCK_BYTES)] * len(blocks)
    events = built.log_of(built.ghost(built.replay_part(fake, 32, blocks)))
    assert isinstance(events[-1], GameEnd)
    assert 0 < len(of_kind(events, "section")) < len(blocks)
    messages = [event.message for event in events if isinstance(event, Diagnostic)]
    assert len([message for message in messages if "more work" in message]) == 1


def test_units_that_are_not_text_are_reported() -> None:
    at = OUTER_BYTES + PLAYER_NAME_OFFSET
    events = built.log_of(patched(built.ghost(), at, "2H", 0xD83D, 0x41), f"{built.FILE_NAME}.dat")
    assert ("bad_text", at) in diagnostics(events)
    assert "bad_text" not in dict(diagnostics(built.log_of(built.ghost(), f"{built.FILE_NAME}.dat")))
