"""Copies of replays with other names and another start time, re-read by this project and by slippi-js."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.formats.interface import Edits
from slpstream.formats.slippi import container
from slpstream.formats.slippi.edited import as_another_game, edited
from slpstream.formats.slippi.text import decode_name, encode_name
from slpstream.model.errors import FormatError
from slpstream.model.events import Diagnostic, Frame, GameEnd, GameStart, Metadata, first_of
from tests.formats.slippi.built import Built
from tests.formats.slippi.logs import events_of
from tests.marks import release
from tests.oracles.slippi_js import needs_slippi_js, slippi_js
from tests.replays import NOT_REPLAYS, existing, replay, replays

STARTED_MS = 1_700_000_000_000
STARTED = "2023-11-14T22:13:20Z"
EDITS = Edits({0: "Zain's", 1: "C9 | Mang0 & friends"}, STARTED_MS, 99)
CUT = "C9 | Mang0 & fr"
UNREADABLE = NOT_REPLAYS | {"slippc__crashes__crash7", "slippi-js__test__test_e8309d"}
"""Not replays, one with a Game Start larger than that of any version, and one of an alpha version."""


def copy_of(data: bytes, edits: Edits = EDITS) -> bytes:
    return b"".join(edited(data, edits))


def start_of(data: bytes) -> GameStart:
    start = first_of(GameStart, events_of(data))
    assert start is not None
    return start


def metadata_of(data: bytes) -> dict[str, Any]:
    found = first_of(Metadata, events_of(data))
    assert found is not None
    return dict(found.metadata)


def has_display_names(data: bytes) -> bool:
    """Since 3.9.0."""
    return tuple(map(int, start_of(data).settings.slp_version.split("."))) >= (3, 9, 0)


@pytest.mark.parametrize(
    "path", [path for path in replays() if path.stem not in UNREADABLE], ids=lambda path: path.stem
)
def test_copy_keeps_the_game(path: Path) -> None:
    data = path.read_bytes()
    copy = copy_of(data)
    before, after = events_of(data), events_of(copy)
    # Offsets are those of the original too: nothing before the metadata becomes longer.
    assert [e for e in after if isinstance(e, Frame)] == [e for e in before if isinstance(e, Frame)]
    if container.is_finished(data):
        assert first_of(GameEnd, after) == first_of(GameEnd, before)
    names = {player.player_index: player.display_name for player in start_of(copy).settings.players}
    if has_display_names(data):
        assert {index: name for index, name in names.items() if index < 2} == {
            index: name for index, name in {0: "Zain's", 1: CUT}.items() if index in names
        }
    else:
        assert set(names.values()) == {""}
        assert metadata_of(copy)["players"]["0"]["names"]["netplay"] == "Zain's"
    assert metadata_of(copy)["startAt"] == STARTED
    assert container.is_finished(copy)


@pytest.mark.slow
@needs_slippi_js
@pytest.mark.parametrize(
    "name",
    [
        *("name_tags_1.3", "in_progress_3.18", "rollbacks_items_3.18"),
        *existing("v3.18"),
        *release(*existing("FodPlatforms", "nintendont")),
    ],
)
def test_slippi_js_reads_the_same_frames_and_the_new_names(tmp_path: Path, name: str) -> None:
    data = replay(name)
    original, copied = tmp_path / "original.slp", tmp_path / "copied.slp"
    original.write_bytes(data)
    copied.write_bytes(copy_of(data))
    with slippi_js() as oracle:
        before, after = oracle.ask(original), oracle.ask(copied)
    assert before["frames"]
    assert after["frames"] == before["frames"]
    assert after["metadata"]["startAt"] == STARTED
    if has_display_names(data):
        shown = {player["playerIndex"]: player["displayName"] for player in after["settings"]["players"]}
        assert shown[1] == CUT


def test_metadata_is_made_when_it_is_missing_and_the_raw_length_filled() -> None:
    data = Built((3, 18, 0)).frames(-123, -100).end().so_far()
    assert not container.is_finished(data)
    copy = copy_of(data)
    assert metadata_of(copy) == {"lastFrame": 99, "startAt": STARTED, "players": {}, "playedOn": "nintendont"}
    assert container.raw_length(copy[: container.HEADER_BYTES]) == len(data) - container.HEADER_BYTES


def test_event_that_breaks_off_is_left_out() -> None:
    whole = Built((3, 18, 0)).frames(-123, -100).so_far()
    copy = copy_of(whole[:-3])
    cut = [event for event in events_of(whole[:-3]) if isinstance(event, Frame)]
    assert [event.number for event in cut] == list(range(-123, -99))
    assert [event.number for event in events_of(copy) if isinstance(event, Frame)] == list(range(-123, -99))
    codes = [[e.code for e in events_of(data) if isinstance(e, Diagnostic)] for data in (whole[:-3], copy)]
    assert "truncated" in codes[0]
    assert "truncated" not in codes[1]
    assert metadata_of(copy)["startAt"] == STARTED


def test_other_metadata_stays() -> None:
    data = Built((3, 18, 0)).frames(-123, -100).end().closed()
    before, after = metadata_of(data), metadata_of(copy_of(data, Edits(started_at_ms=STARTED_MS)))
    assert after == {**before, "startAt": STARTED}


def test_without_edits_the_copy_is_the_original() -> None:
    data = Built((3, 18, 0)).frames(-123, -100).end().closed()
    assert copy_of(data, Edits()) == data


def test_another_game_differs_in_its_random_seed_and_start() -> None:
    data = Built((3, 18, 0)).frames(-123, -100).end().closed()
    copy = as_another_game(data, random_seed=7, started_at=datetime.fromtimestamp(STARTED_MS / 1000, UTC))
    before, after = start_of(data), start_of(copy)
    assert after.settings == msgspec.structs.replace(before.settings, random_seed=7)
    assert after.game_id != before.game_id
    assert metadata_of(copy) == {**metadata_of(data), "startAt": STARTED}
    assert len(copy) == len(data)


def test_other_files_are_refused() -> None:
    for data in (
        b"",
        b"text",
        container.header(0),
        container.header(0) + b"\x35\x04\x36\x00\x10",
        Built().so_far()[:60],
    ):
        with pytest.raises(FormatError):
            copy_of(data)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Mang0", "Mang0"),
        ("C9 | Mang0 & friends", CUT),
        ("Zaïn Łódź", "Zain ?odz"),
        ("ドンキー", "ドンキー"),
        ("a\nb\0c", "a b?c"),
        ("🎮 Fox", "? Fox"),
        ("", ""),
    ],
)
def test_names_as_the_game_stores_them(name: str, shown: str) -> None:
    field = encode_name(name, 31)
    assert len(field) == 31
    assert field[-1] == 0
    assert decode_name(field) == shown


def test_signs_are_full_width_and_letters_are_not() -> None:
    assert encode_name("A#1", 31).rstrip(b"\0") == b"A\x81\x941"


@pytest.mark.parametrize("name", ["ranked_3.14", "names_3.9", *existing("FodPlatforms", "unranked_game1", "v3.12")])
def test_names_round_trip(name: str) -> None:
    data = replay(name)
    names = {player.player_index: player.display_name for player in start_of(data).settings.players}
    assert any(names.values())
    copy = copy_of(data, Edits(names))
    assert start_of(copy).game_id == start_of(data).game_id


@given(st.text(max_size=40))
def test_any_name_fits(name: str) -> None:
    field = encode_name(name, 31)
    assert len(field) == 31
    assert len(decode_name(field)) <= 15
    assert decode_name(encode_name(decode_name(field), 31)) == decode_name(field).rstrip()
