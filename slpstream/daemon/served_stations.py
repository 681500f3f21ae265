"""The stations of a daemon, in the form in which its web server sees them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from slpstream.daemon.subfolders import Subfolders
from slpstream.parts.interface import Host
from slpstream.sets import Change, ImpossibleCorrection, SetPatch, SetScore
from slpstream.web.schemas import Reloaded

if TYPE_CHECKING:
    from slpstream.daemon.station.station import Station


class ServedStations:
    """Answers for the stations of a running daemon.

    Have a look at `web.stations.Stations`, which describes the methods.
    """

    def __init__(
        self,
        host: Host,
        subfolders: Subfolders,
        reload: Callable[[], Coroutine[Any, Any, Reloaded | None]],
    ) -> None:
        self._host = host
        self._subfolders = subfolders
        self.reload = reload
        """Reads the configuration again. Raises `ConfigError` if it isn't valid."""

    def stations(self) -> list[dict[str, Any]]:
        """Return descriptions of all stations."""
        return [self._described(station) for station in self._host.stations.stations]

    def station(self, station: str) -> dict[str, Any] | None:
        """Return the description of one station with its newest files, or `None` if there is no such station."""
        running = self._host.stations.get(station)
        if running is None:
            return None
        return {**self._described(running.station), "recordings": running.station.archive.newest()}

    def _described(self, station: Station) -> dict[str, Any]:
        stations = self._host.stations
        more = {"demo": stations.is_temporary(station.id), "discovered": station.id in stations.discovered()}
        return station.describe() | {key: True for key, value in more.items() if value}

    async def remove_discovered(self, station: str) -> bool:
        """Remove the station of a console that was discovered."""
        return await self._host.stations.remove(station, "removed by the operator", origin="discovered")

    async def set_of(self, station: str) -> SetScore | None:
        """Return the newest set of a station, or `None` if there is no such station."""
        return await self._host.sets.score(station) if station in self._host.stations else None

    async def correct_set(
        self, station: str, patch: SetPatch, is_current: Callable[[SetScore], bool], by: str
    ) -> SetScore | None:
        """Correct the newest set of a station."""
        if self._host.stations.is_temporary(station):
            raise ImpossibleCorrection("the demo counts for no set")
        return await self._host.sets.correct(station, patch, is_current, by=by)

    async def set_changes(self, station: str) -> Sequence[Change]:
        """Return the changes that operators have made to the sets of a station, oldest first."""
        return await self._host.sets.changes(station)

    async def undo_set_change(self, station: str, change_id: int, by: str) -> SetScore:
        """Undo one of those changes."""
        return await self._host.sets.undo(station, change_id, by=by)

    def not_ready(self) -> list[str]:
        """Return everything that doesn't work, as texts for people.

        This includes an index that is only temporary, folders and stations that cannot be read, parts that cannot do
        their work, and tasks that were started again after a bug.
        """
        trouble = self._host.index.trouble
        return [
            *([] if trouble is None else [f"index of games: {trouble}"]),
            *(f"folder {folder}: cannot be read" for folder in sorted(self._subfolders.unreadable)),
            *(
                f"station {station.id}: {station.describe()['reason']}"
                for station in self._host.stations.stations
                if not (station.ready or station.starting)
            ),
            *self._host.parts.not_ready(),
            *self._host.errors.restarting(),
        ]

    def starting(self) -> list[str]:
        """Return the stations whose folders haven't been searched yet."""
        return [station.id for station in self._host.stations.stations if station.starting]

    def render_metrics(self, names: Collection[str] = ()) -> bytes:
        """Return the page for Prometheus, or only the samples with the given names."""
        return self._host.metrics.render(names)
