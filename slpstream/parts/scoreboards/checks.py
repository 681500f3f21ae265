"""Checks of `[[scoreboards]]`."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from slpstream.config.checks import check_folder, check_followed, expanded
from slpstream.config.sections import Config
from slpstream.config.urls import check_url
from slpstream.model.errors import ConfigError
from slpstream.parts.scoreboards.part import SCOREBOARD_VALUES, Scoreboard


def check(config: Config, file: str) -> None:
    """Check the sections. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    paths: dict[Path, str] = {}
    for i, board in enumerate(config.sections(Scoreboard)):
        key = f"scoreboards[{i}]"
        check_followed(board.station, config, file, f"{key}.station")
        _check_keys_of_kind(board, file, key)
        if board.kind == "tournament-stream-helper":
            if board.url:
                _check_helper_url(board.url, file, f"{key}.url")
            continue
        if not board.path:
            raise ConfigError(file, f"{key}.path", "must be given")
        path = expanded(board.path, file, f"{key}.path")
        if board.kind != "streamcontrol":
            check_folder(board.path, file, f"{key}.path")
        if path in paths:
            raise ConfigError(file, f"{key}.path", f"is that of {paths[path]} too", found=board.path)
        paths[path] = key
        for name, value in board.mapping.items():
            if value not in SCOREBOARD_VALUES:
                known = ", ".join(SCOREBOARD_VALUES)
                raise ConfigError(file, f"{key}.mapping.{name}", f"expected one of {known}; found {value!r}")
            if board.kind == "text" and not re.fullmatch(r"[^\0-\x1f/\\:*?\"<>|.][^\0-\x1f/\\:*?\"<>|]{0,99}", name):
                raise ConfigError(file, f"{key}.mapping", f"expected names of files, found {name!r}")


def _check_helper_url(url: str, file: str, key: str) -> None:
    expected = "expected http://host:port"
    parts = check_url(url, ("http",), file, key, expected=expected)
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ConfigError(file, key, expected)


def _check_keys_of_kind(board: Scoreboard, file: str, key: str) -> None:
    """Refuse keys that don't make sense for this kind of scoreboard."""
    of_kinds = {
        "url": {"tournament-stream-helper"},
        "number": {"tournament-stream-helper"},
        "path": {"melee-stream-tool", "streamcontrol", "text"},
        "mapping": {"streamcontrol", "text"},
    }
    defaults = {field.name: field.default for field in msgspec.structs.fields(Scoreboard)}
    for name, kinds in of_kinds.items():
        if getattr(board, name) and getattr(board, name) != defaults[name] and board.kind not in kinds:
            raise ConfigError(file, f"{key}.{name}", f"does not apply to {board.kind}")
