"""The time of games whose frame numbers do not count from -123: Slo-Mo Melee and Training Mode."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest

from slpstream import api
from slpstream.formats.slippi.preview import read_preview
from slpstream.model.events import Diagnostic, GameEnd, first_of
from tests.cli.command_line import exit_code
from tests.formats.slippi.agreement import assert_agree
from tests.formats.slippi.built import Built
from tests.formats.slippi.logs import bytewise, events_of, logs_of
from tests.formats.slippi.renumbered import renumbered
from tests.replays import SHARED
from tests.synthetic.match import synthetic_match

SLO_MO = 262433
SLO_MO_REPLAY = SHARED / "slp_more" / "slippi-js__gameModeTest__Slo-Mo.slp"
FRAMES = 300


@cache
def usual() -> bytes:
    return synthetic_match(frames=FRAMES)


def beginning_at(first: int) -> bytes:
    return renumbered(usual(), lambda number: number + 123 + first)


def end_of(data: bytes) -> GameEnd:
    end = first_of(GameEnd, events_of(data))
    assert end is not None
    return end


def stats_of(data: bytes, folder: Path, *, compat: bool = False) -> dict[str, object]:
    (folder / "game.slp").write_bytes(data)
    found: dict[str, object] = msgspec.to_builtins(api.open_replay(folder / "game.slp").stats(compat=compat))
    return found


@pytest.mark.parametrize("first", [SLO_MO, 1, 5000, -124, -100_000])
def test_time_counts_from_the_first_frame(first: int, tmp_path: Path) -> None:
    data = beginning_at(first)
    end = end_of(data)
    assert end.last_frame == (end_of(usual()).last_frame or 0) + 123 + first
    assert end.duration_seconds == end_of(usual()).duration_seconds
    assert_agree(data, every=97, with_tables=False)
    stats, expected = stats_of(data, tmp_path), stats_of(usual(), tmp_path)
    assert stats["playableFrameCount"] == expected["playableFrameCount"]
    assert stats["overall"] == expected["overall"]
    assert stats["extra"] == expected["extra"]


def test_compatible_stats_take_frame_numbers_as_slippi_js_does(tmp_path: Path) -> None:
    assert stats_of(beginning_at(SLO_MO), tmp_path, compat=True)["playableFrameCount"] == SLO_MO + FRAMES - 1 + 39


@pytest.mark.parametrize("first", [-100, -39, 0])
def test_missing_beginning_within_the_countdown_changes_no_time(first: int) -> None:
    assert end_of(Built().frames(first, 600).end().closed()).duration_seconds == (600 + 39) / 60


@pytest.mark.parametrize("first", [SLO_MO, 5000])
@pytest.mark.parametrize("gecko_bytes", [0, 20_000])
@pytest.mark.parametrize("characters", [None, {"2": FRAMES}])
def test_preview_has_the_same_time_or_none(first: int, gecko_bytes: int, characters: dict[str, int] | None) -> None:
    game = Built()
    if gecko_bytes:
        game.parts.append(game.writer.gecko_list(bytes(gecko_bytes)))
    game.frames(first, first + FRAMES - 1).end(placements=(0, 1, -1, -1))
    players = {} if characters is None else {"players": {"0": {"characters": characters}}}
    data = game.closed({"startAt": "2025-02-09T22:56:19Z", "lastFrame": first + FRAMES - 1, **players})
    preview = read_preview(data[:4096], data[-4096:], len(data) - 4096)
    assert preview is None or preview.end == end_of(data)
    assert (preview is None) == bool(gecko_bytes)


@pytest.mark.parts("find")
def test_length_of_slo_mo_is_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "game.slp").write_bytes(beginning_at(SLO_MO))
    assert exit_code("find", tmp_path, "duration:>1m") == 1
    assert exit_code("find", tmp_path, "duration:<4s") == 0
    assert "game.slp" in capfd.readouterr().out


@pytest.mark.parts("situations")
@pytest.mark.parametrize("query", ["time:1..2", "time:<0.5", "time:>2.5"])
def test_time_of_situations_counts_from_the_first_frame(query: str, tmp_path: Path) -> None:
    from slpstream.parts.situations.search import LiveSituations, parsed

    for name, data in (("usual", usual()), ("odd", beginning_at(SLO_MO))):
        (tmp_path / f"{name}.slp").write_bytes(data)
    expected, odd = (api.open_replay(tmp_path / f"{name}.slp") for name in ("usual", "odd"))
    offset = SLO_MO + 123
    found = [tuple(frame - offset for frame in each.frames) for each in odd.situations(query)]
    assert found == [each.frames for each in expected.situations(query)] != []
    search = LiveSituations(parsed(query), odd.settings)
    live = [each for events in (odd.events(),) for each in [*search.take(events), *search.finish()]]
    assert [tuple(frame - offset for frame in each.frames) for each in live] == found


@pytest.mark.parts("situations", "stats")
def test_times_on_the_terminal_count_from_the_first_frame(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    printed = []
    for data in (usual(), beginning_at(SLO_MO)):
        (tmp_path / "game.slp").write_bytes(data)
        assert exit_code("situations", tmp_path / "game.slp", "time:>2") == 0
        _, *found = capfd.readouterr().out.splitlines()
        times = [line.split("  ")[1] for line in found]
        assert exit_code("stats", tmp_path / "game.slp") == 0
        printed.append((times, capfd.readouterr().out))
    assert printed[0] == printed[1]
    assert printed[0][0][0] == "0:02"


@pytest.mark.skipif(not SLO_MO_REPLAY.exists(), reason="needs a real replay of Slo-Mo Melee")
def test_real_game_of_slo_mo(tmp_path: Path) -> None:
    data = SLO_MO_REPLAY.read_bytes()
    assert end_of(data).duration_seconds == pytest.approx((1264 - 84) / 60, abs=0.02)
    inputs = stats_of(data, tmp_path)["overall"][0]["inputsPerMinute"]["ratio"]  # type: ignore[index]
    assert inputs > 100
    assert_agree(data, every=97, with_tables=False)


@pytest.mark.parametrize("number", [-123, 0, 7000])
@pytest.mark.parametrize("version", [(3, 18, 0), (3, 9, 1), (2, 2, 0)])
def test_one_number_in_all_frames_gives_no_time(number: int, version: tuple[int, int, int], tmp_path: Path) -> None:
    game = Built(version)
    for at in range(200):
        game.frame(number, percent=at / 4)
    data = game.end(7).closed({"lastFrame": number, "players": {"0": {"characters": {"2": 200}}}})
    events = events_of(data)
    codes = [event.code for event in events if isinstance(event, Diagnostic)]
    assert [code for code in codes if code != "final_frame_again"] == ["repeated_frame"]
    assert version < (3, 0, 0) or len(codes) == 1
    end = first_of(GameEnd, events)
    assert end is not None
    assert (end.last_frame, end.duration_seconds) == (number, None)
    assert_agree(data, every=97, with_tables=False)
    assert logs_of(bytewise(data)).lines() == logs_of([data]).lines()
    preview = read_preview(data[:4096], data[-4096:], len(data) - 4096)
    assert preview is None
    stats = stats_of(data, tmp_path)
    assert stats["playableFrameCount"] == 0
    assert all("ratio" not in each["inputsPerMinute"] for each in stats["overall"])  # type: ignore[attr-defined]


def test_repeated_first_frame_is_reported_when_others_follow() -> None:
    game = Built().frame(-123).frame(-123).frame(-123).frames(-122, 0)
    data = game.end().closed()
    events = events_of(data)
    assert [event.code for event in events if isinstance(event, Diagnostic)] == ["final_frame_again"] * 2
    end = first_of(GameEnd, events)
    assert end is not None
    assert end.duration_seconds == 39 / 60
    assert logs_of(bytewise(data)).lines() == logs_of([data]).lines()
