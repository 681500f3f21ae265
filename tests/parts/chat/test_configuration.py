"""Invalid configurations of chats are refused, with the key and the expected value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.config.refusals import (
    SECRET,
    check_hides_secret,
    check_home_is_expanded,
    check_refused,
)

CHAT_ERRORS: list[tuple[dict[str, Any], str, str]] = [
    ({"url_file": ""}, "chat[0].url_file", "a file"),
    ({"url_file": "/nowhere/url"}, "chat[0].url_file", "/nowhere/url"),
    ({"events": ["game_start"]}, "chat[0].events[0]", '"set_end"'),
    ({"game_message": "{winer} wins"}, "chat[0].game_message", "unknown placeholder {winer}"),
    ({"set_message": "{winner} on {stage}"}, "chat[0].set_message", "unknown placeholder {stage}"),
    ({"set_message": ""}, "chat[0].set_message", ">= 1"),
    ({"set_message": "[[{round}"}, "chat[0].set_message", "has no `]]`"),
    ({"set_message": "}"}, "chat[0].set_message", "a single `}`"),
    ({"link": "https://example.org/{winner}"}, "chat[0].link", "unknown placeholder {winner}"),
    ({"link": "example.org"}, "chat[0].link", "https://"),
    ({"avatar_url": "x.png"}, "chat[0].avatar_url", "https://"),
    ({"username": "The Discord"}, "chat[0].username", "does not allow"),
]


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        *(({"chat": [{"url_file": __file__, **chat}]}, key, expected) for chat, key, expected in CHAT_ERRORS),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)


@pytest.mark.parametrize(
    "table",
    [
        {"chat": [{"url_file": __file__, "avatar_url": f"https://[/{SECRET}"}]},
    ],
)
def test_refused_url_is_not_shown(table: dict[str, Any]) -> None:
    check_hides_secret(table, "avatar_url")


def test_secret_paths_can_begin_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_home_is_expanded({"chat": [{"url_file": "~/secret"}]}, tmp_path, monkeypatch)
