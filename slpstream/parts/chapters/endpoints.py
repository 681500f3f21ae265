"""`/v1/chapters`: the sets and games of a stream as chapters for YouTube, and as cuts of its recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import StoreError
from slpstream.model.messages import timestamp
from slpstream.parts.chapters.clips import Clip, Per
from slpstream.parts.chapters.cut_lists import Cut, cuts, edit_decision_list, table
from slpstream.parts.chapters.station_clips import StationClips
from slpstream.parts.chapters.youtube import NoChapters, chapters, text
from slpstream.store.games_query import StartTime
from slpstream.web.endpoint import Endpoint, json_response

_Time = Annotated[StartTime, Meta(extra_json_schema={"format": "date-time"})]
_STATUSES = {503: "The index of games is not open yet."}


class VideoQuery(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}
):
    """A video: a stream or its recording."""

    start: Annotated[_Time, Meta(description="When the video began, RFC 3339, by the clock of this machine.")]
    end: Annotated[_Time | UnsetType, Meta(description="When it ended. Default: with the last game that is in it.")] = (
        UNSET
    )
    station: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType,
        Meta(description="Only the games of this station. Default: those of all stations."),
    ] = UNSET
    per: Annotated[Per, Meta(description="An entry for each game, or for each set.")] = "game"

    @property
    def end_ms(self) -> int | None:
        """The end as Unix time in milliseconds, or `None` if it isn't in the query."""
        return None if self.end is UNSET else int(self.end)


class CutsQuery(VideoQuery, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How to cut a video."""

    per: Annotated[Per, Meta(description="An entry for each game, or for each set.")] = "set"
    padding: Annotated[
        float, Meta(ge=0, le=600, description="Seconds before the beginning and after the end of each.")
    ] = 5.0
    rate: Annotated[int, Meta(ge=1, le=99, description="Frames per second of the timecode, as a whole number.")] = 60


class ListedChapter(msgspec.Struct, frozen=True):
    """A chapter."""

    seconds: Annotated[int, Meta(description="Its place in the video.")]
    title: str


class ListedCut(msgspec.Struct, rename="camel", frozen=True):
    """A set or a game with its in and out points."""

    station: str
    title: str
    in_seconds: float
    out_seconds: float
    started_at: str
    set_id: Annotated[str, Meta(description="Id of the first game of the set.")]
    game_ids: tuple[str, ...]


class Chapters(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """The chapters and cuts of a video."""

    chapters: Annotated[list[ListedChapter], Meta(description="Empty if YouTube would refuse them.")]
    reason: Annotated[str | None, Meta(description="Why there are no chapters; left out if there are.")] = None
    description: Annotated[
        str | None, Meta(description="The lines for the description of the video; left out if there are no chapters.")
    ] = None
    cuts: Annotated[list[ListedCut], Meta(description="In and out points, without padding.")] = []


def endpoints(running: StationClips | None) -> list[Endpoint]:
    """Return the endpoints of this module. If you only want a description, pass `None`."""

    async def found(query: VideoQuery) -> Sequence[Clip]:
        station = None if query.station is UNSET else query.station
        try:
            return await cast(StationClips, running).clips(station, int(query.start), query.per)
        except StoreError as error:
            raise HTTPException(503, str(error)) from None

    async def cuts_of(query: CutsQuery) -> list[Cut]:
        return cuts(await found(query), int(query.start), query.end_ms, padding_ms=round(1000 * query.padding))

    async def as_json(request: Request, query: VideoQuery) -> Response:
        return await json_response(request, _described(await found(query), query))

    async def as_text(request: Request, query: VideoQuery) -> Response:
        try:
            lines = text(chapters(await found(query), int(query.start), query.end_ms))
        except NoChapters as error:
            raise HTTPException(409, f"no chapters: {error}") from None
        return _plain(lines, "text/plain")

    async def as_edl(request: Request, query: CutsQuery) -> Response:
        return _plain(edit_decision_list(await cuts_of(query), query.rate), "text/plain")

    async def as_csv(request: Request, query: CutsQuery) -> Response:
        return _plain(table(await cuts_of(query)), "text/csv")

    return [
        Endpoint(
            "/v1/chapters", "getChapters", "The sets or games of a stream: chapters, and in and out points.", as_json,
            Chapters, parameters=VideoQuery, statuses=_STATUSES,
        ),
        Endpoint(
            "/v1/chapters/youtube.txt", "getYouTubeChapters", "Chapters for the description of a video on YouTube.",
            as_text, media_type="text/plain", parameters=VideoQuery,
            statuses=_STATUSES | {409: "YouTube would refuse the list; the detail says why."},
        ),
        Endpoint(
            "/v1/chapters/cuts.edl", "getEditDecisionList",
            "In and out points in the timecode of the recording, as an edit decision list (CMX 3600).",
            as_edl, media_type="text/plain", parameters=CutsQuery, statuses=_STATUSES,
        ),
        Endpoint(
            "/v1/chapters/cuts.csv", "getCutTable", "The same as CSV.",
            as_csv, media_type="text/csv", parameters=CutsQuery, statuses=_STATUSES,
        ),
    ]  # fmt: skip


def _described(found: Sequence[Clip], query: VideoQuery) -> Chapters:
    listed = [
        ListedCut(
            station=cut.clip.station,
            title=cut.clip.title,
            in_seconds=cut.in_ms / 1000,
            out_seconds=cut.out_ms / 1000,
            started_at=timestamp(cut.clip.start_ms / 1000),
            set_id=cut.clip.set_id,
            game_ids=cut.clip.game_ids,
        )
        for cut in cuts(found, int(query.start), query.end_ms)
    ]
    try:
        lines = chapters(found, int(query.start), query.end_ms)
    except NoChapters as error:
        return Chapters([], reason=str(error), cuts=listed)
    return Chapters([ListedChapter(*each) for each in lines], description=text(lines), cuts=listed)


def _plain(content: str, media_type: str) -> Response:
    headers = {"content-type": f"{media_type}; charset=utf-8", "cache-control": "no-store"}
    return Response(content.encode(), headers=headers)
