"""What the index keeps of a game, taken from its events. Pure.

No format is known here. Settings, metadata and the like are kept as the JSON of the messages; who played is looked for
under the names that the formats' settings have on the wire, in the tables below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from slpstream.model.events import Event, GameEnd, GameStart, Metadata, StatsUpdate

_encode = msgspec.json.Encoder().encode

_PLAYER_LISTS = ("players", "racers")
_SINGLE_PLAYERS = ("player", "opponent")
"""Where the settings have those who play: lists of objects, or objects."""

_PLAYER_KEYS: Mapping[str, tuple[str, ...]] = {
    "name": ("displayName", "nametag", "name"),
    "code": ("connectCode",),
    "tag": ("nametag",),
    "port": ("port",),
    "character": ("characterId", "machine", "car"),
    "color": ("characterColor", "color"),
    "team": ("teamId",),
    "human": ("human",),
}
"""What is kept of a player, and under which names the settings have it; the first that says something counts."""

_SETUP_KEYS = (
    "stageId",
    "course",
    "track",
    "mode",
    "gameMode",
    "isTeams",
    "cc",
    "mirror",
    "laps",
    "difficulty",
    "kind",
)
"""What of the settings is shown in a list of games: where it was played, and by which rules."""

_STATS_LISTS = ("overall",)
"""What of the stats is kept beside their plain values."""

_EARLIEST = datetime(2001, 11, 21, tzinfo=UTC)
"""The first of our games was published on that day; a console whose clock was never set says something before."""


class Facts(msgspec.Struct, kw_only=True):
    """What is known of a game. `None` is what was not said (yet); values with `JSON` in their description are
    encoded."""

    game_id: str
    format: str | None = None
    rate: bytes | None = None
    """JSON: frames per second as a fraction."""
    settings: bytes | None = None
    """JSON."""
    setup: bytes | None = None
    """JSON: the part of the settings that a list shows."""
    players: bytes | None = None
    """JSON: a list of objects with the keys of `_PLAYER_KEYS`, and `index`."""
    metadata: bytes | None = None
    """JSON."""
    game_end: bytes | None = None
    """JSON: the payload of `game_end`."""
    winners: bytes | None = None
    """JSON: player indices."""
    standings: bytes | None = None
    """JSON: stocks and percent at the end, by player index."""
    reason: str | None = None
    last_frame: int | None = None
    duration_seconds: float | None = None
    stats: bytes | None = None
    """JSON: the summary of the stats at the end."""
    said_at_ms: int | None = None
    """When the game began, Unix time, as the file says; `None` when it does not."""

    def updated(self, later: Facts) -> Facts:
        """These, with what was said later of the same game."""
        said = {name: value for name in self.__struct_fields__ if (value := getattr(later, name)) is not None}
        return msgspec.structs.replace(self, **said)


class Entry(msgspec.Struct, kw_only=True):
    """A file, and what is known of the game in it; `facts` is `None` when there is none, and `problem` says why."""

    station: str
    path: bytes
    """As the file system has it."""
    mtime_ns: int
    size_bytes: int
    facts: Facts | None = None
    problem: str | None = None

    def updated(self, later: Entry) -> Entry:
        """This, with what was said later of the same file."""
        if self.facts is None or later.facts is None or self.facts.game_id != later.facts.game_id:
            return later
        return msgspec.structs.replace(later, facts=self.facts.updated(later.facts))


def facts_of(game_id: str, events: Iterable[Event]) -> Facts:
    """What some events of a game say that the index keeps."""
    facts = Facts(game_id=game_id)
    stats: StatsUpdate | None = None
    for event in events:
        if isinstance(event, GameStart):
            _start(facts, event)
        elif isinstance(event, GameEnd):
            _end(facts, event)
        elif isinstance(event, Metadata):
            facts.metadata = _encode(event.metadata)
            facts.said_at_ms = _unix_ms(event.metadata.get("startAt")) or facts.said_at_ms
        elif isinstance(event, StatsUpdate):
            stats = event
    if facts.reason is not None and stats is not None:
        facts.stats = stats_summary(stats.stats)
    return facts


def stats_summary(stats: Any) -> bytes:
    """JSON of the part of the stats that is kept."""
    plain = msgspec.to_builtins(stats)
    if not isinstance(plain, dict):
        return _encode({})
    return _encode(
        {key: value for key, value in plain.items() if key in _STATS_LISTS or not isinstance(value, (dict, list))}
    )


def _start(facts: Facts, event: GameStart) -> None:
    facts.format = event.format
    facts.rate = _encode(event.rate)
    facts.settings = _encode(event.settings)
    settings = msgspec.json.decode(facts.settings)
    if not isinstance(settings, dict):
        settings = {}
    facts.setup = _encode({key: settings[key] for key in _SETUP_KEYS if settings.get(key) is not None})
    facts.players = _encode(list(_players(settings)))
    facts.said_at_ms = _unix_ms(settings.get("recordedAt")) or _unix_ms(settings.get("savedAt"))


def _end(facts: Facts, event: GameEnd) -> None:
    payload = {
        "reason": event.reason,
        "gameEnd": event.game_end,
        "winners": event.winners,
        "lastFrame": event.last_frame,
        "durationSeconds": event.duration_seconds,
        **event.values,
    }
    facts.game_end = _encode({key: value for key, value in payload.items() if value is not None})
    facts.winners = _encode([_index(winner, i) for i, winner in enumerate(msgspec.to_builtins(event.winners))])
    facts.standings = _encode({str(index): standing for index, standing in event.standings.items()})
    facts.reason = event.reason
    facts.last_frame = event.last_frame
    facts.duration_seconds = event.duration_seconds


def _players(settings: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    found: list[Any] = next((settings[key] for key in _PLAYER_LISTS if isinstance(settings.get(key), list)), [])
    if not found:
        found = [settings[key] for key in _SINGLE_PLAYERS if isinstance(settings.get(key), dict)]
    for i, player in enumerate(found):
        if not isinstance(player, dict):
            continue
        kept: dict[str, Any] = {"index": _index(player, i)}
        for name, keys in _PLAYER_KEYS.items():
            value = next((player[key] for key in keys if player.get(key) not in (None, "")), None)
            if value is not None:
                kept[name] = value
        yield kept


def _index(value: Any, position: int) -> int:
    """The player index of an object that may have one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, dict):
        found = value.get("playerIndex", value.get("index"))
        if isinstance(found, int):
            return found
    return position


def players_with_names(players: bytes, metadata: bytes | None) -> list[dict[str, Any]]:
    """The players; what the settings do not name is named by the metadata (`names`: `netplay`, `code`)."""
    found: list[dict[str, Any]] = msgspec.json.decode(players)
    said = msgspec.json.decode(metadata) if metadata is not None else None
    by_index = said.get("players") if isinstance(said, dict) else None
    if not isinstance(by_index, dict):
        return found
    for player in found:
        entry = by_index.get(str(player["index"]))
        names = entry.get("names") if isinstance(entry, dict) else None
        if isinstance(names, dict):
            for name, key in (("name", "netplay"), ("code", "code")):
                if name not in player and isinstance(names.get(key), str) and names[key]:
                    player[name] = names[key]
    return found


def search_terms(players: Iterable[Mapping[str, Any]]) -> set[str]:
    """Under what a game's players are found: names, codes and tags without regard to case."""
    values = (player.get(key) for player in players for key in ("name", "code", "tag"))
    return {folded(value) for value in values if isinstance(value, str)}


def folded(name: str) -> str:
    """A name as it is searched for."""
    return name.strip().casefold()


def _unix_ms(text: Any) -> int | None:
    """A date and time of a file, or `None` when it is none that can be true."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        if moment < _EARLIEST:
            return None
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
