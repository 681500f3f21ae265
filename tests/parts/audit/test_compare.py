"""The comparison of setups: majorities, ties, few setups, missing values, measured values and changes."""

from __future__ import annotations

from typing import Any

import pytest

from slpstream.model.setup import Pacing, RevealedSetup, SetupValue
from slpstream.parts.audit.clock import said_ms
from slpstream.parts.audit.compare import Limits, audit
from slpstream.parts.audit.findings import Audit
from slpstream.parts.audit.played_games import PlayedGame, clock_text

_MEASURES = ("duration_seconds", "skew_seconds", "pacing", "at_ms")


def game(game_id: str = "g", *, ports: dict[int, str] | None = None, **values: Any) -> PlayedGame:
    """A game that reveals these values; `stocks` and `timer` are rules, `ports` is UCF by port."""
    measures = {name: values.pop(name) for name in _MEASURES if name in values}
    revealed = [
        SetupValue(
            name=name, title=name, value=str(value), text=str(value),
            kind="rules" if name in ("stocks", "timer") else "machine",
        )
        for name, value in values.items()
    ]  # fmt: skip
    revealed += [
        SetupValue(name="ucf", title="UCF", value=text, text=text, port=port) for port, text in (ports or {}).items()
    ]
    return PlayedGame(**{"game_id": game_id, "at_ms": 0, "revealed": RevealedSetup(values=revealed), **measures})


def online(**measures: Any) -> PlayedGame:
    return PlayedGame(game_id="online", at_ms=0, revealed=RevealedSetup(incomparable="played online"), **measures)


def words(found: Audit, kind: str | None = None) -> list[str]:
    return [finding.words for finding in found.findings if kind in (None, finding.kind)]


def test_majority() -> None:
    found = audit({"1": [game(region="NTSC")], "2": [game("odd", region="PAL")], "tv": [game(region="NTSC")]})
    assert words(found) == ["setup 2 differs from the other 2: region PAL, elsewhere NTSC"]
    [finding] = found.findings
    assert (finding.setups, finding.text, finding.usual, finding.game_id) == (["2"], "PAL", "NTSC", "odd")
    assert [setup.differences for setup in found.setups] == [0, 1, 0]
    assert [value.mark for setup in found.setups for value in setup.values] == ["", "differs", ""]


def test_two_kinds_of_outliers() -> None:
    setups = {str(i): [game(stocks=4)] for i in range(5)} | {"a": [game(stocks=3)], "b": [game(stocks=1)]}
    assert words(audit(setups)) == [
        "a differs from 5 of the other 6: stocks 3, elsewhere 4",
        "b differs from 5 of the other 6: stocks 1, elsewhere 4",
    ]


def test_two_setups_do_not_agree() -> None:
    found = audit({"a": [game(stocks=4)], "b": [game(stocks=3)]})
    assert words(found) == ["the setups do not agree about stocks: 4 on a; 3 on b"]
    assert [value.mark for setup in found.setups for value in setup.values] == ["split", "split"]


def test_tie_of_four() -> None:
    setups = {name: [game(stocks=3 if name in "ab" else 4)] for name in "abcd"}
    assert words(audit(setups)) == ["the setups do not agree about stocks: 3 on a, b; 4 on c, d"]


def test_nothing_to_compare() -> None:
    assert audit({}) == Audit(setups=[], findings=[])
    found = audit({"a": [game(stocks=4)], "b": []})
    assert found.findings == []
    assert [setup.unknown for setup in found.setups] == ["", "no recent games"]


def test_missing_value_is_not_a_difference() -> None:
    setups = {"a": [game(version="3")], "b": [game(version="3", frozen="on")], "c": [game(version="3")]}
    assert audit(setups).findings == []


def test_ports_are_compared_with_the_same_port() -> None:
    """Port 4 can have other settings, if it has them on all setups."""
    setups = {str(i): [game(ports={1: "on", 4: "off"})] for i in range(4)}
    assert audit(setups).findings == []
    setups["3"] = [game(ports={1: "on", 4: "on"})]
    assert words(audit(setups)) == ["setup 3 differs from the other 3: UCF on on port 4, elsewhere off"]


def test_port_of_few_setups_is_compared_with_other_ports() -> None:
    setups = {str(i): [game(ports={1: "on", 2: "on"})] for i in range(4)}
    setups["12"] = [game(ports={1: "on", 3: "off"})]
    assert words(audit(setups)) == ["setup 12 differs from the other 4: UCF off on port 3, elsewhere on"]
    setups["12"] = [game(ports={1: "on", 3: "on"})]
    assert audit(setups).findings == []


def test_port_that_at_most_half_of_the_setups_used_is_compared_with_other_ports() -> None:
    """Two of the three setups that have used port 3 are wrong there."""
    setups = {str(i): [game(ports={1: "on", 2: "on"})] for i in range(47)}
    for name, text in {"a": "off", "b": "off", "c": "on"}.items():
        setups[name] = [game(ports={1: "on", 2: "on", 3: text})]
    assert words(audit(setups)) == [
        f"{name} differs from 48 of the other 49: UCF off on port 3, elsewhere on" for name in "ab"
    ]
    for number in range(25):
        setups[str(number)] = [game(ports={1: "on", 2: "on", 3: "off"})]
    assert words(audit(setups)) == ["c differs from the other 27: UCF on on port 3, elsewhere off"]


def test_newest_game_decides_and_the_change_is_reported() -> None:
    usual = {name: [game(region="NTSC")] for name in "abc"}
    changed = [game("new", region="NTSC"), game("old", region="PAL")]
    found = audit({**usual, "d": changed})
    assert words(found) == ["d has changed: region NTSC, before PAL"]
    assert found.findings[0].game_id == "old"
    assert found.differences == []
    found = audit({**usual, "d": changed[::-1]})
    assert words(found, "differs") == [
        "d differs from the other 3: region PAL, elsewhere NTSC (only in its newest game)"
    ]  # fmt: skip
    assert not found.differences[0].lasting


def test_value_of_an_older_game_counts_if_the_newest_does_not_show_it() -> None:
    usual = {name: [game(ports={1: "on", 3: "on"})] for name in "abc"}
    found = audit({**usual, "d": [game(ports={1: "on"}), game("doubles", ports={1: "on", 3: "off"})]})
    assert [(finding.port, finding.game_id, finding.lasting) for finding in found.findings] == [(3, "doubles", True)]


def test_friendly_does_not_hide_a_difference() -> None:
    usual = {name: [game(timer="8:00", stocks=4)] * 5 for name in "abc"}
    wrong = [game("friendly", timer="8:00", stocks=99), *[game(timer="7:00", stocks=4)] * 4]
    found = audit({**usual, "d": wrong})
    assert words(found) == [
        "d differs from the other 3: stocks 99, elsewhere 4 (only in its newest game)",
        "d has changed: timer 8:00, before 7:00",
        "d has changed: stocks 99, before 4",
    ]


def test_rules_of_handwarmers_count_only_without_other_games() -> None:
    usual = {name: [game(stocks=4, duration_seconds=200.0)] for name in "abc"}
    handwarmer = game(stocks=2, duration_seconds=12.0)
    assert audit({**usual, "d": [handwarmer, game(stocks=4, duration_seconds=200.0)]}).findings == []
    assert words(audit({**usual, "d": [handwarmer]})) == ["d differs from the other 3: stocks 2, elsewhere 4"]
    shown = game(region="PAL", duration_seconds=12.0)
    found = audit({**{name: [game(region="NTSC")] for name in "abc"}, "d": [shown, game(region="NTSC")]})
    assert [finding.setups for finding in found.differences] == [["d"]]


def test_online_games_are_not_compared() -> None:
    usual = {name: [game(stocks=4)] for name in "abc"}
    found = audit({**usual, "d": [online()], "e": [online(), game(stocks=3)]})
    assert [setup.unknown for setup in found.setups] == ["", "", "", "played online", ""]
    assert [finding.setups for finding in found.findings] == [["e"]]


def test_old_games_are_ignored() -> None:
    hour = 3_600_000
    setups = {name: [game(stocks=4, at_ms=100 * hour)] for name in "abc"}
    setups["d"] = [game(stocks=3, at_ms=70 * hour)]
    found = audit(setups, Limits(hours=24))
    assert found.findings == []
    assert found.setups[3].unknown == "no recent games"
    setups["e"] = [game(stocks=4, at_ms=9000 * hour)]  # its clock was never set
    assert audit(setups, Limits(hours=24, now_ms=100 * hour)).setups[0].unknown == ""


def test_only_the_newest_games_are_compared() -> None:
    usual = {name: [game(stocks=4)] for name in "abc"}
    games = [*[game(stocks=4)] * 5, game(stocks=3)]
    assert audit({**usual, "d": games}).findings == []
    assert words(audit({**usual, "d": games}, Limits(games=6))) == ["d has changed: stocks 4, before 3"]


def test_clocks_are_equal_within_a_tolerance() -> None:
    setups = {str(i): [game(skew_seconds=3600.0 + 5 * i)] for i in range(9)}
    setups["12"] = [game(skew_seconds=3600.0 + 37 * 60)]
    assert words(audit(setups)) == [
        "setup 12 differs from the other 9: clock 1 h 37 min ahead, elsewhere 1 h ahead"
    ]  # fmt: skip
    del setups["12"]
    assert audit(setups).findings == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "exact"), (-42, "42 s behind"), (2220, "37 min ahead"), (3600, "1 h ahead"), (-90_000, "1 d 1 h behind")],
)
def test_clock_text(seconds: float, text: str) -> None:
    assert clock_text(seconds) == text


@pytest.mark.parametrize(
    ("said", "milliseconds"),
    [
        ("2026-05-13T10:37:00Z", 1_778_668_620_000),
        ("2026-05-13T10:37:00", 1_778_668_620_000),
        ("2000-01-01T00:00:00", 946_684_800_000),
        ("", None),
        ("yesterday", None),
    ],
)
def test_time_of_the_console(said: str, milliseconds: int | None) -> None:
    assert said_ms(said) == milliseconds


def paced(rate: float = 60.0, stutters: int = 0, seconds: float = 180.0) -> PlayedGame:
    pacing = Pacing(frames_per_second=rate, stutters=stutters, late_milliseconds=5, seconds=seconds)
    return game(pacing=pacing)


def test_slow_and_stuttering_setups() -> None:
    setups = {str(i): [paced(59.9 + i / 50, i)] for i in range(5)}
    found = audit({**setups, "slow": [paced(57.3)], "rough": [paced(60, 90)], "short": [paced(30, 9, seconds=4)]})
    assert words(found) == [
        "slow differs from the other 6: frames per second 57.3, elsewhere 60.0",
        "rough differs from the other 6: stutters per minute 30, elsewhere 1",
    ]
