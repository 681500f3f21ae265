"""TournamentStreamHelper (TSH) over HTTP. We send it the names, characters, costumes and score, and also best of and
the round.

We have looked at joaorb64/TournamentStreamHelper, versions 5.2 to 5.99. The sides of TSH are the ones that you see on
screen. The only exception is `/score` in older versions, which uses the order of the set's entrants, so after *Swap
Teams* it is reversed. Since we can't tell the versions apart, we look at the result: if a score comes out reversed, we
post it again the other way round, and remember this.

In TSH, the names usually come from a bracket, and they bring seeds, countries and pictures with them. So we only write
a name if TSH doesn't have one, or if it is still the one that we have written before. We do the same with best of and
the round. The score and the characters go to that side where TSH shows the player, so this also works if the teams were
swapped there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
import trio

from slpstream.formats.slippi.stream_tool_names import character_name
from slpstream.model.errors import SinkError
from slpstream.model.foreign_data import converted, json_or_none, whole_number
from slpstream.model.prepared import prepared
from slpstream.parts.scoreboards.board import Board, BoardPlayer, BoardSide
from slpstream.system.http_client import PostResponse, request, target_of

CHECK_SECONDS: Final = 2.0
"""How often TSH is asked for its state, to find out that it has been restarted."""
_TIMEOUT_SECONDS = 5.0
_MAX_STATE_BYTES = 16 << 20
_STATE_FILE = "/out/program_state.json"
_UNNUMBERED = "/"
"""Prefix of addresses in very old versions, which have one scoreboard without a number."""
_READS = 5
_READ_PAUSE_SECONDS = 0.2
_KEPT_NAMES = 256
_CREW_PLAYERS = 4
"""A team this large is a crew, whose places are not those of the game."""

Request = Callable[[str, str, bytes], Awaitable[PostResponse]]
"""(method, path with query, body) to the response. Raises `SinkError` without one."""
Slot = tuple[int, int]
"""Team on screen and player in the team, from 0."""


class _ShownPlayer(msgspec.Struct):
    name: str | None = None
    character: dict[str, Any] = {}


class _ShownTeam(msgspec.Struct):
    score: int | None = None
    player: dict[str, _ShownPlayer] = {}


@prepared
class _Shown(msgspec.Struct):
    """The state that a scoreboard has in TSH."""

    team: dict[str, _ShownTeam]
    best_of: int | str | None = None
    match: str | None = None

    def players(self, team: int) -> list[_ShownPlayer]:
        found = self.team.get(str(team + 1), _ShownTeam()).player
        return [found[key] for key in sorted(found, key=lambda key: whole_number(key) or 0)]

    @property
    def names(self) -> dict[Slot, str]:
        return {
            (team, place): (player.name or "").strip()
            for team in (0, 1)
            for place, player in enumerate(self.players(team))
        }

    @property
    def score(self) -> tuple[int, int]:
        left, right = (self.team.get(key, _ShownTeam()).score or 0 for key in ("1", "2"))
        return left, right

    @property
    def blank(self) -> bool:
        return self.score == (0, 0) and not any(self.names.values())


@prepared
class _Program(msgspec.Struct):
    """The state of the whole TSH."""

    score: dict[str, Any]


class _Memory(msgspec.Struct):
    """Everything that we have written since TSH was started, or since we found it running.

    All sides are those on screen.
    """

    set_id: str | None = None
    swapped: bool = False
    """TSH shows the right side of the board on the left."""
    names: dict[Slot, str] = {}
    details_of_players: dict[Slot, dict[str, str]] = {}
    characters: dict[Slot, tuple[str, int]] = {}
    score: tuple[int, int] | None = None
    details: dict[str, str] = {}
    seen: dict[Slot, str] = {}
    """The names that TSH showed after the last update."""
    added_players: bool = False
    board: Board | None = None
    """The board that is shown completely."""

    def swap(self) -> None:
        """Call this if someone has swapped the teams in TSH."""
        self.swapped = not self.swapped
        self.names, self.seen, self.characters, self.details_of_players = (
            _swapped(of) for of in (self.names, self.seen, self.characters, self.details_of_players)
        )
        self.score = None if self.score is None else (self.score[1], self.score[0])


class TournamentStreamHelper:
    """One scoreboard of a TSH."""

    def __init__(self, url: str, number: int = 1, *, send: Request | None = None) -> None:
        """`number` is the number that the scoreboard has in TSH, beginning with 1.

        Raises `ValueError` if the URL isn't valid.
        """
        self._target = target_of(url)
        self._number = number
        self._send = self._request if send is None else send
        self._prefix = f"/scoreboard{number}-"
        self._memory = _Memory()
        self._written: dict[str, None] = {}
        """The newest names that were written from here. Unlike the rest of the memory, they survive a failure."""
        self._entrants_order = False
        """`/score` takes the order of the entrants."""

    async def update(self, board: Board | None) -> bool:
        """Show a board. Returns whether we had to send something.

        Raises `SinkError` if it fails. In this case, we assume that TSH was restarted.
        """
        try:
            return await self._update(board)
        except BaseException:  # after a bug, too, nobody knows what TSH shows
            self._memory = _Memory()
            self._entrants_order = False
            raise

    async def _update(self, board: Board | None) -> bool:
        shown = await self._shown()
        memory = self._memory
        if shown.blank and (any(memory.seen.values()) or memory.score not in (None, (0, 0))):
            self._memory = memory = _Memory()
        if board is None or board == memory.board:
            return False
        if board.set_id != memory.set_id:
            memory.set_id, memory.swapped = board.set_id, False
        elif memory.seen and shown.names != memory.seen and shown.names == _swapped(memory.seen):
            memory.swap()
        foreign = {slot: name for slot, name in shown.names.items() if name and name not in self._written}
        memory.swapped = _swaps(foreign, board, memory.swapped)
        sides = (board.right, board.left) if memory.swapped else board.sides
        sent = await self._send_details(board, shown)
        sent = await self._send_places(sides, shown) or sent
        sent = await self._send_players(sides, shown) or sent
        sent = await self._send_score((sides[0].score, sides[1].score), shown) or sent
        memory.seen = {**shown.names, **memory.names}
        memory.board = board
        return sent

    async def _send_details(self, board: Board, shown: _Shown) -> bool:
        """Best of and round."""
        wanted = {"best-of": str(board.best_of), "match": board.round}
        there = {"best-of": str(shown.best_of or ""), "match": shown.match or ""}
        ours = self._memory.details
        free = {name for name, value in there.items() if value in ("", "0", ours.get(name), wanted[name])}
        query = {name: value for name, value in wanted.items() if value and name in free and value != there[name]}
        if query:
            await self._call("GET", f"{self._prefix}set?{urlencode(query)}")
        ours |= {name: value for name, value in wanted.items() if value and name in free}
        return bool(query)

    async def _send_places(self, sides: Sequence[BoardSide], shown: _Shown) -> bool:
        """Make room for the players and their characters, because otherwise TSH ignores them."""
        there = max(len(shown.players(team)) for team in (0, 1))
        wanted = max(len(side.players) for side in sides)
        query: dict[str, int] = {}
        if there < wanted or (self._memory.added_players and wanted < there < _CREW_PLAYERS):
            query["players"] = wanted
            self._memory.added_players = wanted > 1
        if any(not player.character for team in (0, 1) for player in shown.players(team)):
            query["characters"] = 1
        if query:
            await self._call("GET", f"{self._prefix}set?{urlencode(query)}")
        return bool(query)

    async def _send_players(self, sides: Sequence[BoardSide], shown: _Shown) -> bool:
        sent = False
        for team, side in enumerate(sides):
            for place, player in enumerate(side.players):
                body = self._changes((team, place), player, shown.names.get((team, place), ""))
                if body:
                    path = f"{self._prefix}update-team-{team + 1}-{place + 1}"
                    await self._call("POST", path, msgspec.json.encode(body))
                    sent = True
        return sent

    def _changes(self, slot: Slot, player: BoardPlayer, there: str) -> Mapping[str, Any]:
        """Return the values of a player that should be sent. TSH ignores those that are empty."""
        memory, body = self._memory, dict[str, Any]()
        name = player.shown_name
        if name and (name == there or not there or there in self._written):
            memory.names[slot] = name
            self._note(name)
            more = {"prefix": player.sponsor, "pronoun": player.pronouns}
            known = {key: value for key, value in more.items() if value}
            if name != there:
                body = {"gamerTag": name, **known}
            elif known != memory.details_of_players.get(slot, {}):
                body = dict(known)
            memory.details_of_players[slot] = known
        else:
            memory.names.pop(slot, None)
        character = character_name(player.character_id)
        if character is not None:
            main = (character, player.character_color or 0)
            # A name that TSH knows brings the mains of that person with it.
            if body or memory.characters.get(slot) != main:
                memory.characters[slot] = main
                body["mains"] = {"ssbm": [list(main)]}
        return body

    def _note(self, name: str) -> None:
        self._written.pop(name, None)
        self._written[name] = None
        while len(self._written) > _KEPT_NAMES:
            del self._written[next(iter(self._written))]

    async def _send_score(self, wanted: tuple[int, int], shown: _Shown) -> bool:
        if wanted in (self._memory.score, shown.score):
            self._memory.score = wanted
            return False
        reverse = self._entrants_order and await self._teams_swapped() is not False
        score = await self._post_score(wanted, shown.score, reverse=reverse)
        if score != wanted and score == (wanted[1], wanted[0]):
            self._entrants_order = not reverse
            score = await self._post_score(wanted, score, reverse=not reverse)
        if score != wanted:
            raise SinkError("TournamentStreamHelper does not show the score that it was sent")
        self._memory.score = wanted
        return True

    async def _post_score(self, wanted: tuple[int, int], before: tuple[int, int], *, reverse: bool) -> tuple[int, int]:
        """Post a score, and return the score that TSH shows after that. It takes a moment until it has changed."""
        left, right = reversed(wanted) if reverse else wanted
        body = {"team1score": left, "team2score": right, "scoreboard": self._number}
        await self._call("POST", "/score", msgspec.json.encode(body))
        for _ in range(_READS):
            score = (await self._shown()).score
            if score == wanted or (score != before and score == (wanted[1], wanted[0])):
                break
            await trio.sleep(_READ_PAUSE_SECONDS)
        return score

    async def _teams_swapped(self) -> bool | None:
        """Whether the teams were swapped in TSH, or `None` if this version doesn't tell us."""
        response = await self._send("GET", f"{self._prefix}get-swap", b"")
        return response.body.strip() == b"True" if response.status == 200 else None

    async def _shown(self) -> _Shown:
        """Return the state of the scoreboard.

        In older versions, it is only in a file, which might be written at this moment.
        """
        if self._prefix != _UNNUMBERED:
            response = await self._send("GET", f"{self._prefix}get", b"")
            found = json_or_none(response.body, _Shown) if response.status == 200 else None
            if found is not None:
                return found
        for _ in range(_READS):
            response = await self._send("GET", _STATE_FILE, b"")
            if response.status != 200:
                raise SinkError(f"status {response.status} for the state of TournamentStreamHelper")
            found = self._of_program(response.body)
            if found is not None:
                return found
            await trio.sleep(_READ_PAUSE_SECONDS)
        raise SinkError(f"TournamentStreamHelper has no scoreboard {self._number}, or its state cannot be read")

    def _of_program(self, body: bytes) -> _Shown | None:
        """Find the scoreboard in the state of the whole program.

        Returns `None` if it isn't there, or if half of it is missing.
        """
        program = json_or_none(body, _Program)
        score = {} if program is None else program.score
        if self._number == 1 and "team" in score:  # very old versions have one scoreboard, without a number
            self._prefix = _UNNUMBERED
            return _converted(score)
        return _converted(score.get(str(self._number)))

    async def _call(self, method: str, path: str, body: bytes = b"") -> None:
        """Send a request that should be answered with `OK`. If the answer is different, this raises `SinkError`."""
        response = await self._send(method, path, body)
        if response.status != 200 or response.body.strip() != b"OK":
            raise SinkError(f"status {response.status} for {path.partition('?')[0]}, {response.body[:80]!r}")

    async def _request(self, method: str, path: str, body: bytes) -> PostResponse:
        headers = [("content-type", "application/json")] if body else []
        target = self._target._replace(path=path)
        return await request(method, target, headers, body, None, _TIMEOUT_SECONDS, max_body_bytes=_MAX_STATE_BYTES)


def _swaps(foreign: Mapping[Slot, str], board: Board, before: bool) -> bool:
    """Whether TSH shows the sides of the given board the other way round.

    We decide this by names that it has from somewhere else, because those that we have written ourselves don't tell us
    anything. If none of the names helps, the answer is `before`.
    """
    direct = _matches(foreign, board.sides)
    reverse = _matches(foreign, (board.right, board.left))
    return before if direct == reverse else reverse > direct


def _matches(names: Mapping[Slot, str], sides: Sequence[BoardSide]) -> int:
    """Return how many of the names belong to a player of the side that is in the same place."""
    return sum(
        any(name.casefold() in player.names for player in sides[team].players) for (team, _), name in names.items()
    )


def _swapped(of: Mapping[Slot, Any]) -> dict[Slot, Any]:
    return {(1 - team, place): value for (team, place), value in of.items()}


def _converted(value: Any) -> _Shown | None:
    try:
        return converted(value, _Shown, SinkError)
    except SinkError:
        return None
