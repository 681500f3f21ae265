"""Invalid configurations of scoreboards are refused, with the key and the expected value."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.refusals import (
    SECRET,
    check_hides_secret,
    check_refused,
)

TEXT = {"kind": "text", "station": "a", "path": "/x"}
SCOREBOARD_ERRORS: list[tuple[dict[str, Any], str, str]] = [
    ({**TEXT, "kind": "obs"}, "scoreboards[0].kind", '"streamcontrol"'),
    ({**TEXT, "station": "a b"}, "scoreboards[0].station", "id of a station"),
    ({**TEXT, "url": "http://x:5000"}, "scoreboards[0].url", "does not apply to text"),
    ({**TEXT, "mapping": {"a": "nam1"}}, "scoreboards[0].mapping.a", "found 'nam1'"),
    ({**TEXT, "mapping": {"../a": "name1"}}, "scoreboards[0].mapping", "names of files"),
    ({**TEXT, "path": ""}, "scoreboards[0].path", "must be given"),
    ({**TEXT, "path": __file__}, "scoreboards[0].path", "is a file"),
    ({"kind": "tournament-stream-helper", "station": "a", "url": "x:5000"}, "scoreboards[0].url", "http://host:port"),
    ({"kind": "tournament-stream-helper", "station": "a", "path": "/x"}, "scoreboards[0].path", "does not apply"),
    ({"kind": "melee-stream-tool", "station": "a", "path": "/x", "number": 2}, "scoreboards[0].number", "not apply"),
]


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        *(({"scoreboards": [board]}, key, expected) for board, key, expected in SCOREBOARD_ERRORS),
        (
            {"stations": [{"id": "a", "folder": "/x"}], "scoreboards": [{**TEXT, "station": "b"}]},
            "scoreboards[0].station",
            "found 'b'",
        ),
        ({"scoreboards": [TEXT, {**TEXT, "station": "b"}]}, "scoreboards[1].path", "scoreboards[0] too"),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)


@pytest.mark.parametrize(
    "table",
    [
        {"scoreboards": [{"kind": "tournament-stream-helper", "station": "a", "url": f"http://host/{SECRET}"}]},
        {"scoreboards": [{"kind": "tournament-stream-helper", "station": "a", "url": f"http://user:{SECRET}@["}]},
        {
            "scoreboards": [
                {"kind": "tournament-stream-helper", "station": "a", "url": f"http://user:{SECRET}@host:99999"}
            ]
        },
    ],
)
def test_refused_url_is_not_shown(table: dict[str, Any]) -> None:
    check_hides_secret(table, "url")
