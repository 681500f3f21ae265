"""All chats of a daemon."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import trio

from slpstream.config.secrets import read_secret
from slpstream.model.errors import ConfigError
from slpstream.model.version import __version__
from slpstream.parts.chat.messages import Templates
from slpstream.parts.chat.part import CHAT_PLACEHOLDERS, Chat
from slpstream.parts.chat.sink import ChatEvent, ChatSink, discord_post
from slpstream.parts.chat.template import Template
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import Deliveries, EarlierMeetings, Meetings, Receiver
from slpstream.stream.channel import Channel
from slpstream.system.http_client import target_of
from slpstream.system.text import numbered

_RESULTS: frozenset[ChatEvent] = frozenset({"game_end", "set_end"})


class Chats(RunningPart):
    """All chats. If one of them can't be reached, this doesn't delay the others."""

    def __init__(self, host: Host) -> None:
        """Raises `ConfigError` if a URL can't be read."""
        self._host = host
        wanted = host.config.sections(Chat)
        self._wanted = list(zip(wanted, _receivers(wanted), strict=True))
        self._chats: list[ChatSink] = []

    def open(self) -> None:
        """Create the sinks. Raises `ConfigError` if there is nothing that stores deliveries."""
        deliveries = self._host.find(Deliveries)
        if deliveries is None:
            raise ConfigError("configuration", "chat", "this installation has no part for deliveries")
        self._chats = [self._sink(deliveries, wanted, receiver) for wanted, receiver in self._wanted]

    async def run(self) -> None:
        """Post messages until cancelled."""
        async with trio.open_nursery() as nursery:
            for each in self._chats:
                nursery.start_soon(partial(self._host.errors.keep_running, "chat", each.run, chat=each.name))

    async def follow(self, channel: Channel) -> None:
        """Keep track of the games of a station."""
        async with trio.open_nursery() as nursery:
            for each in self._chats:
                follow = partial(each.follow, channel)
                nursery.start_soon(partial(self._host.errors.keep_running, "chat", follow, station=channel.station))

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Make messages about a set."""
        for each in self._chats:
            with self._host.errors.contain("chat", station=station, chat=each.name):
                each.set_changed(station, payload)

    def not_ready(self) -> list[str]:
        """Return those chats to which nothing can be posted.

        If a chat is just down, it might come back, so its messages wait.
        """
        return [f"chat {each.name}: its webhook does not exist" for each in self._chats if each.gone]

    async def _meetings(self, station: str) -> Meetings | None:
        earlier = self._host.find(EarlierMeetings)
        return None if earlier is None else await earlier.meetings(station)

    def _sink(self, deliveries: Deliveries, wanted: Chat, receiver: Receiver) -> ChatSink:
        return ChatSink(
            deliveries.deliverer(receiver, post=discord_post()),
            deliveries.store,
            id=receiver.id,
            name=receiver.name,
            templates=Templates(
                game=Template(wanted.game_message, CHAT_PLACEHOLDERS["game_message"]),
                set=Template(wanted.set_message, CHAT_PLACEHOLDERS["set_message"]),
                start=Template(wanted.start_message, CHAT_PLACEHOLDERS["start_message"]),
                link=Template(wanted.link, CHAT_PLACEHOLDERS["link"]),
                username=wanted.username,
                avatar_url=wanted.avatar_url,
            ),
            events=frozenset(wanted.events) or _RESULTS,
            meetings=self._meetings,
            stations=frozenset(wanted.stations) or None,
        )


def _receivers(wanted: list[Chat]) -> list[Receiver]:
    """Return the receivers of the chats, which are identified by their URLs.

    Raises `ConfigError` if there's a problem.
    """
    found: list[Receiver] = []
    names = Counter[str]()
    for i, chat in enumerate(wanted):
        key = f"chat[{i}].url_file"
        url = read_secret(Path(chat.url_file), key)
        try:
            authority = target_of(url).authority
        except ValueError as error:
            raise ConfigError("configuration", key, f"the first line: {error}") from None
        found.append(
            Receiver(
                id=hashlib.sha256(f"chat {i} {url}".encode()).hexdigest()[:16],
                name=numbered(chat.name or authority, names),
                url=url,
                secret=b"",
                timeout_seconds=chat.timeout_seconds,
                keep_seconds=chat.keep_hours * 3600,
                user_agent=f"slpstream/{__version__}",
            )
        )
    return found
