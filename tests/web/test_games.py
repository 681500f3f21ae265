"""`/v1/games` and the paths below it, with made-up games: parameters, paging, ETag, gzip, files and ranges."""

from __future__ import annotations

import gzip
import re
from typing import Any

import msgspec
import pytest
from starlette.requests import Request

from slpstream.model.summary import GameSummary
from slpstream.store import GameKey, GamesQuery, StartTime
from slpstream.web import schemas
from slpstream.web.access import Access
from slpstream.web.games import MAX_FRAMES, FieldPaths, FramesQuery
from slpstream.web.launcher import launcher_link, replay_name
from tests.web.served import Answer, Served, served

pytestmark = pytest.mark.trio

ID = "0123456789abcdef" * 2
OTHER = "f" * 32


def item(**values: Any) -> dict[str, Any]:
    return {
        "game_id": ID,
        "format": "slippi",
        "station": "main",
        "stations": ["main"],
        "started_at": "2023-11-14T22:13:20.000Z",
        "in_progress": False,
        "players": [schemas.Player(index=0, name="Ann")],
        "setup": {"stageId": 3},
        "winners": [0],
        "reason": "game_end",
        "last_frame": 1676,
        "duration_seconds": 30.0,
        "summary": GameSummary(rules="4 stocks"),
        **values,
    }


def one_game(**values: Any) -> schemas.Game:
    links = schemas.GameLinks(self="/a", frames="/b", stats="/c", replay="/d", events="/e")
    settings = msgspec.Raw(b'{"stageId":3,"padding":"%s"}' % (b"x" * 3000))
    return schemas.Game(**item(**values), rate=[60, 1], settings=settings, files=[], links=links)


def known(server: Served) -> None:
    server.games.known[ID] = one_game()


async def test_list(server: Served) -> None:
    assert (await server.ask("/v1/games")).json == {"games": []}
    assert server.games.queries == [GamesQuery()]
    server.games.items = [schemas.GameItem(**item()), schemas.GameItem(**item(game_id=OTHER, reason=None))]
    server.games.more = True
    answer = await server.ask("/v1/games?limit=2")
    assert answer.headers["cache-control"] == "no-store"
    first, second = answer.json["games"]
    assert first["players"] == [{"index": 0, "name": "Ann"}]
    assert first["startedAt"] == "2023-11-14T22:13:20.000Z"
    assert "reason" not in second, "unknown values are left out"
    assert answer.json["next"] == "-5." + "f" * 32
    await server.ask(f"/v1/games?cursor={answer.json['next']}&token=x")
    assert server.games.queries[-1] == GamesQuery(cursor=GameKey((-5, "f" * 32)))


async def test_query_is_decoded_into_its_types(server: Served) -> None:
    query = "station=main&player=Ann%20%C3%9C&format=slippi&since=2023-11-14&limit=7"
    query += "&until=2023-11-14T22:13:20.5%2B01:00"
    assert (await server.ask(f"/v1/games?{query}")).status == 200
    assert server.games.queries == [
        GamesQuery(
            station="main",
            player="Ann Ü",
            format="slippi",
            since=StartTime(1_699_920_000_000),
            until=StartTime(1_699_996_400_500),
            limit=7,
        )
    ]


async def test_invalid_parameter_is_named(server: Served) -> None:
    for query, what in {
        "limit=0": "limit", "limit=201": "limit", "limit=x": "limit", "limit=": "limit", "limit=1.5": "limit",
        "limit=1&limit=2": "limit: given twice", "cursor=x": "cursor", "cursor=1." + "F" * 32: "cursor",
        "since=yesterday": "since: expected a date and time", "until=2023-13-01": "until: expected a date and time",
        "station=": "station", "player=" + "x" * 201: "player", "playr=ann": "unknown parameter: playr",
    }.items():  # fmt: skip
        answer = await server.ask(f"/v1/games?{query}")
        assert answer.problem["status"] == 422, query
        assert answer.problem["detail"].startswith(what)
    assert not server.games.queries


async def test_no_such_game(server: Served) -> None:
    known(server)
    for game_id in (OTHER, "x", "..%2f..", ID.upper(), ID + "0", "%00"):
        for below in ("", "/frames", "/stats", "/replay"):
            answer = await server.ask(f"/v1/games/{game_id}{below}")
            assert answer.problem["status"] == 404
            assert answer.problem["detail"]
    assert not server.games.opened


async def test_game_and_its_etag(server: Served) -> None:
    known(server)
    answer = await server.ask(f"/v1/games/{ID}")
    assert answer.json["settings"]["stageId"] == 3
    assert answer.headers["cache-control"] == "no-cache"
    tag = answer.headers["etag"]
    for given in (tag, f'"other", {tag}', "*", tag.removeprefix("W/")):
        same = await server.ask(f"/v1/games/{ID}", if_none_match=given)
        assert (same.status, same.body) == (304, b"")
        assert same.headers["etag"] == tag
    assert (await server.ask(f"/v1/games/{ID}", if_none_match='"other"')).status == 200
    server.games.known[ID] = one_game(last_frame=7)
    assert (await server.ask(f"/v1/games/{ID}", if_none_match=tag)).status == 200
    server.games.known[ID] = one_game(in_progress=True, reason=None)
    answer = await server.ask(f"/v1/games/{ID}")
    assert "etag" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


async def test_gzip(server: Served) -> None:
    known(server)
    plain = await server.ask(f"/v1/games/{ID}")
    for accepted, compressed in {
        "gzip": True, "br, GZIP;q=0.5": True, "*": True, "gzip;q=0": False, "*;q=0, gzip": True, "br": False,
        "": False, "gzip;q=x": False, "gzip;q=0, *": False,
    }.items():  # fmt: skip
        await check_gzip(server, plain, accepted, compressed)


async def check_gzip(server: Served, plain: Answer, accepted: str, compressed: bool) -> None:
    answer = await server.ask(f"/v1/games/{ID}", accept_encoding=accepted)
    assert (answer.headers.get("content-encoding") == "gzip") == compressed
    assert (gzip.decompress(answer.body) if compressed else answer.body) == plain.body
    assert (len(answer.body) < len(plain.body) / 3) == compressed
    assert answer.headers["vary"] == "accept-encoding"
    assert answer.headers["etag"] == plain.headers["etag"]
    small = await server.ask("/v1/games", accept_encoding=accepted)
    assert "content-encoding" not in small.headers


async def test_frames(server: Served) -> None:
    known(server)
    server.games.frame_count = 3000
    answer = await server.ask(f"/v1/games/{ID}/frames")
    assert [frame["frame"] for frame in answer.json["frames"]] == list(range(MAX_FRAMES))
    assert answer.json["next"] == MAX_FRAMES
    answer = await server.ask(f"/v1/games/{ID}/frames?from=2990&to=3100&fields=post.percent,items&limit=20")
    assert server.games.queries[-1] == FramesQuery(2990, 3100, 20, FieldPaths(("post.percent", "items")))
    assert len(answer.json["frames"]) == 10
    assert "next" not in answer.json
    assert (await server.ask(f"/v1/games/{ID}/frames?from=-123")).status == 200
    for wrong in ("from=x", "to=1.5", "limit=1201", "fields=", "fields=a,,b", "fields=../x", "from=99999999"):
        assert (await server.ask(f"/v1/games/{ID}/frames?{wrong}")).status == 422


async def test_file_download(server: Served) -> None:
    known(server)
    server.games.file = bytes(range(256)) * 1000
    answer = await server.ask(f"/v1/games/{ID}/replay")
    assert (answer.status, answer.body) == (200, server.games.file)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="Game_1.slp"'
    assert answer.headers["last-modified"] == "Tue, 14 Nov 2023 22:13:20 GMT"
    tag = answer.headers["etag"]
    same = await server.ask(f"/v1/games/{ID}/replay", if_none_match=tag)
    assert (same.status, same.body) == (304, b"")
    part = await server.ask(f"/v1/games/{ID}/replay", range="bytes=100000-", if_range=tag)
    assert (part.status, part.body) == (206, server.games.file[100_000:])
    assert part.headers["content-range"] == "bytes 100000-255999/256000"
    other = await server.ask(f"/v1/games/{ID}/replay", range="bytes=0-1", if_range='"other"')
    assert (other.status, len(other.body)) == (200, 256_000)
    beyond = await server.ask(f"/v1/games/{ID}/replay", range="bytes=256000-")
    assert beyond.status == beyond.problem["status"] == 416
    assert beyond.headers["content-range"] == "bytes */256000"
    server.games.file = b""
    answer = await server.ask(f"/v1/games/{ID}/replay")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "0")
    assert (await server.ask(f"/v1/games/{ID}/replay", "HEAD")).headers["content-length"] == "0"
    assert all(opened.closed for opened in server.games.opened)


async def test_launcher_link_behind_a_proxy_with_tls() -> None:
    headers = [(b"host", b"stream.example"), (b"x-forwarded-proto", b"https")]
    scope = {"type": "http", "scheme": "http", "path": "/v1/games", "query_string": b"token=x", "headers": headers}
    link = launcher_link(Request(scope), "/v1/games/a/Game_1.slp", 7)
    assert link == "slippi://?path=https%3A%2F%2Fstream.example%2Fv1%2Fgames%2Fa%2FGame_1.slp&startFrame=7"


async def test_names_of_replays() -> None:
    start = "2023-11-14T22:13:20.000Z"
    assert replay_name(ID, start) == "Game_20231114T221320_0123456789abcdef.slp"
    names = [
        *(replay_name(game_id, start, through) for game_id in (ID, OTHER) for through in (None, -5, 5, 100)),
        replay_name(ID, "2023-11-14T22:13:21.000Z"),
    ]
    assert len(set(names)) == len(names), "programs that cache downloads must not mistake a grown file for the old one"
    assert all(re.fullmatch(r"Game_\w+\.slp", name, re.ASCII) for name in names)


async def test_response_breaks_off_when_the_file_shrinks(server: Served) -> None:
    known(server)
    server.games.file = bytes(200_000)
    original = server.games.replay

    async def shrunk(game_id: str) -> Any:
        found = await original(game_id)
        assert found is not None
        found.file.truncate(100_000)
        return found

    server.games.replay = shrunk  # type: ignore[method-assign]
    async with await server.call() as caller:
        await caller.send(b"GET /v1/games/%b/replay HTTP/1.1\r\nhost: localhost\r\n\r\n" % ID.encode())
        with pytest.raises(AssertionError, match="the connection ended"):
            await caller.answer()
    assert (await server.ask("/healthz")).status == 200


async def test_allowed_origins_can_read_responses() -> None:
    page = "https://overlays.example"
    async with served(access=Access(allowed_origins=(page,))) as server:
        known(server)
        for target in ("/v1/games", f"/v1/games/{ID}", f"/v1/games/{OTHER}", "/v1/stations"):
            answer = await server.ask(target, origin=page)
            assert answer.headers["access-control-allow-origin"] == page
            assert "origin" in answer.headers["vary"].split(", ")
            assert "access-control-allow-origin" not in (await server.ask(target)).headers
        refused = await server.ask("/v1/games", origin="https://evil.example")
        assert refused.status == 403
        assert "access-control-allow-origin" not in refused.headers
