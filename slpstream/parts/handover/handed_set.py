"""Decide what the zip of a set should contain.

We use the payload of its `set` message and facts about its files, but don't do any I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from slpstream.formats.interface import Edits
from slpstream.model.bracket_facts import SetContext
from slpstream.model.clock_skew import ClockSkew
from slpstream.model.summary import GameSummary, PlayerSummary
from slpstream.parts.handover.context import Entrant, ReplayScore, context
from slpstream.parts.handover.names import (
    file_name,
    filled,
    numbered,
    round_short,
    short_character,
)
from slpstream.parts.handover.part import REPLAY_NAME, REPLAY_PLACEHOLDERS, ZIP_NAME, ZIP_PLACEHOLDERS

_SUFFIX = ".slp"
"""auto-slp-player refuses a zip with other files, except for the document."""
_SIDES = 2
_LAST_START_MS = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp() * 1000)
"""A day before the last moment of a `datetime`, because local time may be ahead."""


class ReplayFile(NamedTuple):
    """The replay of a game. All times are Unix times in milliseconds."""

    game_id: str
    paths: Sequence[Path]
    """The files with the replay, the best one first."""
    name: str
    """The name of the first file, without the name of its archive and the ending of its compression."""
    format: str
    summary: GameSummary
    last_frame: int | None
    duration_seconds: float
    said_at_ms: int | None
    """The start of the game by the clock of the console."""
    arrived_at_ms: int | None
    """The arrival of its first bytes, by the clock of this machine."""
    written_at_ms: int
    """The modification time of its oldest file."""

    @property
    def suffix(self) -> str:
        """The ending of the file's name, in lower case."""
        return PurePath(self.name).suffix.lower()


class Templates(NamedTuple):
    """The templates of names."""

    replay: str = REPLAY_NAME
    zip: str = ZIP_NAME
    zone: tzinfo | None = UTC
    """The time zone of `{date}` and `{time}`; `None` is that of this machine, with its offset at that date."""


class Member(NamedTuple):
    """A replay in the zip."""

    name: str
    replay: ReplayFile
    edits: Edits


class HandedSet(NamedTuple):
    """The contents of a zip."""

    name: str
    """Its name without the ending."""
    members: Sequence[Member]
    context: Mapping[str, Any] | None
    reason: str
    """Why the zip has no context, or empty if it has one."""
    missing: Sequence[str]
    """The ids of games that count and lack a file."""
    start_ms: int
    """The corrected start of the first game, in Unix milliseconds."""


class _Played(NamedTuple):
    """A replay, together with the game of the set to which it belongs."""

    replay: ReplayFile
    game: Mapping[str, Any]
    before: Sequence[int]


def handed_set(
    payload: Mapping[str, Any],
    files: Mapping[str, ReplayFile],
    *,
    skew: ClockSkew | None = None,
    completed_at_ms: int | None = None,
    bracket: SetContext | None = None,
    templates: Templates | None = None,
) -> HandedSet:
    """Return the contents of the zip for a set. These are the games that count, and the sudden deaths in which they
    ended.

    `payload` comes from a `set` message, `files` are the replays by game id, and `bracket` is what a bracket knows
    about the set. If there is a `skew`, we use it to correct the times. Otherwise, if you pass `completed_at_ms`, they
    are shifted so that the last game ends at this time. If you pass neither, the times of the replays stay as they are.
    """
    templates = templates or Templates()
    played, missing = _played(payload, files)
    shift_ms = _shift_ms([each.replay for each in played], skew, completed_at_ms)
    starts = [_start_ms(each.replay, shift_ms) for each in played]
    members = [
        Member(
            _replay_name(each, payload, number, len(played), start_ms, templates),
            each.replay,
            Edits(_names_by_index(each, payload), start_ms, each.replay.last_frame),
        )
        for number, (each, start_ms) in enumerate(zip(played, starts, strict=True), 1)
    ]
    start_ms = min(starts, default=0)
    reason = _why_no_context(payload, played)
    document = None if reason else _context(payload, played, start_ms, bracket)
    members_of_bracket = {} if bracket is None else bracket.members
    name = _zip_name(payload, played, start_ms, members_of_bracket, templates)
    return HandedSet(name, members, document, reason, missing, start_ms)


def _played(payload: Mapping[str, Any], files: Mapping[str, ReplayFile]) -> tuple[list[_Played], list[str]]:
    """Return the replays of the games that count, in order, and the ids of those games that don't have a file."""
    played: list[_Played] = []
    missing: list[str] = []
    for game in payload["games"]:
        if not game["counts"]:
            continue
        before = list(game["score"])
        winner = game.get("winner")
        if winner is not None:
            before[winner] = max(0, before[winner] - 1)
        for game_id in [game["gameId"], *(each["gameId"] for each in game.get("suddenDeaths", ()))]:
            replay = files.get(game_id)
            if replay is None:
                missing.append(game_id)
            else:
                played.append(_Played(replay, game, before))
    return played, missing


def _shift_ms(replays: Sequence[ReplayFile], skew: ClockSkew | None, completed_at_ms: int | None) -> int:
    """Return how many milliseconds to add to the times of the console.

    It is the same for the whole set, so that the breaks keep their length.
    """
    if skew is not None:
        return skew.corrected_ms(0)
    last = replays[-1] if replays else None
    if completed_at_ms is None or last is None or last.said_at_ms is None:
        return 0
    return completed_at_ms - last.said_at_ms - round(1000 * last.duration_seconds)


def _start_ms(replay: ReplayFile, shift_ms: int) -> int:
    """Return the corrected time when a game started.

    If no one has ever set the clock of a console, it can report any year, even 9999.
    """
    if replay.said_at_ms is not None:
        start_ms = replay.said_at_ms + shift_ms
    elif replay.arrived_at_ms is not None:
        start_ms = replay.arrived_at_ms
    else:
        start_ms = replay.written_at_ms - round(1000 * replay.duration_seconds)
    return max(0, min(start_ms, _LAST_START_MS))


def _why_no_context(payload: Mapping[str, Any], played: Sequence[_Played]) -> str:
    """Return the reason why other programs would refuse a document. If they would accept it, this is empty."""
    if payload.get("crewBattle") is not None:
        return "it is a crew battle, which the document has no form for"
    if len(payload["sides"]) != _SIDES:
        return f"the set has {len(payload['sides'])} sides, not two"
    nameless = [player for player in payload["players"] if not player.get("name")]
    if nameless:
        return f"the player at port {nameless[0]['port']} has no name"
    if not played:
        return "the set has no game that counts"
    if max(side["score"] for side in payload["sides"]) < 1:
        return "nobody has won a game"
    if any(each.replay.suffix != _SUFFIX for each in played):
        return f"there are replays other than {_SUFFIX}"
    if any(each.replay.last_frame is None for each in played):
        return "a replay has no frames"
    return ""


def _context(
    payload: Mapping[str, Any],
    played: Sequence[_Played],
    start_ms: int,
    bracket: SetContext | None,
) -> dict[str, Any]:
    order = sorted(range(_SIDES), key=lambda side: min(_ports(played[0], payload, side)))
    sides = []
    for side in order:
        players = _players_of(payload, side)
        sides.append(
            Entrant(
                [player["name"] for player in players],
                [player.get("sponsor") or "" for player in players],
                [player.get("pronouns") or "" for player in players],
                [_characters_of(player, side, payload, played) for player in players],
            )
        )
    replays = [
        ReplayScore(
            [_ports(each, payload, side) for side in order],
            [each.before[side] for side in order],
            each.replay.last_frame or 0,
        )
        for each in played
    ]
    final = [payload["sides"][side]["score"] for side in order]
    if bracket is None:
        return context(sides, replays, final, start_ms=start_ms)
    entrants = [order.index(side) for side in ((1, 0) if bracket.swapped else (0, 1))]
    return context(sides, replays, final, start_ms=start_ms, entrants=entrants, bracket=bracket.members)


def _players_of(payload: Mapping[str, Any], side: int) -> list[Mapping[str, Any]]:
    """Return the members that a side had in the newest game."""
    return [player for player in payload["players"] if player["side"] == side]


def _seats(each: _Played, payload: Mapping[str, Any], side: int) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the members of the given side. For each of them, you also get the player who this was in one game.

    To identify members, we use the names in the replay, or else the ports. If this doesn't work for two members, the
    order decides.
    """
    free = [player for player in each.game["players"] if player["side"] == side]
    if payload.get("crewBattle") is not None:  # each of its games has other players
        return [(player, player) for player in free]
    named = {player.index: player for player in each.replay.summary.players}
    found: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    members = _players_of(payload, side)
    for member in members:
        same = [player for player in free if _same_person(member, named.get(player["playerIndex"]))]
        taken = {other["playerIndex"] for other in members if other is not member}
        same = same or [player for player in free if player["playerIndex"] == member["playerIndex"]]
        same = same or [player for player in free if player["playerIndex"] not in taken] or free
        if same:
            free.remove(same[0])
            found.append((member, same[0]))
    return found


def _same_person(member: Mapping[str, Any], player: PlayerSummary | None) -> bool:
    if player is None:
        return False
    pairs = ((member.get("connectCode"), player.code), (member.get("netplayName"), player.name))
    known = next(((said, seen) for said, seen in pairs if said and seen), (member.get("tag"), player.tag))
    return bool(known[0]) and known[0] == known[1]


def _ports(each: _Played, payload: Mapping[str, Any], side: int) -> list[int]:
    return [player["port"] for _, player in _seats(each, payload, side)]


def _names_by_index(each: _Played, payload: Mapping[str, Any]) -> dict[int, str]:
    """Return the names that should be written into a replay, by player index."""
    return {
        player["playerIndex"]: member["name"]
        for side in range(len(payload["sides"]))
        for member, player in _seats(each, payload, side)
        if member.get("name")
    }


def _character(each: _Played, index: int) -> str:
    found = next((player for player in each.replay.summary.players if player.index == index), None)
    return "" if found is None else short_character(found.character.text)


def _characters_of(
    member: Mapping[str, Any], side: int, payload: Mapping[str, Any], played: Sequence[_Played]
) -> list[str]:
    """Return the characters of the given member, in the order in which they were used for the first time."""
    found = [
        _character(each, player["playerIndex"])
        for each in played
        for other, player in _seats(each, payload, side)
        if other is member
    ]
    return [name for name in dict.fromkeys(found) if name]


def _label(member: Mapping[str, Any]) -> str:
    return member.get("name") or f"Player {member['port']}"


def _with_characters(name: str, characters: Sequence[str]) -> str:
    return f"{name} ({', '.join(characters)})" if characters else name


def _replay_name(
    each: _Played, payload: Mapping[str, Any], ordinal: int, count: int, start_ms: int, templates: Templates
) -> str:
    sides = [_seats(each, payload, side) for side in range(len(payload["sides"]))]
    names = [" + ".join(_label(member) for member, _ in seats) for seats in sides]
    described = [
        " + ".join(
            _with_characters(_label(member), [name for name in [_character(each, player["playerIndex"])] if name])
            for member, player in seats
        )
        for seats in sides
    ]
    number = numbered(ordinal, count)
    values = {
        **_moment(start_ms, templates, "%H%M%S"),
        **_round(payload),
        "stage": each.replay.summary.place.text,
        "ordinal": number,
        "playersOnly": ", ".join(names),
        "playersChars": ", ".join(described),
        "singlesChars": ", ".join(described if all(len(seats) == 1 for seats in sides) else names),
    }
    text = file_name(number + filled(templates.replay, REPLAY_PLACEHOLDERS, values))
    return text + each.replay.suffix


def _zip_name(
    payload: Mapping[str, Any],
    played: Sequence[_Played],
    start_ms: int,
    bracket: Mapping[str, Mapping[str, Any]],
    templates: Templates,
) -> str:
    sides = [_players_of(payload, side) for side in range(len(payload["sides"]))]
    names = [" + ".join(_label(member) for member in members) for members in sides]
    described = [
        " + ".join(
            _with_characters(_label(member), _characters_of(member, side, payload, played)) for member in members
        )
        for side, members in enumerate(sides)
    ]
    if payload.get("crewBattle") is not None:
        names = [side.get("name") or f"Crew {number}" for number, side in enumerate(payload["sides"], 1)]
        described = names
    known = next(iter(bracket.values()), {})
    event = known.get("event", {}).get("name") or payload.get("event") or ""
    phase = known.get("phase", {}).get("name") or ""
    several = known.get("phase", {}).get("hasSiblings") is not False and bool(phase)
    values = {
        **_moment(start_ms, templates, "%H%M"),
        **_round(payload),
        "games": str(len(played)),
        "tournamentName": known.get("tournament", {}).get("name") or "",
        "tournamentSlug": known.get("tournament", {}).get("slug") or "",
        "event": event,
        "phase": phase,
        "phaseGroup": known.get("phaseGroup", {}).get("name") or "",
        "phaseOrEvent": phase if several else event,
        "playersOnly": " vs ".join(names),
        "playersChars": " vs ".join(described),
        "singlesChars": " vs ".join(described if all(len(members) == 1 for members in sides) else names),
    }
    return file_name(filled(templates.zip, ZIP_PLACEHOLDERS, values))


def _moment(start_ms: int, templates: Templates, time_format: str) -> dict[str, str]:
    began = datetime.fromtimestamp(start_ms / 1000, templates.zone)
    return {"date": began.strftime("%Y%m%d"), "time": began.strftime(time_format)}


def _round(payload: Mapping[str, Any]) -> dict[str, str]:
    text = payload.get("round") or ""
    return {"roundShort": round_short(text), "roundLong": text}
