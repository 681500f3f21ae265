"""Checks of `[[webhooks]]`."""

from __future__ import annotations

from slpstream.config.checks import check_readable
from slpstream.config.sections import Config
from slpstream.config.urls import check_url
from slpstream.model.errors import ConfigError
from slpstream.parts.webhooks.part import Webhook


def check(config: Config, file: str) -> None:
    """Check the sections. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    for i, webhook in enumerate(config.sections(Webhook)):
        key = f"webhooks[{i}]"
        check_url(webhook.url, ("http", "https"), file, f"{key}.url")
        if not webhook.secret_file:
            raise ConfigError(file, f"{key}.secret_file", "expected a file")
        check_readable(webhook.secret_file, file, f"{key}.secret_file")
