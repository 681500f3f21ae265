"""A simulated venue: stations on which sets are played, independent of the daemon."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import trio

from tests.parts.bracket.startgg_double import DoubleSet, Entrant, Player, StartggDouble

GAME_SECONDS = 170.0
BREAK_SECONDS = 3600.0
"""Mean time between two sets of a station."""
STAGES = (31, 32, 8, 2, 3, 28)
CHARACTERS = (2, 9, 15, 19, 20, 0)


class PlayedGame:
    """A played game. Sides are those of the set on the station."""

    def __init__(self, rng: random.Random, winner: int) -> None:
        self.winner = winner
        self.stage = rng.choice(STAGES)
        self.characters = (rng.choice(CHARACTERS), rng.choice(CHARACTERS))
        left = rng.randint(1, 4)
        self.stocks = (left, 0) if winner == 0 else (0, left)

    def payload(self, game_id: str) -> dict[str, Any]:
        """The game in the payload of a `set` message."""
        players = [
            {
                "playerIndex": side,
                "port": side + 1,
                "side": side,
                "characterId": self.characters[side],
                "stocks": self.stocks[side],
            }
            for side in (0, 1)
        ]
        return {"gameId": game_id, "stageId": self.stage, "counts": True, "winner": self.winner, "players": players}


def set_payload(
    set_id: str | None,
    players: Sequence[Sequence[Player]],
    games: Sequence[PlayedGame],
    *,
    best_of: int = 3,
    named: bool = True,
) -> dict[str, Any]:
    """The payload of a `set` message after some games."""
    won = [sum(game.winner == side for game in games) for side in (0, 1)]
    needed = best_of // 2 + 1
    over = max(won) >= needed
    payload: dict[str, Any] = {
        "state": "over" if over else "running" if set_id else "upcoming",
        "bestOf": best_of,
        "winsNeeded": needed,
        "players": [
            {"playerIndex": 2 * side + number, "port": 2 * side + number + 1, "side": side, "score": won[side]}
            | ({"name": player.name, "namedByOperator": True} if named else {})
            for side in (0, 1)
            for number, player in enumerate(players[side])
        ],
        "sides": [{"score": won[side], "won": won[side], "players": [side]} for side in (0, 1)],
        "games": [game.payload(f"{set_id}-{number}") for number, game in enumerate(games)],
    }
    if set_id:
        payload["setId"] = set_id
    if over:
        payload["winner"] = int(won[1] > won[0])
    return payload


class Venue:
    """Stations with four sets each. The third one, of the winners of the first two, is played on the next station."""

    def __init__(self, double: StartggDouble, rng: random.Random, stations: int) -> None:
        self.double = double
        self.rng = rng
        self._changed = trio.Event()
        self.names = {f"setup-{number}": f"Setup {number}" for number in range(1, stations + 1)}
        self.history: dict[str, list[dict[str, Any]]] = {station: [] for station in self.names}
        """The newest payload of each set of a station, oldest first."""
        self.expected: dict[str, tuple[Entrant, list[PlayedGame], bool]] = {}
        """Winner and games of each set, by its key, and whether the sides are in the reverse order of the bracket."""
        self.listener: Any = None
        entrant_id = 20_000_000
        for number in range(1, stations + 1):
            double.stations[500 + number] = (number, f"Setup {number}")
            entrants = []
            for _ in range(6):
                entrant_id += 1
                prefix = rng.choice(["", "", "TSM", "C9"])
                entrants.append(Entrant(entrant_id, [Player(f"Player {entrant_id % 1_000_000}", prefix)]))
            group = 400 + number // 6
            final = f"{number}-final"
            for key, pair, feeds in (
                (f"{number}-a", entrants[0:2], [(final, 0)]),
                (f"{number}-b", entrants[2:4], [(final, 1)]),
                (final, [None, None], []),
                (f"{number}-x", entrants[4:6], []),
            ):
                made = DoubleSet(key, f"preview_{group}_{key}", group, list(pair), feeds=feeds)
                made.round, made.round_number = ("Winners Final", 2) if key == final else ("Winners Round 1", 1)
                double.add(made)

    async def play(self, station: str) -> None:
        """Play the four sets of a station."""
        number = station.rpartition("-")[2]
        await trio.sleep(self.rng.uniform(0, 300))
        of_final = str(int(number) % len(self.names) + 1)
        for key in (f"{number}-a", f"{number}-b", f"{of_final}-final", f"{number}-x"):
            entrants: Sequence[Entrant | None] = self.double.sets[key].entrants
            if key.endswith("final"):
                entrants = [await self._winner_of(f"{of_final}-{feeder}") for feeder in "ab"]
            assert entrants[0] is not None
            assert entrants[1] is not None
            await self._play_set(station, key, [entrants[0], entrants[1]])
            await trio.sleep(self.rng.uniform(0.5, 1.5) * BREAK_SECONDS)

    async def _winner_of(self, key: str) -> Entrant:
        while key not in self.expected:
            await self._changed.wait()
        return self.expected[key][0]

    async def _play_set(self, station: str, key: str, entrants: list[Entrant]) -> None:
        swapped = self.rng.random() < 0.5
        sides = entrants[::-1] if swapped else entrants
        games: list[PlayedGame] = []
        set_id = f"{self.rng.getrandbits(128):032x}"
        payload = set_payload(set_id, [side.players for side in sides], games)
        self.history[station].append(payload)
        self._publish(station)
        while payload["state"] != "over":
            await trio.sleep(GAME_SECONDS * self.rng.uniform(0.5, 1.5))
            games.append(PlayedGame(self.rng, self.rng.randint(0, 1)))
            payload = set_payload(set_id, [side.players for side in sides], games)
            self.history[station][-1] = payload
            self._publish(station)
        winner: Entrant = sides[payload["winner"]]
        self.expected[key] = (winner, games, swapped)
        self._changed.set()
        self._changed = trio.Event()

    def _publish(self, station: str) -> None:
        if self.listener is not None:
            self.listener(station, self.history[station][-1])

    def sets_since(self, station: str | None, since_ms: int) -> list[tuple[str, Mapping[str, Any]]]:
        """All sets in the index of games, as `Surroundings.sets_since` returns them."""
        return [
            (name, payload) for name, played in self.history.items() if station in (None, name) for payload in played
        ]

    def publish_newest(self) -> None:
        """Publish the newest set of each station, as a daemon does when it starts."""
        for station, played in self.history.items():
            if played:
                self._publish(station)
