"""Make copies of a `.slp` that have other names or another start time.

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
from slpstream.formats.slippi.commands import GAME_END, GAME_START
from slpstream.formats.slippi.framing import read_event_payloads, walk_events, width_of_event_payloads
from slpstream.formats.slippi.game_start import PLAYER_FIELDS, PLAYERS
from slpstream.formats.slippi.text import encode_name
from slpstream.model.errors import FieldError, FramingError, WrongFormat

_PLAYED_ON = "nintendont"
"""The source in new metadata: only consoles write replays without metadata, when they are switched off."""
_DISPLAY_NAME = next(field for field in PLAYER_FIELDS if field.name == "display_name")


def edited(data: bytes, edits: Edits) -> Sequence[bytes | memoryview]:
    """Return the parts of the copy, as described in `Format.edited`. Raises `FormatError` if there's no Game Start."""
    container.check_magic(data)
    if len(data) <= container.HEADER_BYTES:
        raise WrongFormat("the replay has no events", offset=len(data))
    width = width_of_event_payloads(data, container.HEADER_BYTES, container.HEADER_BYTES)
    start_at = container.HEADER_BYTES + (width or 0)
    widths = read_event_payloads(data[container.HEADER_BYTES : start_at]).widths
    start_end = start_at + widths[GAME_START]
    if width is None or len(data) < start_end or data[start_at] != GAME_START or not widths[GAME_START]:
        raise FramingError("the first event is no Game Start", offset=start_at, command=GAME_START)
    raw_end = _raw_end(data, start_at, widths)
    values = _changed(_metadata(data, raw_end), edits, _DISPLAY_NAME.end <= widths[GAME_START])
    return [
        container.header(raw_end - container.HEADER_BYTES),
        data[container.HEADER_BYTES : start_at],
        _named(data[start_at:start_end], edits.names),
        memoryview(data)[start_end:raw_end],
        metadata.MARKER + metadata.encode(values) + container.CLOSE,
    ]


def _raw_end(data: bytes, start_at: int, widths: Sequence[int]) -> int:
    """Return the offset just after the events. If there's no raw length, we have to walk over the events to find it."""
    said = container.HEADER_BYTES + container.raw_length(data[: container.HEADER_BYTES])
    if container.HEADER_BYTES < said <= len(data):
        return said
    end = start_at
    for command, _, event_end in walk_events(data, start_at, len(data), widths):
        if data.startswith(metadata.MARKER, end) and not widths[metadata.MARKER[0]]:
            break
        end = event_end
        if command == GAME_END.command and data[end : end + 1] != bytes([GAME_END.command]):
            break
    return end


def _metadata(data: bytes, raw_end: int) -> dict[str, Any] | None:
    """Return the metadata of the original, or `None` if it is missing, incomplete or damaged."""
    if not data.startswith(metadata.MARKER, raw_end):
        return None
    rest = data[raw_end + len(metadata.MARKER) :]
    try:
        length = metadata.MetadataScan(raw_end + len(metadata.MARKER)).advance(rest)
        return None if length is None else metadata.decode(rest[:length], offset=raw_end).values
    except FieldError:
        return None


def _named(game_start: bytes, names: Mapping[int, str]) -> bytes:
    """Return Game Start with other display names. If it has no fields for them, it stays the same."""
    changed = bytearray(game_start)
    width = _DISPLAY_NAME.kind.width_bytes
    for index, name in names.items():
        at = _DISPLAY_NAME.offset + _DISPLAY_NAME.stride_bytes * index
        if 0 <= index < PLAYERS and at + width <= len(changed):
            changed[at : at + width] = encode_name(name, width)
    return bytes(changed)


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
