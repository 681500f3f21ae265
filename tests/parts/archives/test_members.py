"""Members of archives are the packed files, each archive is read once, and each problem is one line."""

from __future__ import annotations

import gzip
import io
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slpstream.api import messages, open_replay, preview_replay, read_game
from slpstream.model.errors import SourceError, Unreadable
from slpstream.parts.archives import streams
from slpstream.parts.archives.members import members
from slpstream.sources.packed import head_of_member, keep, read_packed
from slpstream.store import path_key
from slpstream.system.member_paths import member_path, path_text, shown_name
from tests.parts.archives.games import ENDINGS, GAMES, game, packed_once, read, written
from tests.parts.archives.packing import (
    COMPRESSED,
    KINDS,
    Block,
    Coder,
    blocks_7z,
    seven_zipped,
    tarred,
    zipped,
    zstd,
)
from tests.parts.archives.slpz_writer import Refused, pack
from tests.replays import replays


@pytest.mark.parametrize("kind", KINDS)
def test_members_are_the_files_that_were_packed(tmp_path: Path, kind: str) -> None:
    files = {**GAMES, "README.txt": b"no replay", "empty.slp": b"", "big.slp": game() + os.urandom(300_000)}
    path = written(tmp_path, kind, KINDS[kind](files))
    del files["README.txt"]
    assert read(path) == (files, [])


@pytest.mark.parametrize("kind", KINDS)
def test_member_is_read_by_name(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, KINDS[kind](GAMES))
    for name, data in reversed(GAMES.items()):
        plain = written(tmp_path, "plain.slp", data)
        member = f"{path}::{name}"
        assert open_replay(member).game_id == open_replay(plain).game_id
        assert [m.json() for m in messages(member)] == [m.json() for m in messages(plain)]
        assert preview_replay(member) == preview_replay(plain)
        assert read_game(Path(member)).start == read_game(plain).start
    with pytest.raises(Unreadable, match=f"{kind}::nowhere.slp: there is no such file in the archive"):
        open_replay(f"{path}::nowhere.slp")
    with pytest.raises(Unreadable, match="an archive: the replays in it are named"):
        open_replay(path)


SAMPLE = {path.name: path for path in replays() if path.stat().st_size < 140_000}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_replays_of_each_layout_come_back_from_every_kind(tmp_path: Path, kind: str) -> None:
    files = {name: path.read_bytes() for name, path in SAMPLE.items()}
    archive = written(tmp_path, kind, KINDS[kind](files))
    names = []
    for member in members(archive, ENDINGS):
        name = path_text(member.path).removeprefix(f"{archive}::")
        data = member.read()
        keep(member.path, data)  # as commands do
        assert data == read_packed(member.path) == files[name]
        names.append(name)
    assert names == list(files)


@pytest.mark.parametrize("ending", COMPRESSED)
def test_compressed_replays_are_the_replays(tmp_path: Path, ending: str) -> None:
    compared = 0
    for plain in SAMPLE.values():
        data = plain.read_bytes()
        try:
            packed = COMPRESSED[ending](data)
        except Refused:
            assert ending == ".slpz"
            continue
        compressed = written(tmp_path, f"{plain.stem}{ending}", packed)
        assert read_packed(compressed) == data
        archived = written(tmp_path, "a.zip", zipped({compressed.name: packed}, zipfile.ZIP_STORED))
        assert read(archived) == ({compressed.name: data}, [])
        compared += 1
    assert compared > len(SAMPLE) // 2
    one, small = written(tmp_path, f"small{ending}", COMPRESSED[ending](game())), written(tmp_path, "small.slp", game())
    assert [m.json() for m in messages(one)] == [m.json() for m in messages(small)]


def test_consecutive_streams_are_one_replay(tmp_path: Path) -> None:
    data = game()
    halves = data[:500], data[500:]
    for ending, compress in ((".slp.gz", gzip.compress), (".slp.zst", zstd)):
        path = written(tmp_path, f"a{ending}", b"".join(map(compress, halves)))
        assert [m.json() for m in messages(path)] == [m.json() for m in messages(written(tmp_path, "a.slp", data))], (
            ending
        )


def test_leading_zstd_frames_are_skipped(tmp_path: Path) -> None:
    """`pzstd` writes one in front of each piece."""
    skipped = struct.pack("<2L", 0x184D2A50, 4) + bytes(4)
    for data in (skipped + zstd(game()), skipped + zstd(game()[:500]) + skipped + zstd(game()[500:])):
        assert read(written(tmp_path, "a.zip", zipped({"a.slp.zst": data}))) == ({"a.slp.zst": game()}, [])


@pytest.mark.parametrize("padding", [1, 1000, 200_000])
def test_gzip_is_padded_with_zeros(tmp_path: Path, padding: int) -> None:
    data = gzip.compress(game()) + bytes(padding)
    again = data + gzip.compress(game(1))
    path = written(tmp_path, "a.zip", zipped({"a.slp.gz": data, "b.slp.gz": again}))
    assert read(path) == ({"a.slp.gz": game(), "b.slp.gz": game() + game(1)}, [])


def test_sparse_files_in_tar_are_one_problem_each(tmp_path: Path) -> None:
    """GNU tar writes further blocks with the offsets of holes after the header."""
    info = tarfile.TarInfo("holes.slp")
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 700
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[482] = 1
    header[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(header))[0]  # type: ignore[attr-defined]
    more = bytearray(b"x" * 512), bytearray(b"x" * 512)
    more[0][504], more[1][504] = 1, 0
    data = bytes(header) + more[0] + more[1] + bytes(1024) + tarred({"good.slp": game()})
    path = written(tmp_path, "a.tar", data)
    assert read(path) == ({"good.slp": game()}, ["holes.slp: it is a file with holes, which is not read"])
    path.write_bytes(data[:1000])
    assert read(path) == ({}, [f"{path}: the archive ends early"])


_LZMA = Coder(b"\3\1\1", bytes(5))
_BCJ2 = Coder(b"\3\3\1\x1b", inputs=4)
_AES = Coder(b"\6\xf1\7\1", b"\x13")


@pytest.mark.parametrize(
    ("coders", "bonds", "problem"),
    [
        ([_BCJ2], [], "it is compressed by BCJ2, which is not read"),
        ([_BCJ2, _LZMA, _LZMA, _LZMA], [(0, 1), (1, 2), (2, 3)], "it is compressed by BCJ2, which is not read"),
        (
            [_BCJ2, _LZMA, _LZMA, _LZMA, _AES, _AES, _AES, _AES],
            [(0, 1), (1, 2), (2, 3), (4, 4), (5, 5), (6, 6), (3, 7)],
            "it is encrypted",
        ),
    ],
)
def test_7z_block_of_several_streams_is_one_problem(
    tmp_path: Path, coders: list[Coder], bonds: list[tuple[int, int]], problem: str
) -> None:
    """7-Zip compresses programs by BCJ2, which has four packed streams."""
    streams = [b"a" * 10, b"b" * 11, b"c" * 12, b"d" * 13]
    programs = [Block(name, streams, 100, coders, bonds) for name in ("a.exe", "b.slp")]
    files = [Block(f"{number}.slp", [game(number)], len(game(number))) for number in range(3)]
    path = written(tmp_path, "a.7z", blocks_7z([files[0], programs[0], files[1], programs[1], files[2]]))
    assert read(path) == ({f"{i}.slp": game(i) for i in range(3)}, [f"b.slp: {problem}"])


def test_7z_block_without_output_is_damaged(tmp_path: Path) -> None:
    data = bytearray(blocks_7z([Block("a.slp", [game()], len(game()), [Coder(b"\3\3\1\x1b", inputs=2)])]))
    at = data.rindex(b"\3\3\1\x1b\2\1") + 5
    data[at] = 0
    start = struct.pack("<QQL", *struct.unpack_from("<2Q", data, 12), zlib.crc32(data[32 + len(game()) :]))
    data[8:32] = struct.pack("<L", zlib.crc32(start)) + start
    path = written(tmp_path, "a.7z", bytes(data))
    assert read(path) == ({}, [f"{path}: the header of the archive is damaged"])


def test_large_archive_in_a_compressed_one_is_one_problem(tmp_path: Path) -> None:
    info = tarfile.TarInfo("in.zip")
    info.size = (48 << 20) + 1
    path = written(tmp_path, "a.tar.gz", gzip.compress(info.tobuf() + bytes(info.size + 511) + tarred(GAMES)))
    line = "in.zip: an archive of more than 48 MiB in an archive, which is not read; unpack it first"
    assert read(path) == (GAMES, [line])


def test_large_archives_in_seekable_ones_are_read(tmp_path: Path) -> None:
    inner = zipped({**GAMES, "noise.bin": os.urandom(48 << 20)}, zipfile.ZIP_STORED)
    path = written(tmp_path, "a.zip", zipped({"in.zip": inner}, zipfile.ZIP_STORED))
    assert read(path) == ({f"in.zip::{name}": data for name, data in GAMES.items()}, [])


@pytest.mark.parametrize("outer", ["stored.zip", "deflated.zip", "a.tar.gz", "lzma2.7z"])
@pytest.mark.parametrize("inner", ["deflated.zip", "a.tar.gz", "lzma2.7z"])
def test_nested_archives_are_read_one_level_deep(tmp_path: Path, outer: str, inner: str) -> None:
    deepest = zipped({"x.slp": game()})
    packed = KINDS[inner]({**GAMES, "z.slpz": pack(game()), "deepest.zip": deepest})
    path = written(tmp_path, outer, KINDS[outer]({f"in/{inner}": packed, "last.slp": game(3)}))
    found, problems = read(path)
    expected = {f"in/{inner}::{name}": data for name, data in GAMES.items()}
    assert found == {**expected, f"in/{inner}::z.slpz": game(), "last.slp": game(3)}
    assert problems == [f"in/{inner}::deepest.zip: archives are read only one level deep"]
    member = f"{path}::in/{inner}::deeper/b.slp"
    plain = written(tmp_path, "plain.slp", GAMES["deeper/b.slp"])
    assert [m.json() for m in messages(member)] == [m.json() for m in messages(plain)]


def test_file_named_like_a_member_is_read_as_a_file(tmp_path: Path) -> None:
    written(tmp_path, "a.zip", zipped({"b.slp": game(1)}))
    real = written(tmp_path, "a.zip::b.slp", game(2))
    assert open_replay(real).game_id == open_replay(written(tmp_path, "c.slp", game(2))).game_id
    real.unlink()
    assert open_replay(real).game_id == open_replay(written(tmp_path, "c.slp", game(1))).game_id


def test_archive_with_the_separator_in_its_name_is_found(tmp_path: Path) -> None:
    path = written(tmp_path, "set::one.zip", zipped(GAMES))
    assert open_replay(f"{path}::deeper/b.slp").format == "slippi"
    with pytest.raises(SourceError, match=r"no such file or directory|file not found"):
        open_replay(tmp_path / "none.zip::b.slp")


@pytest.mark.parametrize("kind", ["deflated.zip", "plain.tar"])
def test_names_are_the_same_on_all_systems(tmp_path: Path, kind: str) -> None:
    """Windows would write backslashes, ignore case, and take `aux.slp` and names that end with dots to be others."""
    names = ("deeper/b.slp", "deeper/B.slp", "aux.slp", "dots../c.slp")
    files = {name: game(i) for i, name in enumerate(names)}
    path = written(tmp_path, kind, KINDS[kind](files))
    listed = [member.path for member in members(path, ENDINGS)]
    assert [path_text(each) for each in listed] == [f"{path}::{name}" for name in files]
    for (name, data), each in zip(files.items(), listed, strict=True):
        assert path_key(each) == path_key(member_path(path, name)) == os.fsencode(f"{path}::{name}")
        assert shown_name(path_key(each)) == shown_name(os.fsencode(each)) == f"{kind}::{name}"
        expected = open_replay(written(tmp_path, "plain.slp", data)).game_id
        for spelling in (each, os.fsdecode(path_key(each)), f"{path}::{name}".replace("/", os.sep)):
            assert open_replay(spelling).game_id == expected
    backslashes = f"{path}::deeper\\b.slp"
    assert open_replay(backslashes).game_id == open_replay(f"{path}::deeper/b.slp").game_id
    with pytest.raises(Unreadable) as missing:
        open_replay(f"{path}::deeper/none.slp")
    assert str(missing.value).startswith(f"{path}::deeper/none.slp: ")


def test_names_of_tar_are_those_of_their_files(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tar", tarred({"./a.slp": game(), "./x//y/./b.slp": game(1)}))
    assert list(read(path)[0]) == ["a.slp", "x/y/b.slp"]
    assert open_replay(f"{path}::x/y/b.slp").format == "slippi"


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_in_tar_are_read(tmp_path: Path, format: int) -> None:
    name = "/".join(["folder" * 9] * 9) + "/a.slp"
    assert list(read(written(tmp_path, "a.tar", tarred({name: game()}, format)))[0]) == [name]


def _odd_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in ("/etc/a.slp", "../b.slp", "x/../../c.slp", "C:/d.slp", "good.slp"):
            archive.writestr(name, game())
        link = zipfile.ZipInfo("link.slp")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("good.slp", game(1))
    return out.getvalue()


def _odd_tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("/etc/a.slp", "../b.slp", "x/../../c.slp", "C:/d.slp", "good.slp"):
            info = tarfile.TarInfo(name)
            info.size = len(game())
            archive.addfile(info, io.BytesIO(game()))
        for name, kind in (("link.slp", tarfile.SYMTYPE), ("hard.slp", tarfile.LNKTYPE), ("tty.slp", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("good.slp")
        info.size = len(game(1))
        archive.addfile(info, io.BytesIO(game(1)))
    return out.getvalue()


@pytest.mark.parametrize(("name", "make"), [("odd.zip", _odd_zip), ("odd.tar", _odd_tar)])
def test_names_links_and_duplicates_are_one_problem_each(tmp_path: Path, name: str, make: object) -> None:
    assert callable(make)
    found, problems = read(written(tmp_path, name, make()))
    assert found == {"good.slp": game()}
    links = [problem for problem in problems if "a link or a device" in problem]
    assert [problem.split(":")[0] for problem in links] == (
        ["link.slp"] if name == "odd.zip" else ["link.slp", "hard.slp", "tty.slp"]
    )
    assert sum("outside the archive" in problem for problem in problems) == 2
    assert sum("leads out" in problem for problem in problems) == 2
    assert sum("another file of this name" in problem for problem in problems) == 1


def test_encrypted_members_are_one_problem_each(tmp_path: Path) -> None:
    data = bytearray(zipped(GAMES))
    first = data.index(b"PK\x01\x02")
    data[first + 8] |= 1
    found, problems = read(written(tmp_path, "a.zip", bytes(data)))
    assert (list(found), problems) == (list(GAMES)[1:], ["a.slp: it is encrypted"])
    whole = written(tmp_path, "a.7z", seven_zipped(GAMES, password="secret"))
    assert read(whole) == ({}, [f"{name}: it is encrypted" for name in GAMES])
    hidden = written(tmp_path, "b.7z", seven_zipped(GAMES, password="secret", header_encryption=True))
    assert read(hidden) == ({}, [f"{hidden}: it is encrypted"])


def test_damaged_members_are_one_problem_each(tmp_path: Path) -> None:
    data = bytearray(zipped(GAMES))
    data[60] ^= 0xFF
    found, problems = read(written(tmp_path, "a.zip", bytes(data)))
    assert list(found) == list(GAMES)[1:]
    assert [problem.split(":")[0] for problem in problems] == ["a.slp"]
    stored = bytearray(zipped(GAMES, zipfile.ZIP_STORED))
    stored[100] ^= 0xFF
    found, problems = read(written(tmp_path, "b.zip", bytes(stored)))
    assert (list(found), problems) == (list(GAMES)[1:], ["a.slp: it is damaged: the checksum is wrong"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.95])
def test_truncated_archive_is_one_problem(tmp_path: Path, kind: str, part: float) -> None:
    data = KINDS[kind](GAMES)
    found, problems = read(written(tmp_path, kind, data[: int(len(data) * part)]))
    assert set(found.items()) <= set(GAMES.items())
    if not (kind.endswith(".tar") and part == 0.95):  # of a tar, only padding is missing
        assert len(problems) >= (0 if kind.endswith(("tar", "gz", "zst", "xz")) and not part else 1) or not found


@pytest.mark.parametrize("kind", ["deflated.zip", "plain.tar", "a.tar.gz", "lzma2.7z", "copy.7z"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_archives_end_with_lines(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    packed = bytearray(packed_once(kind))
    for _ in range(data.draw(st.integers(1, 5))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    _, problems = read(written(tmp_path, kind, bytes(packed)))
    assert not [problem for problem in problems if "\n" in problem]


@contextmanager
def unpacked_sizes() -> Iterator[list[int]]:
    """The sizes of the pieces that are unpacked while the block runs."""
    sizes: list[int] = []
    take = streams.Budget.take

    def taken(budget: streams.Budget, size_bytes: int) -> None:
        sizes.append(size_bytes)
        take(budget, size_bytes)

    with mock.patch.object(streams.Budget, "take", taken):
        yield sizes


def test_archive_is_read_once_in_order(tmp_path: Path) -> None:
    """The bytes of a compressed tar are read once, regardless of the number of members."""
    path = written(tmp_path, "a.tar.gz", gzip.compress(tarred({f"{i}.slp": game(i % 7) for i in range(200)})))
    with unpacked_sizes() as sizes:
        assert len(read(path)[0]) == 200
    assert 200 * len(game()) < sum(sizes) <= len(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize("kind", ["deflated.zip", "lzma2.7z"])
def test_unread_members_are_not_unpacked(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, KINDS[kind]({f"{i}.slp": game() + os.urandom(100_000) for i in range(5)}))
    with unpacked_sizes() as sizes:
        assert len(list(members(path, ENDINGS))) == 5
    assert sum(sizes) < 10_000  # the list of files is packed, too


def test_files_of_other_tools_are_recognised_and_refused(tmp_path: Path) -> None:
    line = "compressed by slippc, unpack it with that tool first"
    encoded = bytearray(game())
    start = encoded.index(b"\x36\x03")
    encoded[start + 4] = 2  # the fourth byte of the version
    files = {
        "a.zlp": COMPRESSED[".slp.xz"](bytes(encoded)),
        "a.slp.xz": COMPRESSED[".slp.xz"](bytes(encoded)),
        "a.slpp": b"",
        "b.slp.xz": COMPRESSED[".slp.xz"](game()),
    }
    found, problems = read(written(tmp_path, "a.zip", zipped(files)))
    assert found == {"b.slp.xz": game()}
    peppi = "converted by peppi, convert it back with that tool first"
    assert problems == [f"a.zlp: {line}", f"a.slp.xz: {line}", f"a.slpp: {peppi}"]
    for name in ("a.zlp", "a.slp.xz"):
        with pytest.raises(Unreadable, match=f"{name}: {line}"):
            open_replay(written(tmp_path, name, files[name]))


def test_missing_zstd_is_one_line_that_names_the_extra(tmp_path: Path) -> None:
    path = written(tmp_path, "a.slp.zst", zstd(game()))
    without = mock.patch.object(streams, "import_module", side_effect=ModuleNotFoundError)
    with without, pytest.raises(Unreadable, match=r"pip install 'slpstream\[archives\]'"):
        open_replay(path)


def test_head_of_a_zip_member_has_first_bytes_and_size(tmp_path: Path) -> None:
    archive = written(tmp_path, "games.zip", zipped({**GAMES, "d.slp.gz": gzip.compress(game(3))}))
    for name, data in GAMES.items():
        assert head_of_member(member_path(archive, name), 1280) == (data[:1280], len(data))
    for name in ("d.slp.gz", "missing.slp"):
        assert head_of_member(member_path(archive, name), 1280) is None
    assert head_of_member(archive, 1280) is None
    plain = written(tmp_path, "a.slp", game(0))
    assert head_of_member(plain, 1280) is None
