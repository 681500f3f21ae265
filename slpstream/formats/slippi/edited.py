"""Make copies of a `.slp` that have other names, another start time, or another random seed.

Display names are in Game Start since 3.9.0. They are also in the metadata, where older replays have the names of
netplay games. The start time is only in the metadata. A copy always has a raw length and metadata, because this is what
programs for tournaments expect. All events other than Game Start consist of the same bytes as in the original.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from slpstream.formats.interface import Edits
from slpstream.formats.slippi import container, metadata
from slpstream.formats.slippi.commands import GAME_END
from slpstream.formats.slippi.framing import walk_events
from slpstream.formats.slippi.game_start import PLAYER_FIELDS, PLAYERS, set_field
from slpstream.formats.slippi.reader import read_head
from slpstream.formats.slippi.text import encode_name

_PLAYED_ON = "nintendont"
"""The source in new metadata: only consoles write replays without metadata, when they are switched off."""
_DISPLAY_NAME = next(field for field in PLAYER_FIELDS if field.name == "display_name")


def edited(data: bytes, edits: Edits, *, random_seed: int | None = None) -> Sequence[bytes | memoryview]:
    """Return the parts of the copy, as described in `Format.edited`. Raises `FormatError` if there's no Game Start.

    If you pass a `random_seed`, the copy gets that one.
    """
    head = read_head(data)
    game_start = bytearray(head.game_start.data)
    start_at = head.at - len(game_start)
    raw_end = _raw_end(data, head.at, head.payloads.widths)
    for index, name in edits.names.items():
        if 0 <= index < PLAYERS:
            set_field(game_start, _DISPLAY_NAME.name, encode_name(name, _DISPLAY_NAME.kind.width_bytes), index)
    if random_seed is not None:
        set_field(game_start, "random_seed", random_seed)
    values = _changed(metadata.read_element(data, raw_end), edits, _DISPLAY_NAME.end <= len(game_start))
    return [
        container.header(raw_end - container.HEADER_BYTES),
        data[container.HEADER_BYTES : start_at],
        bytes(game_start),
        memoryview(data)[head.at : raw_end],
        metadata.MARKER + metadata.encode(values) + container.CLOSE,
    ]


def as_another_game(replay: bytes, *, random_seed: int, started_at: datetime) -> bytes:
    """Return a copy of a replay that counts as another game, so that a match can be played again.

    A game id is a hash of Game Start, so we need another random seed. `started_at` is in UTC. Raises `FormatError` if
    there's no Game Start.
    """
    return b"".join(edited(replay, Edits(started_at_ms=int(started_at.timestamp()) * 1000), random_seed=random_seed))


def _raw_end(data: bytes, frames_at: int, widths: Sequence[int]) -> int:
    """Return the offset just after the events. If there's no raw length, we have to walk over the events to find it."""
    said = container.HEADER_BYTES + container.raw_length(data)
    if container.HEADER_BYTES < said <= len(data):
        return said
    end = frames_at
    for command, _, end in walk_events(data, frames_at, len(data), widths):
        if command == GAME_END.command and data[end : end + 1] != bytes([GAME_END.command]):
            break
    return end


def _changed(values: Mapping[str, Any] | None, edits: Edits, has_names: bool) -> dict[str, Any]:
    """The metadata of the copy."""
    changed: dict[str, Any] = {} if values is None else {k: v for k, v in values.items() if v is not None}
    if edits.started_at_ms is not None:
        changed["startAt"] = datetime.fromtimestamp(edits.started_at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if values is None:
        if edits.last_frame is not None:
            changed["lastFrame"] = edits.last_frame
        changed |= {"players": {}, "playedOn": _PLAYED_ON}
    players = changed.get("players", {})
    if isinstance(players, dict) and edits.names:
        changed["players"] = _named_players(players, edits.names, has_names)
    return changed


def _named_players(players: Mapping[str, Any], names: Mapping[int, str], has_names: bool) -> dict[str, Any]:
    """Return the players of the metadata with other names.

    We change the names that are already there, and also add those for which there is no room in Game Start.
    """
    named = dict(players)
    for index, name in names.items():
        player = named.get(str(index), {})
        if isinstance(player, dict) and (not has_names or "names" in player):
            known = player.get("names")
            named[str(index)] = {**player, "names": {**(known if isinstance(known, dict) else {}), "netplay": name}}
    return named
