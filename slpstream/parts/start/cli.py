"""`slpstream start`: watch the usual folders and open the dashboard. On a terminal, `slpstream` alone does the same."""

from __future__ import annotations

import http.client
import os
import sys
import urllib.request
import webbrowser
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click
import trio

from slpstream.cli import is_remote, without_groups
from slpstream.cli.addresses import base_address, print_addresses
from slpstream.cli.service_options import load_config
from slpstream.cli.stations import stations_of
from slpstream.config import Config, recordings_folder, state_folder, station_folder
from slpstream.daemon.daemon import Daemon
from slpstream.daemon.service import run_process
from slpstream.model.errors import ConfigError
from slpstream.store import FILE_NAME
from slpstream.system import logs

_ANSWER_SECONDS = 2.0


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on. 0 picks a free one.")
@click.option("--no-browser", is_flag=True, help="Do not open the dashboard.")
def command(port: int | None, no_browser: bool) -> None:
    """Watch the usual Slippi folders and open the dashboard in the browser.

    `slpstream` without arguments does the same when it is entered on a terminal. If slpstream already runs, the command
    opens the dashboard of that one.
    """
    config = load_config(None, server={"port": port})
    stations = stations_of(config, ())
    folders = {station.id: station_folder(station, recordings_folder(config)) for station in stations}
    is_first = not (state_folder(config.store.folder) / FILE_NAME).exists()
    show = not no_browser and has_display(os.environ)
    logs.configure("auto", "warning")
    try:
        daemon = Daemon(config, stations)
        with without_groups():
            run_process(partial(_run, daemon, folders, is_first=is_first, show=show))
    except ConfigError:
        base = base_address(config.server.host, config.server.port)
        if not config.server.port or not _is_slpstream(base):
            raise
        click.echo(f"slpstream already runs: {base}/")
        if show:
            open_page(f"{base}/")


async def _run(daemon: Daemon, folders: Mapping[str, Path], *, is_first: bool, show: bool) -> None:
    async with trio.open_nursery() as nursery:
        port = await nursery.start(daemon.run)
        base = base_address(Config().server.host, port)
        exist = await trio.to_thread.run_sync(lambda: {name: folder.is_dir() for name, folder in folders.items()})
        click.echo("slpstream watches these folders:")
        for name, folder in folders.items():
            click.echo(f"  {folder}{'' if exist[name] else '  (does not exist yet)'}")
        print_addresses(base, [*folders])
        click.echo("Ctrl-C stops slpstream. `slpstream --help` lists what else it can do.")
        if show:
            page = f"{base}/#first-run" if is_first else f"{base}/"
            await trio.to_thread.run_sync(open_page, page, abandon_on_cancel=True)


def has_display(environ: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether we can open a browser that has windows."""
    if is_remote(environ):
        return False
    return platform in ("win32", "darwin") or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def open_page(url: str) -> None:
    """Open a page in the browser of the desktop, if there is one. We don't use a browser that runs in the terminal."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    in_terminal = type(browser) is webbrowser.GenericBrowser or type(browser).__name__ == "Elinks"
    if not in_terminal or os.environ.get("BROWSER"):
        browser.open(url)


def _is_slpstream(base: str) -> bool:
    """Whether slpstream answers at this address."""
    try:
        with urllib.request.urlopen(f"{base}/healthz", timeout=_ANSWER_SECONDS) as response:
            return b'"status":"ok"' in response.read(1024)
    except (http.client.HTTPException, OSError, ValueError):
        return False
