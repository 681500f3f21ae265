"""Checks of `[[jsonl]]`."""

from __future__ import annotations

from slpstream.config.checks import check_folder
from slpstream.config.sections import Config
from slpstream.parts.jsonl.part import JsonLines


def check(config: Config, file: str) -> None:
    """Raises `ConfigError`, which names `file`."""
    for i, wanted in enumerate(config.sections(JsonLines)):
        check_folder(wanted.folder, file, f"jsonl[{i}].folder")
