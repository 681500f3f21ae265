"""The Gecko list: found in a file however it is split, walked to its end, and compared by its fingerprint."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.api import open_replay
from slpstream.formats.name_tables import read_table
from slpstream.formats.slippi import gecko
from slpstream.formats.slippi.gecko import code_list, read_code_list, walk
from slpstream.formats.slippi.names import FOLDER
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.errors import FieldError, FormatError
from slpstream.model.setup import CodeList
from tests.formats.slippi.built import Built
from tests.formats.slippi.gecko_lists import INSERT, SERIAL, STRING, WRITE_32, code, hooks
from tests.replays import SLP, needs_shared, replays

LIST = code(0x800C9A44, INSERT, 3) + code(0x80068F30) + code(0x80001234, STRING, 13) + code(0x80400000, SERIAL)


def with_list(data: bytes, *, frames: int = 3) -> bytes:
    """A short game with a Gecko list."""
    game = Built()
    game.parts.append(game.writer.gecko_list(data))
    return game.frames(-123, -123 + frames - 1).end().closed()


def cut(data: bytes, *places: int) -> list[bytes]:
    ends = [*sorted(places), len(data)]
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def test_types_and_lengths() -> None:
    assert walk(LIST) == [
        (INSERT, 0x800C9A44, 32),
        (WRITE_32, 0x80068F30, 8),
        (STRING, 0x80001234, 24),
        (SERIAL, 0x80400000, 16),
    ]


def test_lowest_bit_of_the_type_belongs_to_the_address() -> None:
    assert walk(bytes.fromhex("0500000000000000")) == [(WRITE_32, 0x81000000, 8)]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (LIST[:-1], "ends in the middle"),
        (LIST[:4], "ends in the middle"),
        (bytes.fromhex("C2001234FFFFFFFF") + bytes(64), "ends in the middle"),
        (bytes.fromhex("06001234FFFFFFFF") + bytes(64), "ends in the middle"),
        (LIST + bytes.fromhex("2000000000000000"), "unknown type 0x20"),
        (code(0x80001234) * 4097, "more than 4096 codes"),
    ],
)
def test_damaged_list(data: bytes, what: str) -> None:
    with pytest.raises(FieldError, match=what):
        walk(data)


def test_longest_list() -> None:
    data = code(0x80001234) * 4096
    assert code_list(data).count == 4096
    with pytest.raises(FieldError, match="more than 4096 codes"):
        read_code_list([with_list(data + code(0x80001234))])


def test_fingerprint_ignores_the_bodies() -> None:
    addresses = [0x800C9A44, 0x800998A4]
    assert code_list(hooks(addresses)).fingerprint == code_list(hooks(addresses, value=7)).fingerprint
    assert code_list(hooks(addresses)).fingerprint != code_list(hooks(addresses[::-1])).fingerprint
    assert code_list(hooks(addresses)).fingerprint != code_list(hooks(addresses[:1])).fingerprint


def test_set_is_on_when_all_its_addresses_are_there() -> None:
    ucf = [0x800C9A44, 0x800998A4, 0x800908F4]
    later = [*ucf, 0x800D65EC, 0x8006B460, 0x8008E54C, 0x8009A0B8, 0x80093294]
    assert [each.name for each in code_list(hooks(ucf[:2])).sets] == []
    assert [each.name for each in code_list(hooks(ucf)).sets] == ["UCF 0.8"]
    assert [each.name for each in code_list(hooks(reversed(later))).sets] == ["UCF 0.84"]


def test_each_known_set_has_a_family_and_addresses() -> None:
    for known in read_table(FOLDER, "code_sets", "sets")["rows"].values():
        assert known["family"] in gecko.families()
        assert known["addresses"]
        assert all(0x80000000 <= int(address, 16) < 0x81800000 for address in known["addresses"])


def test_list_is_found_however_the_file_is_split() -> None:
    data = with_list(LIST * 40)
    expected = code_list(LIST * 40)
    assert expected.count == 160
    assert read_code_list([data]) == expected
    assert read_code_list(data[i : i + 1] for i in range(len(data))) == expected
    places = random.Random(1)
    for _ in range(20):
        assert read_code_list(cut(data, *(places.randrange(len(data)) for _ in range(8)))) == expected


def test_only_the_beginning_is_read() -> None:
    data = with_list(LIST, frames=200)
    taken: list[int] = []

    def chunks() -> Iterable[bytes]:
        for at in range(0, len(data), 512):
            taken.append(at)
            yield data[at : at + 512]

    assert read_code_list(chunks()) is not None
    assert taken[-1] < 4096


@pytest.mark.parametrize("length", [1, 511, 512, 513, 1536])
def test_reader_has_the_list(length: int) -> None:
    codes = bytes(i % 251 for i in range(length))
    reader = SlippiReader()
    reader.feed(with_list(codes))
    assert reader.gecko_list == codes


@pytest.mark.parametrize(
    "data",
    [
        Built((2, 0, 0)).frames(-123, -100).end().closed(),
        Built((3, 18, 0)).frames(-123, -100).end().closed(),
        with_list(LIST * 40)[:1500],
        with_list(LIST)[:3],
        b"",
    ],
    ids=["before 3.3", "no list", "breaks off", "magic", "empty"],
)
def test_replay_without_a_whole_list(data: bytes) -> None:
    assert read_code_list([data]) is None


def test_endless_list_is_abandoned() -> None:
    game = Built()
    event = bytearray(game.writer.gecko_list(bytes(512)))
    event[-1] = 0
    chunks = chain([game.so_far()], repeat(bytes(event)))
    assert read_code_list(chunks) is None


@given(st.data())
def test_damaged_files_give_a_list_or_a_format_error(data: st.DataObject) -> None:
    original = bytearray(with_list(LIST * 3))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(original) - 1))
        original[at] ^= 1 << data.draw(st.integers(0, 7))
    damaged = bytes(original[: data.draw(st.integers(0, len(original)))])
    place = data.draw(st.integers(0, len(damaged)))
    assert outcome([damaged]) == outcome(cut(damaged, place))


def outcome(chunks: Iterable[bytes]) -> CodeList | str | None:
    """The list, or the text of its error."""
    try:
        return read_code_list(chunks)
    except FormatError as error:
        return error.what


@given(st.binary(max_size=600))
def test_any_bytes_are_a_list_or_a_format_error(data: bytes) -> None:
    try:
        codes = walk(data)
    except FieldError:
        return
    assert sum(each.length_bytes for each in codes) == len(data)


def test_lists_of_replays_are_walked_to_their_end() -> None:
    found = 0
    for path in replays():
        reader = SlippiReader()
        reader.feed(path.read_bytes()[: 1 << 18])
        if reader.gecko_list is not None:
            assert sum(each.length_bytes for each in walk(reader.gecko_list)) == len(reader.gecko_list)
            found += 1
    assert found >= 3


@needs_shared
def test_games_of_one_build_have_one_fingerprint() -> None:
    def codes_of(name: str) -> CodeList:
        found = open_replay(SLP / f"{name}.slp").codes
        assert found is not None
        return found

    groups = [("FodPlatforms", "Whispy"), ("unranked_game1", "ranked_game1_tiebreak"), ("v3.12", "ics2"), ("v3.18",)]
    prints = [{codes_of(name).fingerprint for name in group} for group in groups]
    assert [len(group) for group in prints] == [1] * len(groups)
    assert len(set().union(*prints)) == len(groups)
    assert {each.name for each in codes_of("v3.18").sets} == {"UCF 0.84", "wobbling limit", "stealth mods"}
    assert {each.name for each in codes_of("geckoCodes").sets} == {"UCF 0.8", "wide screen", "stealth mods"}
