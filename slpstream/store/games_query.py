"""The query of `/v1/games`.

It is decoded from the URL and checked by its types, and the database converts it to SQL.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

MAX_GAMES = 200
MAX_QUERY_CHARS = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_TIME_CHARS = 40
_KEY = re.compile(r"-?[0-9]{1,15}\.[0-9a-f]{32}")


class StartTime(int):
    """When a game began, as Unix time in milliseconds.

    In a URL, you write this as a day or as an RFC 3339 date and time.
    """

    @classmethod
    def parse(cls, text: str) -> StartTime:
        """Parse a time. If you give only a day, this means midnight UTC, and a time without an offset is UTC too.

        Raises `ValueError` if the text is anything else.
        """
        try:
            if len(text) > _MAX_TIME_CHARS:
                raise ValueError
            moment = datetime.fromisoformat(text.upper().replace(" ", "+"))  # an unescaped `+` arrives as a space
            aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            return cls((aware - _EPOCH) // timedelta(milliseconds=1))
        except (ValueError, OverflowError):
            raise ValueError("expected a date and time as in RFC 3339, or a day") from None


class GameKey(tuple[int, str]):
    """The place of a game in the list, which is sorted newest first.

    It consists of the Unix time in milliseconds, and the game id.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> GameKey:
        """Parse a key that was converted to text with `str`. Raises `ValueError` for any other text."""
        if not _KEY.fullmatch(text):
            raise ValueError("expected `next` of the previous page")
        started_ms, _, game_id = text.partition(".")
        return cls((int(started_ms), game_id))

    def __str__(self) -> str:
        return f"{self[0]}.{self[1]}"


_Name = Annotated[str, Meta(min_length=1, max_length=200)]
_Time = Annotated[
    StartTime,
    Meta(extra_json_schema={"anyOf": [{"format": "date-time"}, {"format": "date"}], "maxLength": _MAX_TIME_CHARS}),
]


class GamesQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Which games to list."""

    station: Annotated[_Name | UnsetType, Meta(description="Only games of this station.")] = UNSET
    player: Annotated[
        _Name | UnsetType,
        Meta(description="Only games of a player: display name, connect code or tag, ignoring case."),
    ] = UNSET
    format: Annotated[_Name | UnsetType, Meta(description="Only games of this format: `slippi`, `gci`, ...")] = UNSET
    query: Annotated[
        Annotated[str, Meta(max_length=MAX_QUERY_CHARS)] | UnsetType,
        Meta(
            description="Only games that match a query in the syntax of the Slippi Launcher and its extensions: "
            "`fox>marth stage:fd duration:>3m`."
        ),
    ] = UNSET
    since: Annotated[
        _Time | UnsetType,
        Meta(description="Only games that arrived or else began at this time or later; RFC 3339, or a day."),
    ] = UNSET
    until: Annotated[
        _Time | UnsetType,
        Meta(description="Only games that arrived or else began before this time; RFC 3339, or a day."),
    ] = UNSET
    watched: Annotated[
        bool,
        Meta(
            description="Only games with a file in a folder that this daemon watches now. The index also has games of "
            "folders that were watched earlier."
        ),
    ] = False
    order: Annotated[
        Literal["began", "ended"],
        Meta(
            description="`began`: newest first by when they arrived or else began. `ended`: only games that have "
            "ended, newest first by `endedAt`, to which `since` and `until` then refer. The order of two games never "
            "changes while pages are read, and games that end meanwhile come before the first page."
        ),
    ] = "began"
    limit: Annotated[int, Meta(ge=1, le=MAX_GAMES, description="Maximum number of games.")] = 50
    cursor: Annotated[
        Annotated[GameKey, Meta(extra_json_schema={"pattern": f"^{_KEY.pattern}$"})] | UnsetType,
        Meta(description="Where the page begins: `next` of the previous page, which had the same `order`."),
    ] = UNSET
