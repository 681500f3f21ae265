"""OBS as the configuration describes it: its rules, its password, and the metrics of what it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import trio

from slpstream.config import Config, ObsRule, read_secret
from slpstream.model.errors import ConfigError, SinkError
from slpstream.outputs.obs_websocket import Actions, ObsControl, Rule
from slpstream.stream import Hub
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.metrics import Metrics


def make_control(
    config: Config,
    hub: Hub,
    metrics: Metrics,
    errors: InternalErrors,
    *,
    is_hidden: Callable[[str], bool] = lambda station: False,
) -> ObsControl:
    """The control of the configured OBS. Rules for any station leave out those that `is_hidden`."""
    return ObsControl(
        hub,
        [rule_of(wanted) for wanted in config.obs_rules],
        config.obs.url,
        partial(_password, Path(config.obs.password_file) if config.obs.password_file else None),
        respect_seconds=config.obs.respect_seconds,
        on_outcome=lambda outcome: metrics.counter("slpstream_obs_requests_total", outcome).inc(),
        on_reconnect=metrics.counter("slpstream_obs_reconnects_total").inc,
        is_hidden=is_hidden,
        errors=errors,
    )


async def _password(file: Path | None) -> str | None:
    """The password as it is now, because people correct the file after a refusal. Raises `SinkError`."""
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
