"""Checks of `[obs]` and `[[obs_rules]]`. If a rule can never apply, or doesn't do anything, this is an error."""

from __future__ import annotations

from string import Formatter
from typing import Any, cast

from slpstream.config.checks import check_readable
from slpstream.config.sections import EACH_SUBFOLDER, Config
from slpstream.config.urls import check_url
from slpstream.model.errors import ConfigError
from slpstream.model.messages import ON_AIR
from slpstream.parts.obs.part import Obs, ObsRule

PLACEHOLDERS = (
    "station", "stage", "best_of", "round", "event", "winner", "set_winner", "damage",
    *(f"{name}{slot}" for slot in range(1, 5) for name in ("player", "code", "character", "score", "stocks")),
)  # fmt: skip
"""The placeholders of texts and names of chapters, which write each in braces."""

_ACTIONS = ("scene", "preview", "show", "hide", "text", "save_replay", "recording", "chapter")
_PUNISHES = ("combo_ended", "conversion_ended")
_CONDITIONS = (
    ("event", ("event",)),
    ("min_damage", ("event",)),
    ("kill", ("event",)),
    ("situation", ("situation",)),
    ("after_seconds", ("station_idle",)),
)
"""Keys, and the values of `on` for which they have a meaning."""


def check(config: Config, file: str) -> None:
    """Check the sections. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    obs, rules = config.section(Obs), config.sections(ObsRule)
    url = obs.url
    check_readable(obs.password_file, file, "obs.password_file")
    if url:
        _check_address(url, file)
    if rules and not url:
        raise ConfigError(file, "obs.url", "expected the address of OBS, because there are [[obs_rules]]")
    situations = [cast(Any, each).name for each in config.parts.get("situations", ())]
    for i, rule in enumerate(rules):
        key = f"obs_rules[{i}]"
        _check_conditions(rule, file, key)
        _check_actions(rule, file, key)
        if rule.on == "situation" and rule.situation not in ("", *situations):
            raise ConfigError(file, f"{key}.situation", f"no such situation: {rule.situation!r}")
        if rule.on == "situation" and not situations:
            raise ConfigError(file, f"{key}.on", "there are no [[situations]]")
        if not _can_exist(rule.station, config):
            raise ConfigError(file, f"{key}.station", f"no such station: {rule.station!r}")


def _check_address(url: str, file: str) -> None:
    """Check that the address has a port, because otherwise we would use the one of web servers."""
    expected = "expected ws://HOST:PORT"
    parts = check_url(url, ("ws",), file, "obs.url", expected=expected)
    if parts.port is None or parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ConfigError(file, "obs.url", expected)


def _can_exist(station: str, config: Config) -> bool:
    """Whether a station with this name might exist. If there are no `[[stations]]`, they come from the command line."""
    return config.is_open_ended or station in {ON_AIR, EACH_SUBFOLDER, *(each.id for each in config.stations)}


def _check_conditions(rule: ObsRule, file: str, key: str) -> None:
    for name, occasions in _CONDITIONS:
        if getattr(rule, name) and rule.on not in occasions:
            raise ConfigError(file, f"{key}.{name}", f"applies only with on = {occasions[0]!r}, found {rule.on!r}")
    if rule.on == "event" and not rule.event:
        raise ConfigError(file, f"{key}.event", "must be given with on = 'event'")
    for name in ("min_damage", "kill"):
        if getattr(rule, name) and rule.event not in _PUNISHES:
            expected = " and ".join(_PUNISHES)
            raise ConfigError(file, f"{key}.{name}", f"only {expected} have it, so {rule.event} never applies")


def _check_actions(rule: ObsRule, file: str, key: str) -> None:
    if not any(getattr(rule, name) for name in _ACTIONS):
        raise ConfigError(file, key, f"does nothing; expected one of {', '.join(_ACTIONS)}")
    if (rule.show or rule.hide) and not rule.in_scene:
        raise ConfigError(file, f"{key}.in_scene", "must be given with `show` and `hide`")
    if rule.in_scene and not (rule.show or rule.hide):
        raise ConfigError(file, f"{key}.in_scene", "applies only with `show` or `hide`")
    both = set(rule.show) & set(rule.hide)
    if both:
        raise ConfigError(file, f"{key}.hide", f"shown by the same rule: {min(both)!r}")
    for name, words in (*((f"text.{source}", words) for source, words in rule.text.items()), ("chapter", rule.chapter)):
        _check_placeholders(words, file, f"{key}.{name}")


def _check_placeholders(words: str, file: str, key: str) -> None:
    try:
        parts = [part for part in Formatter().parse(words) if part[1] is not None]
    except ValueError as error:
        raise ConfigError(file, key, f"{error}; write {{{{ for a brace") from None
    for _, name, specification, conversion in parts:
        if name not in PLACEHOLDERS or specification or conversion:
            known = ", ".join(f"{{{each}}}" for each in PLACEHOLDERS)
            raise ConfigError(file, key, f"unknown placeholder in {words!r}; there are {known}")
