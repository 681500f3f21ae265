"""The archives in the folders of a daemon's stations."""

from __future__ import annotations

from pathlib import Path

from slpstream.parts.archives.search import ArchiveSearch
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import SetZips
from slpstream.stream.channel import Channel


class WatchedFolders(RunningPart):
    """Searches the folder of each station as long as the station is running."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._search: ArchiveSearch | None = None

    def open(self) -> None:
        """Create the search. At this point, it hasn't found anything yet."""
        self._search = ArchiveSearch(self._host.index, self._own_zips)

    async def follow(self, channel: Channel) -> None:
        """Search the folder of a station until cancelled."""
        running = self._host.stations.get(channel.station)
        if running is not None and self._search is not None:
            await self._search.run(channel.station, running.station.folder)

    def index_lost(self) -> None:
        """Report all archives to the index again."""
        if self._search is not None:
            self._search.index_again()

    def _own_zips(self) -> Path | None:
        zips = self._host.find(SetZips)
        return None if zips is None else zips.folder
