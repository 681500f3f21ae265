"""Defects that are planted into synthetic players are found on the right port and frame, and in no other player."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from slpstream.api import open_replay
from slpstream.model.controller_report import ControllerFinding, ControllerReport
from tests.marks import slow
from tests.parts.controllers.hands import FIRST, Inputs, Player, Point, analog, box, moved, with_inputs

PORTS = (0, 1, 2)


def report_of(players: Mapping[int, Player], folder: Path) -> ControllerReport:
    path = folder / "Game_1.slp"
    path.write_bytes(with_inputs(players))
    return open_replay(path).controllers()


def findings(report: ControllerReport) -> dict[int, list[ControllerFinding]]:
    return {player.player_index: player.findings for player in report.players}


def drifting(number: int, point: Point) -> Point:
    return round(point[0] + 14 * (number - FIRST) / 6000), point[1]


def shortened(number: int, point: Point) -> Point:
    return min(point[0], 71), point[1]


def clamped(number: int, point: Point) -> Point:
    x, y = (0 if abs(value) <= 6 else value for value in point)
    return x, y


def rounded_up(number: int, point: Point) -> Point:
    x, y = point
    return (x, 23) if abs(x) < 23 and 16 <= y < 23 else point


def mirrored(change: Callable[[int, Point], Point], number: int, point: Point) -> Point:
    x, y = change(number, (-point[0], -point[1]))
    return -x, -y


def swapped(change: Callable[[int, Point], Point], number: int, point: Point) -> Point:
    x, y = change(number, (point[1], point[0]))
    return y, x


def pressed(player: Player, change: Callable[[int, Inputs], Inputs]) -> Player:
    return [change(FIRST + i, inputs) for i, inputs in enumerate(player)]


def stuttering(number: int, inputs: Inputs) -> Inputs:
    """Y is held for 25 frames of 100, and comes up in the 13th."""
    at = (number - FIRST) % 100
    return replace(inputs, buttons=0x800 if at < 25 and at != 12 else 0)


def never_released(number: int, inputs: Inputs) -> Inputs:
    return replace(inputs, right=max(9, inputs.right))


def slow_tilts(player: Player) -> Player:
    """The same player, who also tilts upwards slowly many times."""
    slow = [Inputs(stick=(0, min(30, step // 2))) for step in range(80)]
    return [slow[i % 400] if i % 400 < 80 else inputs for i, inputs in enumerate(player)]


def c_stick_off_centre(seed: int) -> Player:
    c_stick = analog(seed + 1, change=partial(moved, 10, 0))
    return [replace(a, c_stick=b.stick) for a, b in zip(analog(seed), c_stick, strict=True)]


def repeated_sdi(seed: int) -> Player:
    mash = [Inputs(stick=(80, 0) if i % 3 == 0 else (0, 0)) for i in range(200)]
    return [mash[i - 2000] if 2000 <= i < 2200 else inputs for i, inputs in enumerate(box(seed))]


def banned_c_stick(seed: int) -> Player:
    return [replace(inputs, c_stick=(-64, 0) if i % 500 < 4 else (0, 0)) for i, inputs in enumerate(box(seed))]


HEALTH: Mapping[str, tuple[str, Callable[[int], Player]]] = {
    "off-centre": ("rest", lambda seed: analog(seed, change=partial(moved, 9, -7))),
    "off-centre box": ("rest", lambda seed: [replace(i, stick=moved(0, 8, 0, i.stick)) for i in box(seed)]),
    "off-centre C-stick": ("rest", c_stick_off_centre),
    "drift": ("drift", lambda seed: analog(seed, change=drifting)),
    "drift, mirrored": ("drift", lambda seed: analog(seed, change=partial(mirrored, drifting))),
    "short rim": ("rim", lambda seed: analog(seed, change=shortened)),
    "short rim, other axis": ("rim", lambda seed: analog(seed, change=partial(swapped, partial(mirrored, shortened)))),
    "trigger": ("trigger", lambda seed: pressed(analog(seed), never_released)),
    "button": ("stutter", lambda seed: pressed(analog(seed), stuttering)),
}
RULES: Mapping[str, tuple[str, Callable[[int], Player]]] = {
    "no travel": ("travel_time", lambda seed: box(seed, travel=False)),
    "no fuzzing": ("input_fuzzing", lambda seed: box(seed, fuzz=False)),
    "SDI": ("sdi", repeated_sdi),
    "C-stick": ("disallowed_cstick", banned_c_stick),
    "goomwave": ("goomwave", lambda seed: analog(seed, change=clamped)),
    "tilt rounding": (
        "tilt_rounding",
        lambda seed: [replace(i, stick=rounded_up(0, i.stick)) for i in slow_tilts(analog(seed))],
    ),
    "tilt rounding, mirrored": (
        "tilt_rounding",
        lambda seed: [
            replace(i, stick=mirrored(rounded_up, 0, (-i.stick[0], -i.stick[1]))) for i in slow_tilts(analog(seed))
        ],
    ),
}


@pytest.mark.parametrize("port", [0, *slow(2)])
@pytest.mark.parametrize("defect", [*HEALTH, *RULES])
def test_planted_defect_is_found_only_on_its_port(defect: str, port: int, tmp_path: Path) -> None:
    check, make = {**HEALTH, **RULES}[defect]
    players: dict[int, Player] = {0: analog(11), 1: box(12), 2: slow_tilts(analog(13))}
    players[port] = make(21 + port)
    found = findings(report_of(players, tmp_path))
    assert check in {finding.check for finding in found[port] if finding.confidence != "low"}
    assert {index: found[index] for index in PORTS if index != port} == {index: [] for index in PORTS if index != port}


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3, 4, 5)])
def test_clean_players_are_not_flagged(seed: int, tmp_path: Path) -> None:
    players = {0: analog(100 + seed), 1: box(200 + seed), 2: slow_tilts(analog(300 + seed, rim=88))}
    report = report_of(players, tmp_path)
    assert findings(report) == {0: [], 1: [], 2: []}
    assert [player.controller for player in report.players] == ["analog", "box", "analog"]


def test_evidence_names_frames_and_measures(tmp_path: Path) -> None:
    found = findings(report_of({1: pressed(analog(5), stuttering)}, tmp_path))[1]
    stutters = next(finding for finding in found if finding.check == "stutter")
    assert stutters.part == "button Y"
    assert all((frame - FIRST) % 100 == 12 for frame in stutters.frames)
    assert stutters.count > len(stutters.frames) == 12
    [rest] = findings(report_of({2: analog(5, change=partial(moved, -12, 5))}, tmp_path))[2]
    assert rest.text == "The stick does not rest at the centre: it returns to (-12, 5), 16% of a full push away."
    assert (rest.score, rest.confidence) == (13.0, "high")


def test_rules_are_not_judged_in_a_short_game(tmp_path: Path) -> None:
    path = tmp_path / "Game_1.slp"
    path.write_bytes(with_inputs({1: box(2, travel=False)})[:1_000_000])
    player = open_replay(path).controllers().players[1]
    assert player.frames < 3600
    assert not [finding for finding in player.findings if finding.group == "legality"]
    assert any(each.check == "travel_time" and each.reason.startswith("too short") for each in player.not_judged)


def test_sticks_are_not_judged_in_an_old_replay(tmp_path: Path) -> None:
    path = tmp_path / "Game_1.slp"
    path.write_bytes(with_inputs({0: pressed(analog(4), never_released), 1: box(2, travel=False)}, version=(3, 14, 0)))
    first, second, _ = open_replay(path).controllers().players
    assert [finding.check for finding in first.findings] == ["trigger"]
    assert second.findings == []
    assert {each.check for each in second.not_judged} >= {"rest", "drift", "rim", "travel_time", "goomwave"}
    assert second.controller == "unknown"
