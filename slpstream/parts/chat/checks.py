"""Checks of `[[chat]]`."""

from __future__ import annotations

import re

from slpstream.config.checks import check_readable
from slpstream.config.sections import Config
from slpstream.config.urls import check_url
from slpstream.model.errors import ConfigError
from slpstream.parts.chat.part import CHAT_PLACEHOLDERS, Chat
from slpstream.parts.chat.template import Template


def check(config: Config, file: str) -> None:
    """Check the sections. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    for i, chat in enumerate(config.sections(Chat)):
        key = f"chat[{i}]"
        if not chat.url_file:
            raise ConfigError(file, f"{key}.url_file", "expected a file")
        check_readable(chat.url_file, file, f"{key}.url_file")
        for name, placeholders in CHAT_PLACEHOLDERS.items():
            try:
                Template(getattr(chat, name), placeholders)
            except ValueError as error:
                raise ConfigError(file, f"{key}.{name}", str(error)) from error
        if chat.link and not re.match(r"https?://[^/\s]", chat.link):
            raise ConfigError(file, f"{key}.link", f"expected http:// or https://, found {chat.link!r}")
        if chat.avatar_url:
            check_url(chat.avatar_url, ("http", "https"), file, f"{key}.avatar_url")
        if re.search("discord|clyde|```", chat.username, re.IGNORECASE):
            raise ConfigError(file, f"{key}.username", f"Discord does not allow the name {chat.username!r}")
