"""Checks of `[bracket]`. If it is impossible that a bracket ever works, this is an error."""

from __future__ import annotations

import os
import re
from pathlib import Path

from slpstream.config.sections import Config
from slpstream.config.urls import check_url
from slpstream.model.errors import ConfigError
from slpstream.parts.bracket.part import Bracket

_EVENT = re.compile(r"(https?://(www\.)?start\.gg/)?(?P<slug>tournament/[^/\s]+/event/[^/\s?#]+)([/?#].*)?")


def check(config: Config, file: str) -> None:
    """Check the section. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    bracket = config.section(Bracket)
    if not bracket.kind:
        if bracket != Bracket():
            raise ConfigError(file, "bracket.kind", "must be given")
        return
    if bracket.url:
        check_url(bracket.url, ("http", "https"), file, "bracket.url")
    if bracket.kind == "webhook" and not bracket.url:
        raise ConfigError(file, "bracket.url", "must be given for a webhook")
    if bracket.kind == "start.gg":
        _check_events(bracket, file)
    elif bracket.kind == "webhook" and bracket.events:
        raise ConfigError(file, "bracket.events", "does not apply to a webhook")
    _check_token(bracket, file)
    ids = {station.id for station in config.stations}
    for key, named in (("stations", bracket.stations), ("streams", bracket.streams)):
        for theirs, ours in named.items():
            if not config.is_open_ended and ours not in ids:
                raise ConfigError(file, f"bracket.{key}.{theirs}", f"no such station: {ours!r}")
            if list(named.values()).count(ours) > 1:
                raise ConfigError(file, f"bracket.{key}.{theirs}", f"{ours!r} is there twice")


def event_slug(text: str) -> str:
    """Return the slug of an event on start.gg.

    You can also pass its whole address. Raises `ValueError` if it is anything else.
    """
    found = _EVENT.fullmatch(text)
    if found is None:
        raise ValueError(f"expected tournament/NAME/event/NAME, found {text!r}")
    return found["slug"]


def _check_events(bracket: Bracket, file: str) -> None:
    if not bracket.events:
        raise ConfigError(file, "bracket.events", "must be given for start.gg")
    for i, event in enumerate(bracket.events):
        try:
            event_slug(event)
        except ValueError as error:
            raise ConfigError(file, f"bracket.events[{i}]", str(error)) from None


def _check_token(bracket: Bracket, file: str) -> None:
    if not bracket.token_file:
        if bracket.report:
            raise ConfigError(file, "bracket.token_file", "must be given to report results")
        return
    try:
        readable = "\0" not in bracket.token_file and os.access(Path(bracket.token_file).expanduser(), os.R_OK)
    except RuntimeError as error:
        raise ConfigError(file, "bracket.token_file", "no such home folder", found=bracket.token_file) from error
    if not readable:
        raise ConfigError(file, "bracket.token_file", "cannot be read", found=bracket.token_file)
