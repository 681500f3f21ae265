"""Each file of the data folder against its expected values, and the bad ones against a table of outcomes.

Some values of the two public tools are not compared: those in wording of their own (`4.0 / 4.1 / 4.2`, names of
countries and regions), and the version of games before 4, on which they disagree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slpstream.formats.mk8.file_name import FileName, parse_file_name
from slpstream.formats.mk8.header import BODY_BYTES, OUTER_BYTES
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.formats.mk8.sections import Sections
from slpstream.formats.mk8.times import RaceTime
from slpstream.model.errors import FormatError
from slpstream.model.events import Diagnostic, GameEnd, GameStart
from tests.formats.logs import diagnostics, log_of, of_kind
from tests.project import IN_CI
from tests.replays import SHARED

FOLDER = SHARED / "mk8"

REJECTED = {
    "bad/short.dat": ("framing", 48),
    "bad/mktv.dat": ("unsupported", 0),
    "bad/deluxe.dat": ("unsupported", 0),
}
"""The code and the offset of the error for each rejected file."""

DAMAGED = {
    "bad/bad_outer_crc.dat": ([("checksum", 0x38)], 30),
    "bad/bad_replay_crc.dat": ([("checksum", 0x448)], 30),
    "bad/bad_mii_crc.dat": ([("checksum", 0x48 + 0x2A2)], 30),
    "bad/yaz0_bomb.dat": ([("replay_damaged", 1484)], 0),
    "bad/yaz0_truncated.dat": ([("size_mismatch", 0x50), ("replay_damaged", 90632)], 27),
    "bad/section_count_huge.dat": ([("replay_damaged", 0x448 + 0x5C)], 0),
    "bad/header_only.dat": ([("size_mismatch", 0x50), ("no_replay", 0x448)], 0),
    "mk8_header_stub_0x400.bin": ([("size_mismatch", 8), ("no_replay", 0x400)], 0),
}
"""The diagnostics with their offsets, and the number of section events, for each damaged file that is read."""

ORACLE_WARNINGS = {"outer_crc": 0x38, "replay_crc": OUTER_BYTES + BODY_BYTES}
"""The offset of our `checksum` diagnostic for each warning of the oracle."""


@cache
def expected() -> dict[str, Any]:
    path = FOLDER / "expected.json"
    if not path.is_file():
        if IN_CI:
            raise FileNotFoundError(path)
        return {}
    values: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return values


def decoded() -> list[str]:
    return [name for name, values in expected().items() if "decoded" in values]


def existing(names: Iterable[str]) -> list[str]:
    """The files that are there: all or none."""
    return [name for name in names if (FOLDER / name).is_file()]


def time(value: RaceTime) -> dict[str, int]:
    return {"m": value.minutes, "s": value.seconds, "ms": value.milliseconds}


def name_values(name: FileName | None) -> dict[str, Any] | None:
    if name is None:
        return None
    same = ("kind", "number", "track", "character", "variant", "mii_weight", "kart", "wheels", "glider")
    return {
        **{key: getattr(name, key) for key in (*same, "player_name", "motion", "layout")},
        "total": time(name.total),
        "laps": [time(lap) for lap in name.laps],
        "flag": name.country,
    }


def replay_values(sections: Sections | None) -> dict[str, Any] | None:
    if sections is None:
        return None
    info = sections.info
    listed = [sections.section(index) for index in range(len(sections))]
    return {
        "crc": f"{info.crc:08x}",
        "crc_computed": f"{info.computed_crc:08x}",
        "first_yaz0": info.first,
        "unk408": info.unknown_08,
        "unk40c": info.unknown_0c,
        "subsections": info.subsections,
        "subsections_repeat": info.subsections_again,
        "unk418": info.unknown_18,
        "unk41c": info.unknown_1c,
        "virtual_end": info.image_end,
        "sections": info.sections,
        "unk460": info.unknown_60,
        "unk464": f"{info.unknown_64:08x}",
        "blocks": info.blocks,
        "section_offsets": list(info.section_offsets),
        "block_offsets": list(info.block_offsets),
        "block_sizes": list(info.block_sizes),
        "section_list": [
            {
                "size": section.size_bytes,
                "crc_ok": section.crc_ok,
                "raw_sizes": list(section.raw_sizes),
                "absent_marker": section.absent_marker,
                "absent": [i for i, size in enumerate(section.sizes or ()) if size is None],
            }
            for section in listed
        ],
    }


def oracle_values(path: Path) -> dict[str, Any]:
    """A file's values under the oracle's names."""
    data = path.read_bytes()
    recording = Mk8Reader(name=path.name, personal=True).read(data)
    header, outer, at = recording.header, recording.outer, recording.body_offset
    drivers = [{field: getattr(d, field) for field in d.__struct_fields__} for d in header.drivers]
    wrong = [event.offset for event in recording.head if isinstance(event, Diagnostic) and event.code == "checksum"]
    moment = ("year", "month", "day", "weekday", "hour", "minute", "second")
    values: dict[str, Any] = {
        "warnings": [warning for warning, offset in ORACLE_WARNINGS.items() if offset in wrong],
        "has_header": outer is not None,
        "version_raw": header.version_raw,
        "payload_size": header.payload_size,
        "body_size": header.body_size,
        "recorded": {field: getattr(header, field) for field in moment},
        "drivers": drivers,
        "race": {
            "track": header.track,
            "online": header.online,
            "mode": header.mode,
            "unk188": header.unknown_188,
            "unk18c": header.unknown_18c,
            "cc": header.cc,
            "mirror": header.mirror,
            "team": header.team,
            "drivers": header.driver_count,
        },
        "mii_crc": f"{header.mii_crc:04x}",
        "mii_crc_computed": f"{header.computed_mii_crc:04x}",
        "mii_name": header.mii_name,
        "player_name": header.player_name,
        "country": header.country,
        "region": header.region,
        "total": time(header.total),
        "laps": [time(lap) for lap in header.laps],
        "lap6_alt_raw": data[at + 0x378 : at + 0x384].hex(),
        "laps_used": [lap.total_milliseconds for lap in header.driven_laps],
        "total_ms": header.total.total_milliseconds,
        "replay": replay_values(recording.sections),
    }
    if outer is not None:
        values["header"] = {
            "version": outer.version,
            "file_size": outer.file_size,
            "crc": f"{outer.crc:08x}",
            "crc_computed": f"{outer.computed_crc:08x}",
        }
    return values


@pytest.mark.parametrize("name", decoded())
def test_values_match_the_expected_file(name: str) -> None:
    values = expected()[name]
    data = (FOLDER / name).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (values["size"], values["sha256"])
    assert name_values(parse_file_name(name)) == values["filename"]
    assert oracle_values(FOLDER / name) == values["decoded"]
    if not name.startswith("bad/"):
        check_strict(data, [])


@pytest.mark.parametrize("name", [name for name in decoded() if "reference" in expected()[name]])
def test_values_match_public_tools(name: str) -> None:
    events = log_of(Mk8Reader(name=name), (FOLDER / name).read_bytes())
    start, end = events[0], events[-1]
    assert isinstance(start, GameStart)
    assert isinstance(end, GameEnd)
    found, theirs = start.settings, expected()[name]["reference"]["mk8leaderboards"]
    driver = found.drivers[0]
    laps = [lap.values["milliseconds"] for lap in of_kind(events, "lap")]
    assert {
        "track": found.track.id,
        "track_name": found.track.name,
        "engine": f"{found.cc}cc",
        "mode": found.mode.id,
        "character": driver.character.id,
        "variant": driver.variant,
        "mii_weight": driver.mii_weight.id,
        "kart": found.vehicle.kart.id,
        "wheels": found.vehicle.wheels.id,
        "glider": found.vehicle.glider.id,
        "player_name": found.player.name,
        "mii_name": found.player.name,
        "total": spelled(end.values["totalMilliseconds"]),
        "laps": [spelled(lap) for lap in laps],
    } == {key: value for key, value in theirs.items() if key not in ("version", "date", "country", "subregion")}
    year, month, day, hour, minute, second = theirs["date"]
    assert found.recorded_at == f"{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    assert found.player.country.name == "US"


def spelled(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 60}:{seconds % 60:02}.{rest:03}"


@pytest.mark.parametrize("name", [*existing(REJECTED), *existing(DAMAGED)])
def test_damaged_file_has_its_outcome(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    if name in REJECTED:
        with pytest.raises(FormatError) as caught:
            Mk8Reader(name=name).read(data)
        assert (caught.value.code, caught.value.offset) == REJECTED[name]
        return
    expected_diagnostics, count = DAMAGED[name]
    events = log_of(Mk8Reader(), data)
    assert diagnostics(events) == expected_diagnostics
    assert [event.values["crcOk"] for event in of_kind(events, "section")] == [True] * count
    start, end = events[0], events[-1]
    assert isinstance(start, GameStart)
    assert isinstance(end, GameEnd)
    assert (start.settings.track.id, end.values["totalMilliseconds"]) == (63, 83216)
    check_strict(data, [offset for code, offset in expected_diagnostics if code == "checksum"])


def check_strict(data: bytes, wrong: list[int]) -> None:
    """Check that a strict reader rejects a file with a wrong checksum, and no other."""
    reader = Mk8Reader(strict=True)
    reader.feed(data)
    reader.finish()
    assert ([reader.failure.offset] if reader.failure else []) == wrong
