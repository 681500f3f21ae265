"""`/v1/seat-codes`: the QR codes that lead phones to the seats of a station, for operators."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.prepared import prepared
from slpstream.parts.seats.phone_api import PAGE_PREFIX
from slpstream.web.endpoint import BODY_REFUSED, Endpoint, NoParameters, json_response, read_body
from slpstream.web.schemas import Schema
from slpstream.web.station_path import STATION_IN_PATH, NoSuchStation

if TYPE_CHECKING:
    from slpstream.parts.seats.seats import DaemonSeats

PATH = "/v1/seat-codes"


class SeatCode(Schema, kw_only=True):
    """The code of a station."""

    station: str
    name: Annotated[str, Meta(description="Name of the station, for people.")]
    url: Annotated[str, Meta(description="The address in the code: the page of the station, with its token.")]


@prepared
class SeatCodes(Schema, kw_only=True):
    """The codes of all stations."""

    address: Annotated[str, Meta(description="Where phones reach the daemon, as the codes say.")]
    address_from: Annotated[
        Literal["configuration", "machine", "loopback"],
        Meta(
            description="Where the address comes from: the configuration, or this machine's place in the network. "
            "Phones cannot reach `loopback`."
        ),
    ]
    codes: list[SeatCode]


class SeatRenewal(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Which codes to replace."""

    station: Annotated[str | None, Meta(description="Id of a station; left out for all.")] = None


def seat_url(address: str, station: str, token: str) -> str:
    """Return the address for a code. The token is in the fragment, because browsers don't send this part."""
    return f"{address}{PAGE_PREFIX}{quote(station, safe='')}#{token}"


def draw_svg(url: str) -> bytes:
    """Return a QR code as an SVG image. It is black on white, and has the margin that scanners need."""
    import segno  # noqa: PLC0415 -- few processes draw codes

    out = io.BytesIO()
    segno.make(url, error="m", micro=False).save(
        out, kind="svg", border=4, dark="#000", light="#fff", xmldecl=False, svgns=True, omitsize=True
    )
    return out.getvalue()


def endpoints(codes: DaemonSeats | None) -> list[Endpoint]:
    """Return the endpoints of this module. If seats aren't configured, pass `None`."""

    def configured() -> DaemonSeats:
        if codes is None:
            raise HTTPException(409, "seats are off: `[seats]` in the configuration has no `on = true`")
        return codes

    async def list_codes(request: Request, _: NoParameters) -> Response:
        return await json_response(request, configured().codes())

    async def picture(request: Request, _: NoParameters) -> Response:
        station = request.path_params["station"]
        found = next((code for code in configured().codes().codes if code.station == station), None)
        if found is None:
            raise NoSuchStation(station)
        return Response(draw_svg(found.url), headers={"content-type": "image/svg+xml", "cache-control": "no-store"})

    async def renew(request: Request, _: NoParameters) -> Response:
        wanted = await read_body(request, SeatRenewal)
        if not await configured().renew(wanted.station):
            raise NoSuchStation(wanted.station or "")
        return await json_response(request, configured().codes())

    off = {409: "Seats are off."}
    return [
        Endpoint(
            PATH, "listSeatCodes", "The addresses in the QR codes of all stations. They are secrets.", list_codes,
            SeatCodes, operates=True, statuses=off,
        ),
        Endpoint(
            PATH, "renewSeatCodes",
            "Replaces the codes of a station or of all stations. The old ones do not work any more.",
            renew, SeatCodes, method="POST", operates=True, body=SeatRenewal,
            statuses=BODY_REFUSED | off | {404: "No such station."},
        ),
        Endpoint(
            f"{PATH}/{{station}}", "getSeatCode", "The QR code of a station, as SVG.", picture,
            media_type="image/svg+xml", in_path=STATION_IN_PATH, operates=True,
            statuses=off | {404: "No such station."},
        ),
    ]  # fmt: skip
