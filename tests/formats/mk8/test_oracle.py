"""The log of each file of the data folder against its expected values, and the bad ones against a table of outcomes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
import pytest

from slpstream.formats.mk8.header import BODY_BYTES, OUTER_BYTES
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.model.errors import FormatError
from slpstream.model.events import GameEnd, GameStart
from tests.formats.logs import diagnostics, ids_of, log_of, of_kind, payload
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
NO_DRIVER = 4
VEHICLE = ("kart", "wheels", "glider")


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


def milliseconds(time: dict[str, int]) -> int:
    return 60_000 * time["m"] + 1000 * time["s"] + time["ms"]


def file_name_of(theirs: dict[str, Any]) -> dict[str, Any]:
    """The oracle's values of a file name under our names."""
    same = ("kind", "number", "track", "character", "variant")
    laps = [milliseconds(lap) for lap in theirs["laps"]]
    return {
        **{key: theirs[key] for key in same},
        "miiWeight": theirs["mii_weight"],
        "vehicle": {key: theirs[key] for key in VEHICLE},
        "totalMilliseconds": milliseconds(theirs["total"]),
        "laps": [lap for lap in laps if lap not in (0, 599_999)],
        "playerName": theirs["player_name"],
        "country": theirs["flag"],
        "motion": bool(theirs["motion"]),
    }


def settings_of(theirs: dict[str, Any]) -> dict[str, Any]:
    """The oracle's values of a file's header under our names."""
    race, replay = theirs["race"], theirs["replay"]
    names = {"miiWeight": "mii_weight"}
    drivers = [driver for driver in theirs["drivers"] if driver["cpu"] != NO_DRIVER]
    settings = {
        "version": {"body": theirs["version_raw"]},
        "track": race["track"],
        "ccClass": race["cc"],
        "mode": race["mode"],
        "mirror": bool(race["mirror"]),
        "online": bool(race["online"]),
        "drivers": [
            {key: driver[names.get(key, key)] for key in (*VEHICLE, "character", "variant", "miiWeight", "cpu", "team")}
            for driver in drivers
        ],
        "vehicle": {key: drivers[0][key] for key in VEHICLE},
        "player": {"name": theirs["player_name"], "country": theirs["country"]},
        "recordedAt": "{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}".format(**theirs["recorded"]),
    }
    if replay is not None:
        settings["replay"] = {key: replay[key] for key in ("sections", "subsections", "blocks")}
        settings["replay"]["dataBytes"] = replay["virtual_end"] - replay["first_yaz0"]
    return settings


def section_of(theirs: dict[str, Any]) -> dict[str, Any]:
    sizes = [None if i in theirs["absent"] else size for i, size in enumerate(theirs["raw_sizes"])]
    return {"sizeBytes": theirs["size"], "crcOk": theirs["crc_ok"], "sizes": sizes}


@pytest.mark.parametrize("name", decoded())
def test_log_matches_the_expected_file(name: str) -> None:
    values = expected()[name]
    theirs = values["decoded"]
    data = (FOLDER / name).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (values["size"], values["sha256"])
    events = log_of(Mk8Reader(name=name, personal=True), data)
    settings = payload(events[0])["settings"]
    wanted = settings_of(theirs)
    assert ids_of(settings, wanted) == wanted
    assert (settings["player"]["region"], settings["player"].get("miiName")) == (theirs["region"], theirs["mii_name"])
    if values["filename"] is not None:
        wanted = file_name_of(values["filename"])
        assert ids_of(settings["fileName"], wanted) == wanted
    laps = [lap.values["milliseconds"] for lap in of_kind(events, "lap")]
    total = payload(events[-1])["totalMilliseconds"]
    assert (laps, total) == (theirs["laps_used"], theirs["total_ms"])
    sections = [] if theirs["replay"] is None else theirs["replay"]["section_list"]
    wire = [payload(section) for section in of_kind(events, "section")]
    assert [{key: one[key] for key in ("sizeBytes", "crcOk", "sizes")} for one in wire] == [*map(section_of, sections)]
    wrong = [offset for code, offset in diagnostics(events) if code == "checksum"]
    assert [warning for warning, offset in ORACLE_WARNINGS.items() if offset in wrong] == theirs["warnings"]
    if not name.startswith("bad/"):
        check_strict(data, [])
    if "reference" in values:  # a public tool
        tool = values["reference"]["mk8leaderboards"]
        assert (settings["track"]["name"], f"{settings['cc']}cc") == (tool["track_name"], tool["engine"])
        assert [spelled(time) for time in (total, *laps)] == [tool["total"], *tool["laps"]]
        assert settings["recordedAt"] == "{}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*tool["date"])


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
