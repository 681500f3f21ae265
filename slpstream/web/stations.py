"""`/v1/stations`, `/v1/reload`, health and metrics.

This is also where the interface to the stations of a daemon or gateway is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, Protocol

import msgspec
import trio
from msgspec import UNSET, Meta, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import ConfigError
from slpstream.sets import Change, SetPatch, SetScore
from slpstream.system import metrics
from slpstream.web import schemas
from slpstream.web.endpoint import Endpoint, NoParameters, json_response
from slpstream.web.station_path import STATION_IN_PATH, NoSuchStation

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]{0,99}"
_NAMES = re.compile(rf"{_NAME}(,{_NAME}){{0,31}}")


class SampleNames(tuple[str, ...]):
    """The names of the samples that the response should contain."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> SampleNames:
        """Split a comma-separated list. Raises `ValueError` if this isn't possible."""
        if not _NAMES.fullmatch(text):
            raise ValueError("expected at most 32 names of samples, like `slpstream_websockets,slpstream_frames_total`")
        return cls(text.split(","))


class MetricsQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Which metrics to return."""

    names: Annotated[
        Annotated[SampleNames, Meta(extra_json_schema={"pattern": f"^{_NAMES.pattern}$"})] | UnsetType,
        Meta(description="Only samples with these names: `slpstream_websockets,slpstream_frames_total`. Default: all."),
    ] = UNSET


class Stations(Protocol):
    """The stations of a daemon or a gateway, in the form in which the web server sees them."""

    def stations(self) -> list[dict[str, Any]]:
        """Return all stations, in the form of `schemas.Station`."""

    def station(self, station: str) -> dict[str, Any] | None:
        """Return one station with its files, in the form of `schemas.OneStation`, or `None` if it doesn't exist."""

    async def remove_discovered(self, station: str) -> bool:
        """Remove the station of a console that has announced itself. Returns whether it existed."""

    def not_ready(self) -> list[str]:
        """Return the parts that don't work, each with the reason as a text for people.

        This is empty if everything works.
        """

    def starting(self) -> list[str]:
        """Return the ids of the stations that are starting. They aren't ready yet, but they are not faulty either."""

    async def reload(self) -> schemas.Reloaded | None:
        """Read the configuration again.

        Returns `None` if it doesn't come from a file, and raises `ConfigError` if it is invalid.
        """

    def render_metrics(self, names: Collection[str] = ()) -> bytes:
        """Return the page for Prometheus, or only the samples with the given names. A worker thread calls this."""

    async def set_of(self, station: str) -> SetScore | None:
        """Return the newest set of a station, or `None` if the station doesn't exist."""

    async def correct_set(
        self, station: str, patch: SetPatch, is_current: Callable[[SetScore], bool], by: str
    ) -> SetScore | None:
        """Correct the newest set of a station for the operator `by`, and return it.

        Returns `None` and changes nothing if `is_current` is false for the set before the correction. Raises
        `ImpossibleCorrection` or `StoreError`.
        """

    async def set_changes(self, station: str) -> Sequence[Change]:
        """Return the changes that operators have made to the sets of a station, oldest first.

        The station must exist. Raises `StoreError`.
        """

    async def undo_set_change(self, station: str, change_id: int, by: str) -> SetScore:
        """Undo one of those changes for the operator `by`, and return the set.

        Raises `ImpossibleCorrection` or `StoreError`.
        """


def endpoints(stations: Stations) -> list[Endpoint]:
    """Make the endpoints of this module."""

    async def list_stations(request: Request, _: NoParameters) -> Response:
        return await json_response(request, {"stations": stations.stations()})

    async def one_station(request: Request, _: NoParameters) -> Response:
        name = request.path_params["station"]
        description = stations.station(name)
        if description is None:
            raise NoSuchStation(name)
        return await json_response(request, description)

    async def remove_station(request: Request, _: NoParameters) -> Response:
        name = request.path_params["station"]
        if stations.station(name) is None:
            raise NoSuchStation(name)
        if not await stations.remove_discovered(name):
            raise HTTPException(409, "only the stations of discovered consoles can be removed")
        return await json_response(request, {"stations": stations.stations()})

    async def healthz(request: Request, _: NoParameters) -> Response:
        return await json_response(request, schemas.Health(status="ok"))

    async def readyz(request: Request, _: NoParameters) -> Response:
        missing, starting = stations.not_ready(), stations.starting()
        ready = not missing and not starting
        readiness = schemas.Readiness(status="ready" if ready else "not ready", missing=missing, starting=starting)
        return await json_response(request, readiness, status=200 if ready else 503)

    async def reload(request: Request, _: NoParameters) -> Response:
        try:
            reloaded = await stations.reload()
        except ConfigError as error:
            raise HTTPException(409, f"the old configuration stays: {error.for_clients}") from None
        if reloaded is None:
            raise HTTPException(409, "there is no configuration file to read again")
        return await json_response(request, reloaded)

    async def metrics_page(request: Request, query: MetricsQuery) -> Response:
        page = await trio.to_thread.run_sync(stations.render_metrics, query.names or ())
        return Response(page, headers={"content-type": metrics.CONTENT_TYPE})

    return [
        Endpoint("/v1/stations", "listStations", "All stations.", list_stations, schemas.StationList),
        Endpoint(
            "/v1/stations/{station}", "getStation", "One station with its newest files.", one_station,
            schemas.OneStation, in_path=STATION_IN_PATH, statuses={404: "No such station."},
        ),
        Endpoint(
            "/v1/stations/{station}", "removeStation",
            "Removes the station of a console that has announced itself. Returns the others. It comes back if the "
            "console announces itself again.",
            remove_station, schemas.StationList, in_path=STATION_IN_PATH, method="DELETE", operates=True,
            statuses={404: "No such station.", 409: "The station is not one of a discovered console."},
        ),
        Endpoint("/healthz", "getHealth", "Whether the process is alive.", healthz, schemas.Health),
        Endpoint(
            "/readyz", "getReadiness", "Whether all folders can be read and all outputs written.", readyz,
            schemas.Readiness, statuses={503: "Something does not work."},
        ),
        Endpoint(
            "/v1/reload", "reload", "Reads the configuration file again, like SIGHUP on Unix.", reload,
            schemas.Reloaded, method="POST", operates=True,
            statuses={409: "There is no configuration file, or it is invalid; the old configuration stays."},
        ),
        Endpoint(
            "/metrics", "getMetrics", "Metrics for Prometheus.", metrics_page, media_type="text/plain",
            parameters=MetricsQuery,
        ),
    ]  # fmt: skip
