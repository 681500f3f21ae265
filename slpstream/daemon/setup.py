"""The state of a daemon's set-up, which the first-run page shows."""

from __future__ import annotations

import trio

from slpstream.daemon.stations import RunningStations
from slpstream.web import schemas


async def setup_of(running: RunningStations) -> schemas.Setup:
    """Return the folders that are watched, and the station of the demo."""
    watched = running.lasting_stations
    exist = await trio.to_thread.run_sync(lambda: [station.folder.is_dir() for station in watched])
    folders = [
        schemas.WatchedFolder(station=station.id, name=station.name, folder=str(station.folder), exists=exists)
        for station, exists in zip(watched, exist, strict=True)
    ]
    demo = next((station.id for station in running.stations if running.is_temporary(station.id)), None)
    return schemas.Setup(folders=folders, demo=demo)
