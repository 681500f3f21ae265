"""Invalid configurations of OBS and its rules are refused, with the key and the expected value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slpstream import config
from tests.config.refusals import (
    SECRET,
    SECTIONS,
    check_hides_secret,
    check_home_is_expanded,
    check_refused,
)

OBS = {"url": "ws://127.0.0.1:4455"}
KILL = {"name": "kill", "query": "kill"}
MAIN = {"id": "main", "folder": "/x"}
RULE_ERRORS: list[tuple[dict[str, Any], str, str]] = [
    ({"on": "game_start"}, "", "does nothing"),
    ({"on": "game_begin", "scene": "A"}, ".on", '"game_start"'),
    ({"on": "event", "scene": "A"}, ".event", "must be given"),
    ({"on": "event", "event": "combos", "scene": "A"}, ".event", "combo_ended"),
    ({"on": "game_end", "event": "lap", "scene": "A"}, ".event", "applies only with on = 'event'"),
    ({"on": "event", "event": "stock_lost", "kill": True, "scene": "A"}, ".kill", "stock_lost never applies"),
    ({"on": "event", "event": "tech", "min_damage": 5, "scene": "A"}, ".min_damage", "tech never applies"),
    ({"on": "game_end", "min_damage": 5, "scene": "A"}, ".min_damage", "found 'game_end'"),
    ({"on": "game_end", "after_seconds": 5, "scene": "A"}, ".after_seconds", "'station_idle'"),
    ({"on": "game_end", "show": ["Logo"]}, ".in_scene", "must be given"),
    ({"on": "game_end", "in_scene": "A", "scene": "B"}, ".in_scene", "applies only with"),
    ({"on": "game_end", "in_scene": "A", "show": ["x"], "hide": ["x"]}, ".hide", "shown by the same rule: 'x'"),
    ({"on": "game_end", "text": {"Score": "{score9}"}}, ".text.Score", "{score1}"),
    ({"on": "game_end", "text": {"Score": "{score1:>9}"}}, ".text.Score", "unknown placeholder"),
    ({"on": "game_end", "chapter": "{"}, ".chapter", "{{ for a brace"),
    ({"on": "game_end", "station": "side", "scene": "A"}, ".station", "no such station: 'side'"),
    ({"on": "game_end", "situation": "kill", "scene": "A"}, ".situation", "applies only with on = 'situation'"),
    ({"on": "situation", "situation": "kill", "scene": "A"}, ".situation", "no such situation: 'kill'"),
    ({"on": "situation", "scene": "A"}, ".on", "there are no [[situations]]"),
]
OBS_ADDRESSES = (
    *("127.0.0.1:4455", "ws://obs", "ws://obs:99999", "ws://obs:0", "wss://obs:4455", "ws://", "ws://user@obs:4455"),
    "ws://obs/x",
)


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        *(
            pytest.param(
                {"obs": OBS, "obs_rules": [rule], "stations": [MAIN]},
                f"obs_rules[0]{key}",
                expected,
                marks=[pytest.mark.parts("situations")] if "situation" in rule.values() else [],
            )
            for rule, key, expected in RULE_ERRORS
        ),
        *(({"obs": {"url": url}}, "obs.url", "ws://") for url in OBS_ADDRESSES),
        ({"obs_rules": [{"on": "game_start", "scene": "A"}]}, "obs.url", "the address"),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)


@pytest.mark.parametrize(
    "table",
    [
        {"obs": {"url": f"ws://user:{SECRET}@["}},
        {"obs": {"url": f"ws://user:{SECRET}@obs:4455"}},
    ],
)
def test_refused_url_is_not_shown(table: dict[str, Any]) -> None:
    check_hides_secret(table, "url")


@pytest.mark.parts("situations")
@pytest.mark.parametrize("stations", [[], [MAIN], [{"id": "*", "folder": "/x"}]])
def test_references_to_possible_stations_are_accepted(stations: list[dict[str, str]]) -> None:
    name = "main" if stations == [MAIN] else "side"
    rules = [
        {"on": "event", "event": "conversion_ended", "min_damage": 80, "kill": True, "save_replay": True},
        {"on": "station_idle", "after_seconds": 60, "station": "*", "scene": "A"},
        {"on": "game_start", "station": name, "text": {"Score": "{{{player1}}} {score1}"}},
        {"on": "situation", "situation": "kill", "save_replay": True},
        {"on": "situation", "scene": "A"},
    ]
    config.check({"obs": OBS, "obs_rules": rules, "stations": stations, "situations": [KILL]}, SECTIONS)


def test_secret_paths_can_begin_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_home_is_expanded({"obs": {"password_file": "~/secret"}}, tmp_path, monkeypatch)
