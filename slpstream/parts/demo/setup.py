"""The set-up of a daemon, for the first-run page."""

from __future__ import annotations

from typing import Annotated

import trio
from msgspec import Meta

from slpstream.daemon.stations import RunningStations
from slpstream.web.schemas import Schema


class WatchedFolder(Schema, kw_only=True):
    """A station and where its replays come from."""

    station: str
    name: str
    folder: str
    exists: bool


class Setup(Schema, kw_only=True, omit_defaults=False):
    """The folders that a daemon watches, and its demo."""

    folders: list[WatchedFolder]
    demo: Annotated[str | None, Meta(description="The station of the demo; null while none runs.")] = None


async def setup_of(running: RunningStations) -> Setup:
    """Return the watched folders, and the station of the demo."""
    watched = running.lasting_stations
    exist = await trio.to_thread.run_sync(lambda: [station.folder.is_dir() for station in watched])
    folders = [
        WatchedFolder(station=station.id, name=station.name, folder=str(station.folder), exists=exists)
        for station, exists in zip(watched, exist, strict=True)
    ]
    demo = next((station.id for station in running.stations if running.is_temporary(station.id)), None)
    return Setup(folders=folders, demo=demo)
