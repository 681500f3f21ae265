"""`slpstream demo`: run a daemon on a temporary folder, and write the bundled matches into it in real time."""

from __future__ import annotations

import math
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
import trio

from slpstream import config
from slpstream.cli import without_groups
from slpstream.cli.addresses import base_address
from slpstream.cli.service_options import strict_option
from slpstream.config import DEFAULT_PORT, Server, StationConfig, Store
from slpstream.daemon.daemon import Daemon
from slpstream.parts import registry
from slpstream.system import logs

STATION = "demo"
OBS_RULES: tuple[dict[str, Any], ...] = (
    {
        "on": "game_start",
        "station": STATION,
        "scene": "Game",
        "text": {"Players": "{player1} vs {player2}", "Score": "{score1} – {score2}"},
    },
    {"on": "game_end", "station": STATION, "scene": "Break"},
    {"on": "set_end", "station": STATION, "scene": "Result", "text": {"Winner": "{set_winner} wins"}},
    {"on": "event", "station": STATION, "event": "conversion_ended", "kill": True, "save_replay": True},
)
"""The rules of `--obs`. They are the same as on the page about OBS."""
_PAUSE_SECONDS = 5.0


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Loopback address to listen on. Other addresses need a token, which only `serve` can have.",
)
@click.option(
    "--port",
    default=DEFAULT_PORT,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on. 0 picks a free one.",
)
@click.option(
    "--seed", default=1, show_default=True, help="Number of the first match. Each number is a different game."
)
@click.option(
    "--speed", default=1.0, show_default=True, type=click.FloatRange(min=0.01), help="Speed relative to real time."
)
@click.option("--writer", default="frame", show_default=True, help="How matches are written; see `simulate --help`.")
@click.option("--obs", default="", metavar="URL", help="Drive OBS as well: address of obs-websocket, ws://HOST:PORT.")
@click.option("--obs-password-file", default="", metavar="FILE", help="File whose first line is the password of OBS.")
@click.option("--once", is_flag=True, help="Stop after one match.")
@strict_option
def command(
    host: str,
    port: int,
    seed: int,
    speed: float,
    writer: str,
    obs: str,
    obs_password_file: str,
    once: bool,
    strict: bool,
) -> None:
    """Run a daemon with synthetic matches that are written live. It needs no replay, no console and no network.

    Two players play one match after another, in best-of-three sets, until Ctrl-C.

    With --obs, OBS follows: it needs scenes and text sources with the names that are printed. Nothing is created in it.
    """
    from slpstream.formats.slippi.write_schedule import cutter

    if not math.isfinite(speed):  # click's range accepts NaN and infinity
        raise click.UsageError(f"--speed expects a number, found {speed}")
    try:
        cutter(writer)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    logs.configure("auto", "warning")
    driven = {"obs": {"url": obs, "password_file": obs_password_file}, "obs_rules": list(OBS_RULES)} if obs else {}
    checked = config.check(driven, registry.sections(), file="--obs")
    configured = msgspec.structs.replace(checked, server=Server(host=host, port=port))
    with (
        tempfile.TemporaryDirectory(prefix="slpstream-demo-") as folder,
        tempfile.TemporaryDirectory(prefix="slpstream-demo-state-") as state,
        without_groups(),
    ):
        configured = msgspec.structs.replace(configured, store=Store(folder=state))
        daemon = Daemon(configured, [StationConfig(id=STATION, folder=folder, name="Demo")], strict=strict)
        run = partial(_run, daemon, Path(folder), host=host, seed=seed, speed=speed, writer=writer, once=once)
        trio.run(partial(run, drives_obs=bool(obs)))


async def _run(
    daemon: Daemon, folder: Path, *, host: str, seed: int, speed: float, writer: str, once: bool, drives_obs: bool
) -> None:
    async with trio.open_nursery() as nursery:
        port = await nursery.start(daemon.run)
        base = base_address(host, port)
        click.echo(f"overlay    {base}/overlay/{STATION}")
        click.echo(f"dashboard  {base}/")
        click.echo(f"stream     {base.replace('http', 'ws')}/v1/stream?station={STATION}")
        if drives_obs:
            scenes = ", ".join(rule["scene"] for rule in OBS_RULES if "scene" in rule)
            texts = ", ".join(source for rule in OBS_RULES for source in rule.get("text", ()))
            click.echo(
                f"OBS        needs the scenes {scenes}, and text sources named {texts}; what is missing is logged"
            )
        click.echo("Ctrl-C stops the demo.")
        with trio.CancelScope() as playing:
            nursery.start_soon(_cancel_when_stopping, daemon, playing)
            await play_matches(folder, seed=seed, speed=speed, writer=writer, once=once)
        daemon.stop()


async def _cancel_when_stopping(daemon: Daemon, playing: trio.CancelScope) -> None:
    await daemon.stopping()
    playing.cancel()


async def play_matches(folder: Path, *, seed: int, speed: float, writer: str, once: bool) -> None:
    """Write one match after another into the folder, beginning with number `seed`. With `once`, only write that one."""
    from slpstream.parts.demo.bundled import bundled_match
    from slpstream.parts.demo.simulated import write_replay

    while True:
        data = await trio.to_thread.run_sync(partial(bundled_match, seed, started_at=datetime.now(UTC)))
        await write_replay(data, folder / f"Game_demo_{seed:04}.slp", writer=writer, speed=speed)
        if once:
            await trio.sleep(_PAUSE_SECONDS)  # a daemon on a busy machine needs longer to read the file
            return
        await trio.sleep(_PAUSE_SECONDS / speed)
        seed += 1
