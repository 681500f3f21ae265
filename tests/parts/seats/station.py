"""A station for the tests of seats: games, corrections and seats, which it keeps in step like a daemon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from slpstream.parts.seats import claims
from slpstream.parts.seats.claims import Claim, Person, Seats, SetNow, Step
from slpstream.sets import PlayedGame, Player, Rules
from tests.sets.games import CorrectedGames

FOX, MARTH = 2, 9


class Station:
    """One station. Phones are letters, and so are arbitrary names."""

    def __init__(self, best_of: int = 3) -> None:
        self.games: list[PlayedGame] = []
        self._corrected = CorrectedGames(Rules(best_of=best_of))
        self._corrected.games = self.games
        self.seats = Seats()
        self.now_ms = 1_700_000_000_000

    @property
    def payload(self) -> Mapping[str, Any]:
        """The payload of the `set` message."""
        payload: Mapping[str, Any] = msgspec.to_builtins(self._corrected.payloads()[-1])
        return payload

    @property
    def now(self) -> SetNow:
        return claims.set_now(self.payload)

    @property
    def shown(self) -> dict[int, str]:
        """The names that the set shows, by port from 1."""
        return {player["port"]: player["name"] for player in self.payload["players"] if player.get("name")}

    @property
    def scores(self) -> dict[str, int]:
        """Games won, by name."""
        return {player["name"]: player["score"] for player in self.payload["players"] if player.get("name")}

    @property
    def record(self) -> list[dict[int, str]]:
        """The names in each set, oldest first, by port from 1."""
        payloads: Any = self._corrected.payloads()
        return [{each["port"]: each["name"] for each in payload["players"] if each.get("name")} for payload in payloads]

    @property
    def claimed(self) -> dict[int, str]:
        """The names of the claims, by port from 1."""
        return {index + 1: claim.person.name for index, claim in sorted(self.seats.claims.items())}

    def correct(self, **patch: Any) -> None:
        """A correction by the operator."""
        self._corrected.correct(**patch)
        self.follow()

    def begin(self, *ports: int, tags: Mapping[int, str] | None = None) -> None:
        """A game begins at some ports, from 1."""
        self.now_ms += 60_000
        players = [
            Player(index=port - 1, port=port, character_id=FOX, start_stocks=4, tag=(tags or {}).get(port, ""))
            for port in ports
        ]
        game = PlayedGame(
            game_id=f"{len(self.games):032x}",
            players=players,
            arrived_at_ms=self.now_ms,
            written_at_ms=self.now_ms,
            in_progress=True,
        )
        self.games.append(game)
        self.follow()

    def end(self, winner: int) -> None:
        """The game ends. `winner` is a port, from 1."""
        self.now_ms += 180_000
        self.games[-1] = msgspec.structs.replace(
            self.games[-1],
            in_progress=False,
            reason="game_end",
            ending="finished",
            duration_seconds=180.0,
            winners=[winner - 1],
        )
        self.follow()

    def play(self, winner: int, *ports: int) -> None:
        """A complete game, by default at the first two ports."""
        self.begin(*(ports or (1, 2)))
        self.end(winner)

    def claim(self, phone: str, port: int, name: str = "", *, take_over: bool = False, stay: bool = False) -> None:
        """A phone claims a seat. Raises `SeatTaken`."""
        claim = Claim(phone, Person(name or phone), self.now_ms)
        self._act(
            lambda seats, now: claims.claimed(seats, now, port - 1, claim, take_over=take_over, stay=stay),
        )

    def swap(self, phone: str, port: int) -> None:
        """A phone swaps its seat with another. Raises `NoSeat`."""
        self._act(lambda seats, now: claims.swapped(seats, now, port - 1, phone, self.now_ms))

    def leave(self, phone: str) -> None:
        """A phone gives up its seat."""
        self._act(lambda seats, now: claims.left(seats, now, phone, self.now_ms))

    def wait(self, minutes: float, free_minutes: float = 30.0) -> None:
        """Time passes, so that seats can become free."""
        self.now_ms += round(60_000 * minutes)
        self._act(lambda seats, now: claims.expired(seats, now, self.now_ms, round(60_000 * free_minutes)))

    def follow(self) -> None:
        """The set has changed."""
        self._act(lambda seats, now: Step(seats, claims.wanted(seats, now)))

    def _act(self, act: Callable[[Seats, SetNow], Step]) -> None:
        now = self.now
        step = act(claims.followed(self.seats, now, self.now_ms), now)
        self.seats = step.seats
        if step.patch is not None:
            self._corrected.correct(**step.patch)
            self.seats = claims.followed(self.seats, self.now, self.now_ms)
