"""The addresses that `serve`, `start` and `demo` print on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import click

_MAX_OVERLAYS = 8


def base_address(host: str, port: int) -> str:
    """Return the address of the daemon for a browser on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"


def print_addresses(base: str, stations: Sequence[str]) -> None:
    """Print the addresses of the dashboard and of the overlays of the first stations."""
    click.echo(f"dashboard  {base}/")
    for station in stations[:_MAX_OVERLAYS]:
        click.echo(f"overlay    {base}/overlay/{quote(station)}")
    if len(stations) > _MAX_OVERLAYS:
        click.echo(f"The dashboard has the overlays of {len(stations) - _MAX_OVERLAYS} more stations.")


def print_missing(folders: Mapping[str, Path]) -> None:
    """Print a line for each folder that doesn't exist yet. This blocks."""
    for station, folder in folders.items():
        if not folder.is_dir():
            click.echo(f"Station {station} waits for its folder, which does not exist yet: {folder}")
