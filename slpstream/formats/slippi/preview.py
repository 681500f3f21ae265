"""A preview of a `.slp`. We only read Game Start from its first bytes, and Game End and the metadata from its last
ones.

If you have thousands of files, most of the time would be spent on reading frames. With this, you can describe a
finished replay without them. Both parts are read by the reader of the live path, which continues after the bytes that
were left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slpstream.formats.interface import Preview
from slpstream.formats.slippi import container
from slpstream.formats.slippi.assembler import FramesBefore
from slpstream.formats.slippi.commands import FIRST_FRAME, FRAME_START, GAME_END, PRE_FRAME
from slpstream.formats.slippi.frame_events import FRAMED, frame_number
from slpstream.formats.slippi.framing import walk_events
from slpstream.formats.slippi.reader import read_head
from slpstream.formats.slippi.result import TIME, limits_ledge_grabs
from slpstream.model.events import Diagnostic, Frame, GameEnd, GameStart, Metadata, first_of

_MAX_SENDINGS = 4
"""A player's frames that count, for each frame number: the frames of Nana count too, and those before rollbacks."""
_MAX_FRAME_RATIO = 2
"""How much larger than the average frame the last one may be, which can have more items."""
_MAX_OLD_FRAME_BYTES = 8 * (67 + 85)
"""The largest frame of a version before 2.2, which has no Frame Start: four players with followers."""


def read_preview(head: bytes, tail: bytes, tail_offset: int) -> Preview | None:
    """Return a preview of a finished replay, given its first and last bytes. `tail_offset` is the file offset of the
    last bytes.

    If it turns out that we have to read the whole file, this returns `None`. There are many possible reasons: a mode
    without stocks, no Game End or two of them, no metadata, a last frame that is sent again by a rollback or has late
    events, a player who is missing in that frame although they need not be out, frame numbers that may not count from
    -123 on, a timeout that ledge grabs can decide, or a Game End without a method. We search for the last frame from
    the end. If its events lead exactly to Game End, its boundaries are right. Raises `FormatError` if there's no Game
    Start.
    """
    reader, payloads, _, at, early = read_head(head)
    start = first_of(GameStart, early)
    if start is None or not start.settings.takes_stocks:
        return None
    if not reader.raw_length_bytes or reader.stage != "events" or tail_offset < at:
        return None
    raw_end = container.HEADER_BYTES + reader.raw_length_bytes
    end_bytes = payloads.widths[GAME_END.command]
    end_at = raw_end - end_bytes - tail_offset
    if not end_bytes or not 0 < end_at < len(tail) or tail[end_at] != GAME_END.command:
        return None
    last_at = _last_sending(tail, end_at, payloads.widths)
    if last_at is None:
        return None
    frames_in_head = walk_events(head, at, len(head), payloads.widths)  # none if there's a long Gecko List
    first = next((frame_number(head, start_at) for command, start_at, _ in frames_in_head if command in FRAMED), None)
    reader = reader.resumed_after_frames(tail_offset + last_at, FramesBefore(FIRST_FRAME if first is None else first))
    events = [*reader.feed(tail[last_at:]), *reader.finish()]
    end, metadata = first_of(GameEnd, events), first_of(Metadata, events)
    frames = [event for event in events if isinstance(event, Frame)]
    if end is None or end.game_end is None or end.reason != "game_end" or metadata is None or len(frames) != 1:
        return None
    if any(isinstance(event, Diagnostic) and event.code == "late_event" for event in events):
        return None
    if limits_ledge_grabs(start.settings) and end.game_end.game_end_method == TIME:
        return None
    last = frames[0]
    if metadata.metadata.get("lastFrame") != last.number or last.number == first:
        return None
    if first is None and not _counts_from_first(last.number, end_at - last_at, raw_end - at, metadata.metadata):
        return None
    if len(end.standings) < len(start.settings.players):
        return None
    return Preview(start, end, metadata)


def _counts_from_first(last: int, frame_bytes: int, all_bytes: int, metadata: Mapping[str, Any]) -> bool:
    """Whether it is possible that a game has all frames from -123 to the last one.

    The metadata tells us how many frames each player has with each character, where a repeated frame counts again. If
    we don't have these numbers, we can at least check that the frames would fit into the file.
    """
    frames = last - FIRST_FRAME + 1
    played: list[int] = []
    players = metadata.get("players")
    for player in players.values() if isinstance(players, dict) else ():
        characters = player.get("characters") if isinstance(player, dict) else None
        counts = characters.values() if isinstance(characters, dict) else ()
        played.append(sum(count for count in counts if isinstance(count, int)))
    if any(played):
        return frames <= max(played) <= _MAX_SENDINGS * frames
    return frames * frame_bytes <= _MAX_FRAME_RATIO * all_bytes


def _last_sending(tail: bytes, end_at: int, widths: Sequence[int]) -> int | None:
    """Return the position of the frame that ends at `end_at`, or `None` if there are no events of one frame number that
    lead exactly there.
    """
    opening = FRAME_START.command if widths[FRAME_START.command] else PRE_FRAME.command
    at = end_at
    found = None
    while (at := tail.rfind(bytes([opening]), 0, at)) >= 0:
        if _leads_to(tail, at, end_at, widths):
            found = at
            if opening == FRAME_START.command:
                return found
        elif found is not None and end_at - at > _MAX_OLD_FRAME_BYTES:
            return found
    return found


def _leads_to(tail: bytes, at: int, end_at: int, widths: Sequence[int]) -> bool:
    number = tail[at + 1 : at + 5]
    end = at
    for command, start, event_end in walk_events(tail, at, end_at, widths):
        if command not in FRAMED or tail[start + 1 : start + 5] != number:
            return False
        end = event_end
    return end == end_at
