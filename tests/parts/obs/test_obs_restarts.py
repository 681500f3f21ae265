"""An afternoon of sets in which OBS and the daemon are restarted at random moments, 200 times in all."""

from __future__ import annotations

import random
from contextlib import AsyncExitStack

import pytest
import trio
from trio.testing import MockClock

from tests.parts.obs.obs_scene import Production

pytestmark = pytest.mark.trio

RESTARTS = 50


class Afternoon:
    """A production, and the scene that its rules require now."""

    def __init__(self, seed: int) -> None:
        self.production = Production()
        self.wanted = "Break"
        self._chance = random.Random(seed)
        self.production.obs.transition_seconds = (0.0, 0.3, 2.0, 5.0)[seed]
        self._games = 0
        self._is_playing = False
        self._daemon: AsyncExitStack | None = None

    async def run(self) -> None:
        """Play the whole afternoon, and check the scene of OBS after each restart."""
        obs = self.production.obs
        async with trio.open_nursery() as nursery:
            await nursery.start(obs.run)
            obs.start()
            await self._start_daemon()
            for _ in range(RESTARTS):
                for _ in range(self._chance.randint(0, 3)):
                    await self._play_on()
                    await trio.sleep(self._chance.choice((0.01, 1, 40)))
                await self._chance.choice((self._restart_obs, self._restart_daemon))()
                await trio.sleep(20)
                assert obs.program == self.wanted
                assert obs.texts["Players"] == ("Ann vs Bob" if self._games else "")
            await self._stop_daemon()
            nursery.cancel_scope.cancel()
        scenes = [data["sceneName"] for kind, data in obs.requests if kind == "SetCurrentProgramScene"]
        assert scenes == obs.shown, "every request has changed the scene"
        assert obs.complaints == []
        assert obs.saved_replays == 0, "no conversion was live"

    async def _play_on(self) -> None:
        """Begin or end a game, even while OBS or the daemon is down."""
        if self._is_playing:
            self._is_playing = False
            self.wanted = "Break"
            if self._daemon is not None:
                await self.production.end()
        else:
            self._is_playing = True
            self.wanted = "Game"
            self._games += 1
            if self._daemon is not None:
                await self.production.play(self._games)

    async def _restart_obs(self) -> None:
        obs = self.production.obs
        obs.kill()
        obs.texts = dict.fromkeys(obs.texts, "")
        await trio.sleep(self._chance.choice((0, 2, 60)))
        for _ in range(self._chance.randint(0, 2)):
            await self._play_on()
        obs.saved_at_start = self._chance.choice(("Break", "Game"))
        obs.start()

    async def _restart_daemon(self) -> None:
        await self._stop_daemon()
        for _ in range(self._chance.randint(0, 2)):
            await self._play_on()
        await trio.sleep(self._chance.choice((0, 2, 60)))
        await self._start_daemon()

    async def _start_daemon(self) -> None:
        self.production.restart_stations()
        if self._is_playing:
            await self.production.play(self._games)
            await self.production.conversion(100, kill=True)
        self._daemon = AsyncExitStack()
        await self._daemon.enter_async_context(self.production.daemon())

    async def _stop_daemon(self) -> None:
        stack, self._daemon = self._daemon, None
        if stack is not None:
            await stack.aclose()


@pytest.mark.parametrize("seed", range(4))
async def test_every_scene_is_shown_once(clock: MockClock, seed: int) -> None:
    await Afternoon(seed).run()
