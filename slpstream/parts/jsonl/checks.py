"""Checks of `[[jsonl]]`."""

from __future__ import annotations

from slpstream.config.checks import check_folder
from slpstream.config.sections import Config
from slpstream.parts.jsonl.part import JsonLines


def check(config: Config, file: str) -> None:
    """Check the sections. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    for i, wanted in enumerate(config.sections(JsonLines)):
        check_folder(wanted.folder, file, f"jsonl[{i}].folder")
