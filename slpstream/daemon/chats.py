"""The configured chats of a daemon. This module is imported only when there are any."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from slpstream.config import CHAT_PLACEHOLDERS, Chat, read_secret
from slpstream.model.errors import ConfigError
from slpstream.model.template import Template
from slpstream.model.version import __version__
from slpstream.outputs.chat.messages import Templates
from slpstream.outputs.chat.sink import ChatEvent, ChatSink, discord_post
from slpstream.outputs.delivery import Deliverer, Outcome, Receiver
from slpstream.outputs.post import target_of
from slpstream.store.deliveries import DeliveryStore

_ALL_EVENTS: frozenset[ChatEvent] = frozenset({"game_end", "set_end"})


def chat_receivers(wanted: Sequence[Chat]) -> list[Receiver]:
    """The receivers of the chats, which are identified by their URLs. Raises `ConfigError`."""
    found: list[Receiver] = []
    names = Counter[str]()
    for i, chat in enumerate(wanted):
        key = f"chat[{i}].url_file"
        url = read_secret(Path(chat.url_file), key)
        try:
            authority = target_of(url).authority
        except ValueError as error:
            raise ConfigError("configuration", key, f"the first line: {error}") from None
        name = chat.name or authority
        names[name] += 1
        receiver = Receiver(
            id=hashlib.sha256(f"chat {i} {url}".encode()).hexdigest()[:16],
            name=name if names[name] == 1 else f"{name}-{names[name]}",
            url=url,
            secret=b"",
            timeout_seconds=chat.timeout_seconds,
            keep_seconds=chat.keep_hours * 3600,
            user_agent=f"slpstream/{__version__}",
        )
        found.append(receiver)
    return found


def make_chat(
    wanted: Chat, receiver: Receiver, store: DeliveryStore, count: Callable[[Outcome, int], None]
) -> ChatSink:
    """The sink of a chat. `count` counts deliveries by outcome."""
    return ChatSink(
        Deliverer(receiver, store, on_outcome=count, post=discord_post()),
        store,
        id=receiver.id,
        name=receiver.name,
        templates=Templates(
            game=Template(wanted.game_message, CHAT_PLACEHOLDERS["game_message"]),
            set=Template(wanted.set_message, CHAT_PLACEHOLDERS["set_message"]),
            link=Template(wanted.link, CHAT_PLACEHOLDERS["link"]),
            username=wanted.username,
            avatar_url=wanted.avatar_url,
        ),
        events=frozenset(wanted.events) or _ALL_EVENTS,
        stations=frozenset(wanted.stations) or None,
    )
