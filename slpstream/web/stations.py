"""`/v1/stations`, and whether the daemon and its stations work."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import trio
from msgspec import UNSET, Meta, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.system import metrics
from slpstream.web import schemas
from slpstream.web.endpoint import Endpoint, NoParameters, Parameters, json_answer
from slpstream.web.sets import Sets

_STATION = {"station": Annotated[str, Meta(description="Id of a station.", min_length=1)]}


class Stations(Sets, Protocol):
    """What the application asks about the daemon."""

    def stations(self) -> list[dict[str, Any]]:
        """All stations, as `/v1/stations` shows them."""

    def station(self, station: str) -> dict[str, Any] | None:
        """One station with its files; `None` when there is none of that name."""

    def not_ready(self) -> list[str]:
        """What is not working yet or any more; empty when all is."""

    def render_metrics(self) -> bytes:
        """The Prometheus page; called in a worker thread."""


def endpoints(stations: Stations) -> list[Endpoint]:
    """The paths of this module."""

    async def list_stations(request: Request, _: NoParameters) -> Response:
        return await json_answer(request, {"stations": stations.stations()})

    async def one_station(request: Request, _: NoParameters) -> Response:
        name = request.path_params["station"]
        description = stations.station(name)
        if description is None:
            raise HTTPException(404, f"no such station: {name}")
        return await json_answer(request, description)

    async def healthz(request: Request, _: NoParameters) -> Response:
        return await json_answer(request, schemas.Health(status="ok"))

    async def readyz(request: Request, _: NoParameters) -> Response:
        missing = stations.not_ready()
        status = "not ready" if missing else "ready"
        return await json_answer(
            request, schemas.Readiness(status=status, missing=missing), status=503 if missing else 200
        )

    async def metrics_page(request: Request, _: NoParameters) -> Response:
        page = await trio.to_thread.run_sync(stations.render_metrics)
        return Response(page, headers={"content-type": metrics.CONTENT_TYPE})

    return [
        Endpoint("/v1/stations", "listStations", "All stations.", list_stations, schemas.StationList),
        Endpoint(
            "/v1/stations/{station}", "getStation", "One station with its newest files.", one_station,
            schemas.OneStation, in_path=_STATION, statuses={404: "No such station."},
        ),
        Endpoint("/healthz", "getHealth", "Alive.", healthz, schemas.Health),
        Endpoint(
            "/readyz", "getReadiness", "Whether all folders can be read.", readyz, schemas.Readiness,
            statuses={503: "Something does not work."},
        ),
        Endpoint("/metrics", "getMetrics", "Figures for Prometheus.", metrics_page, media_type="text/plain"),
    ]  # fmt: skip


class EventsParameters(Parameters, frozen=True):
    """Of `/v1/events`: those of a subscription, see the websocket."""

    station: Annotated[str, Meta(min_length=1, description="The station; one.")]
    topics: Annotated[str | UnsetType, Meta(description="`game,frame,event,stats,diagnostic`, or some of them.")] = (
        UNSET
    )
    frames: Annotated[str | UnsetType, Meta(description="`live` or `finalized`.")] = UNSET
    rate: Annotated[str | UnsetType, Meta(description="Frames per second of game time.")] = UNSET
    fields: Annotated[str | UnsetType, Meta(description="Cuts the frames down.")] = UNSET
    delivery: Annotated[str | UnsetType, Meta(description="`conflate` or `lossless`.")] = UNSET
    cursor: Annotated[str | UnsetType, Meta(description="`live`, `start`, or a cursor.")] = UNSET


def events_endpoint() -> Endpoint:
    """The description of `/v1/events`, and its answer to HEAD. A GET is answered by the server itself, which has the
    connection."""

    async def head(request: Request, _: EventsParameters) -> Response:
        return Response(headers={"content-type": "text/event-stream", "cache-control": "no-store"})

    return Endpoint(
        "/v1/events",
        "followEvents",
        "The log of one station as server-sent events: `event` is the type, `id` the cursor, `data` the message.",
        head,
        media_type="text/event-stream",
        parameters=EventsParameters,
        statuses={404: "No such station or game.", 410: "That cursor is gone."},
        headers={"Last-Event-ID": "The cursor of the last event that was seen; counts more than `cursor`."},
    )
