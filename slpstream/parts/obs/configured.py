"""OBS in the way it was configured, with its rules, its password, and metrics about its requests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import trio

from slpstream.config import Config, read_secret
from slpstream.model.errors import ConfigError, SinkError
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.obs.control import ObsControl
from slpstream.parts.obs.part import Obs, ObsRule
from slpstream.parts.obs.rules import Actions, Rule

_REMEMBERED = "obs"
"""The key under which the index keeps what OBS was asked for."""


class ConfiguredObs(RunningPart):
    """The OBS of a daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        obs = host.config.section(Obs)
        metrics = host.metrics
        self._control = ObsControl(
            host.hub,
            [rule_of(wanted) for wanted in host.config.sections(ObsRule)],
            obs.url,
            partial(_password, Path(obs.password_file) if obs.password_file else None),
            respect_seconds=obs.respect_seconds,
            on_outcome=lambda outcome: metrics.counter("slpstream_obs_requests_total", outcome).inc(),
            on_reconnect=metrics.counter("slpstream_obs_reconnects_total").inc,
            is_hidden=host.stations.is_temporary,
            errors=host.errors,
        )
        metrics.bind("slpstream_obs_connected", lambda: float(self._control.is_connected))

    async def run(self) -> None:
        """Drive OBS until cancelled."""
        index = self._host.index
        await self._control.run(await index.remembered(_REMEMBERED), partial(index.remember, _REMEMBERED))

    def situation_seen(self, station: str, payload: Mapping[str, Any]) -> None:
        """Apply the rules about a situation."""
        self._control.situation_found(station, payload["gameId"], payload["name"])

    def configure(self, config: Config) -> None:
        """Try to connect again, even if OBS has closed the connection for good."""
        self._control.resume()

    def not_ready(self) -> list[str]:
        """Return the reasons why OBS doesn't follow the rules."""
        return self._control.not_ready()


async def _password(file: Path | None) -> str | None:
    """Read the password again, because if OBS has refused it, someone might have corrected the file.

    Raises `SinkError` if it can't be read.
    """
    if file is None:
        return None
    try:
        return await trio.to_thread.run_sync(read_secret, file, "obs.password_file")
    except ConfigError as error:
        raise SinkError(error.for_clients) from None


def rule_of(wanted: ObsRule) -> Rule:
    """A configured rule."""
    return Rule(
        on=wanted.on,
        station=wanted.station,
        event=wanted.event,
        situation=wanted.situation,
        min_damage=wanted.min_damage,
        kill=wanted.kill,
        after_seconds=wanted.after_seconds,
        actions=Actions(
            scene=wanted.scene,
            preview=wanted.preview,
            in_scene=wanted.in_scene,
            show=tuple(wanted.show),
            hide=tuple(wanted.hide),
            text=wanted.text,
            save_replay=wanted.save_replay,
            recording=wanted.recording,
            chapter=wanted.chapter,
        ),
    )
