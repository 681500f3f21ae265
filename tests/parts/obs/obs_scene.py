"""The part of a daemon that drives OBS, with stations controlled by the test, and a stand-in for OBS."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import trio
from trio.testing import wait_all_tasks_blocked

from slpstream.model.messages import LogMessage
from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.parts.obs.control import ObsControl
from slpstream.parts.obs.rules import Actions, Rule
from slpstream.stream.channel import Hub, OnAir
from slpstream.system.internal_errors import InternalErrors
from tests.parts.obs.obs_double import FakeObs
from tests.stream.fakes import FakeLog, FakeStation
from tests.virtual_time import now

RESPECT_SECONDS = 30.0
RULES = (
    Rule(
        on="game_start",
        station="main",
        actions=Actions(scene="Game", text={"Players": "{player1} vs {player2}", "Score": "{score1} – {score2}"}),
    ),
    Rule(on="game_end", station="main", actions=Actions(scene="Break")),
    Rule(on="set_end", station="main", actions=Actions(scene="Result")),
    Rule(
        on="event", station="main", event="conversion_ended", min_damage=80, kill=True,
        actions=Actions(save_replay=True),
    ),
)  # fmt: skip


class Production:
    """Stations, and OBS. `daemon` runs the part that connects them, and can be called again to simulate a restart."""

    def __init__(self, *names: str, rules: Sequence[Rule] = RULES, password: str | None = None) -> None:
        self.on_air = OnAir()
        self.names = names or ("main",)
        self.rules = rules
        self.password: str | None = password
        self.obs = FakeObs(now, password=password)
        self.kept: Any = None
        self.outcomes: Counter[str] = Counter()
        self.reconnects = 0
        self.control: ObsControl | None = None
        self.errors = InternalErrors()
        self._games: dict[str, list[FakeLog]] = {}
        self._offset = 10_000
        self.restart_stations()

    def restart_stations(self) -> None:
        """Create fresh stations, as after a restart of the daemon."""
        self.hub = Hub(self.on_air)
        self.fakes = {name: FakeStation(name) for name in self.names}
        for fake in self.fakes.values():
            self.hub.add(fake.channel)

    @asynccontextmanager
    async def daemon(self) -> AsyncIterator[ObsControl]:
        """Drive OBS for the duration of the block."""

        async def read_password() -> str | None:
            await trio.lowlevel.checkpoint()
            return self.password

        def remember(value: Any) -> None:
            self.kept = msgspec.json.decode(msgspec.json.encode(value))

        def reconnected() -> None:
            self.reconnects += 1

        control = self.control = ObsControl(
            self.hub,
            self.rules,
            "ws://obs.example:4455",
            read_password,
            respect_seconds=RESPECT_SECONDS,
            on_outcome=lambda outcome: self.outcomes.update([outcome]),
            on_reconnect=reconnected,
            is_hidden=lambda station: station == "demo",
            wall_clock=now,
            errors=self.errors,
            open_stream=self.obs.connect,
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(control.run, self.kept, remember)
            await wait_all_tasks_blocked()
            yield control
            nursery.cancel_scope.cancel()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ObsControl]:
        """Run OBS and the daemon for the duration of the block."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.obs.run)
            self.obs.start()
            async with self.daemon() as control:
                yield control
            assert self.obs.complaints == []
            nursery.cancel_scope.cancel()

    def game(self, number: int) -> FakeLog:
        return FakeLog(number, batches=2, ended=False)

    async def play(self, number: int, name: str = "main", score: tuple[int, int] = (0, 0)) -> None:
        """Begin a game. An earlier number finds that game again, as after a restart."""
        fake = self.fakes[name]
        game = fake.begin(self.game(number))
        game.summary = GameSummary(
            versus=True,
            place=Thing(kind="stage", id=31, name="Battlefield"),
            players=[
                PlayerSummary(index=i, port=i + 1, name=who, start_stocks=4) for i, who in enumerate(("Ann", "Bob"))
            ],
        )
        fake.channel.current = game
        self.show_set(name, score)
        fake.write_all(game)
        fake.channel.publish_state({"state": "playing", "reason": "", "gameId": game.game_id})
        await wait_all_tasks_blocked()

    async def end(self, name: str = "main", *, winner: int = 0) -> None:
        """End the game."""
        channel = self.fakes[name].channel
        game = channel.current
        assert game is not None
        game.summary = msgspec.structs.replace(game.summary, winners=[winner])
        self._publish(name, "game_end", {"reason": "game_end"})
        channel.publish_state({"state": "idle", "reason": "game ended"})
        await wait_all_tasks_blocked()

    async def event(self, name: str = "main", **payload: Any) -> None:
        """Publish an event of the game."""
        self._publish(name, "event", payload)
        await wait_all_tasks_blocked()

    async def conversion(self, damage: float, *, kill: bool, name: str = "main") -> None:
        punish = {"startPercent": 10.0, "endPercent": 10.0 + damage, "didKill": kill}
        await self.event(name, kind="conversion_ended", frame=9, playerIndex=0, conversion=punish)

    def _publish(self, name: str, kind: str, payload: dict[str, Any]) -> None:
        channel = self.fakes[name].channel
        game = channel.current
        assert game is not None
        self._offset += 1
        body = msgspec.json.encode(payload)[1:]
        channel.publish(game, {"live": [LogMessage(kind, game.game_id, "live", self._offset, 0, body, None)]})

    def show_set(self, name: str, score: tuple[int, int], *, over: bool = False) -> None:
        """Publish the set that the current game belongs to."""
        channel = self.fakes[name].channel
        assert channel.current is not None
        channel.publish_set(
            {
                "setId": f"set of {name}",
                "gameId": channel.current.game_id,
                "state": "over" if over else "running",
                "bestOf": 3,
                "winsNeeded": 2,
                "players": [
                    {"playerIndex": i, "port": i + 1, "name": who, "score": score[i], "side": i}
                    for i, who in enumerate(("Ann", "Bob"))
                ],
                "sides": [{"score": points, "name": who} for points, who in zip(score, ("Ann", "Bob"), strict=True)],
                **({"winner": int(score[1] > score[0])} if over else {}),
            }
        )
