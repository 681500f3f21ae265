"""The options that several commands for replays share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from slpstream.model.topics import TOPICS

Callback = TypeVar("Callback", bound=Callable[..., Any])


def parse_topics(context: click.Context, parameter: click.Parameter, value: str) -> frozenset[str]:
    """Parse a comma-separated list of topics. Raises `click.BadParameter` if it isn't valid."""
    topics = frozenset(part.strip() for part in value.split(",") if part.strip())
    unknown = topics - set(TOPICS)
    if unknown or not topics:
        raise click.BadParameter(f"expected some of {', '.join(TOPICS)}; found {', '.join(sorted(unknown)) or 'none'}")
    return topics


def topics_option(default: str) -> Callable[[Callback], Callback]:
    """Return the option `--topics`. Its default differs between commands."""
    return click.option(
        "--topics",
        default=default,
        show_default=True,
        callback=parse_topics,
        help=f"Topics to include, separated by commas: {','.join(TOPICS)}.",
    )


ALL_TOPICS = ",".join(TOPICS)

frames_option = click.option(
    "--frames",
    type=click.Choice(["live", "finalized"]),
    default="live",
    show_default=True,
    help="Every revision of each frame as it came, or each frame once when it is final.",
)
strict_option = click.option("--strict", is_flag=True, help="Refuse files with a wrong checksum.")
personal_option = click.option(
    "--personal",
    is_flag=True,
    help="Keep data that identifies a person beyond the name: the Mii and profile id of a ghost.",
)
