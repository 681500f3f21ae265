"""`/v1/stations/{station}/commentary`: what happens at a station, in short sentences, as they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec
import trio
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.commentary.commentary import PAUSE_SECONDS
from slpstream.parts.commentary.phrases import Language
from slpstream.web.endpoint import Endpoint
from slpstream.web.events import HEARTBEAT_SECONDS
from slpstream.web.station_path import STATION_IN_PATH

if TYPE_CHECKING:
    from slpstream.parts.commentary.commentary import Commentary

_MEDIA_TYPES = {"events": "text/event-stream", "text": "text/plain; charset=utf-8"}


class CommentaryQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Query parameters of the commentary."""

    lang: Annotated[Language, Meta(description="The language of the sentences.")] = "en"
    format: Annotated[
        Literal["events", "text"],
        Meta(description="`events`: server-sent events whose data is a sentence. `text`: a line for each sentence."),
    ] = "events"
    odds: Annotated[
        Literal["0", "1"], Meta(description="`1`: also say when the odds change by at least 20 points.")
    ] = "0"


class CommentaryResponse(Response):
    """Sends sentences until the client leaves or the station ends."""

    def __init__(self, commentary: Commentary, station: str, query: CommentaryQuery) -> None:
        super().__init__(None, headers={"content-type": _MEDIA_TYPES[query.format], "cache-control": "no-store"})
        del self.headers["content-length"]
        self._commentary = commentary
        self._station = station
        self._query = query

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the response. This makes the class an ASGI application."""
        is_text = self._query.format == "text"

        async def write(body: str) -> None:
            await send({"type": "http.response.body", "body": body.encode(), "more_body": True})

        async with self._commentary.listening(
            self._station, self._query.lang, with_odds=self._query.odds == "1"
        ) as listener:
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                while scope["method"] != "HEAD":
                    sentence: str | None = ""
                    with trio.move_on_after(HEARTBEAT_SECONDS):  # only a write shows that the client has left
                        sentence = await listener.next()
                    if sentence is None:
                        break
                    if sentence:
                        await write(f"{sentence}\n" if is_text else f"data: {sentence}\n\n")
                        await trio.sleep(PAUSE_SECONDS)
                    else:
                        await write("\n" if is_text else ":\n\n")
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            except OSError:
                pass  # the client has left


def endpoints(running: Commentary | None) -> list[Endpoint]:
    """Make the endpoint of this module. `running` is `None` if it is only described."""

    async def of_station(request: Request, query: CommentaryQuery) -> Response:
        commentary = cast("Commentary", running)
        if commentary.is_full:
            raise HTTPException(503, "there are too many listeners")
        return CommentaryResponse(commentary, request.path_params["station"], query)

    return [
        Endpoint(
            "/v1/stations/{station}/commentary", "followCommentary",
            "What happens at a station in short sentences, sent while it is played: stocks, long conversions, results, "
            "the score of the set, situations, and on request the odds.",
            of_station, media_type="text/event-stream", parameters=CommentaryQuery, in_path=STATION_IN_PATH,
            at_station=True, statuses={404: "No such station.", 503: "Too many listeners."},
        ),
    ]  # fmt: skip
