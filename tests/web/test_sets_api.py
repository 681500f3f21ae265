"""`/v1/stations/{id}/set`: reading, correcting, and refusals."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from slpstream.web.access import Denied
from slpstream.web.endpoint import MAX_BODY_BYTES, MERGE_PATCH, OPERATING
from slpstream.web.sets import endpoints
from tests.web.served import Answer, FakeStations, Served, served

SET = "/v1/stations/main/set"


async def patch(server: Served, document: Any, target: str = SET, **headers: str) -> Answer:
    body = document if isinstance(document, bytes) else msgspec.json.encode(document)
    return await server.bring(body, target, "PATCH", **({"content_type": "application/json"} | headers))


@pytest.mark.trio
async def test_correction_returns_the_corrected_set() -> None:
    async with served() as server:
        before = await server.ask(SET)
        assert (before.status, before.json["state"], before.json["bestOf"]) == (200, "upcoming", 3)
        document = {"names": {"0": "Ann"}, "score": {"1": 2.0}, "bestOf": 7}
        answer = await patch(server, document, content_type=f"{MERGE_PATCH}; charset=utf-8")
        assert answer.status == 200
        assert (answer.json["bestOf"], answer.json["score"]) == (7, [0, 2])
        assert [player.get("name") for player in answer.json["players"]] == ["Ann", None]
        assert (await server.ask(SET)).json == answer.json
        assert (await patch(server, {"names": None, "bestOf": None, "score": {"1": None}})).json == before.json


@pytest.mark.trio
async def test_concurrent_change_is_refused() -> None:
    async with served() as server:
        tag = (await server.ask(SET)).headers["etag"]
        assert (await server.ask(SET, if_none_match=tag)).status == 304
        first = await patch(server, {"bestOf": 5}, if_match=tag)
        assert first.status == 200
        refused = await patch(server, {"bestOf": 7}, if_match=tag)
        assert refused.problem["status"] == 412
        assert (await server.ask(SET)).json["bestOf"] == 5
        assert (await patch(server, {"bestOf": 7}, if_match=f'"x", {first.headers["etag"]}')).status == 200
        assert (await patch(server, {"bestOf": 7}, if_match="*", if_none_match="*")).status == 200


@pytest.mark.trio
@pytest.mark.parametrize(
    ("document", "status", "what"),
    [
        ({"names": {"3": "Ann"}}, 409, "no player 3 in this set"),
        ({"games": {"0" * 32: {"counts": True}}}, 409, "there is no game"),
        ({"names": {"4": "Ann"}}, 422, "names"),
        ({"names": {"0": "x" * 61}}, 422, "names"),
        ({"names": "Ann"}, 422, "names: Expected `object | null`"),
        ({"bestOf": 0}, 422, "bestOf: Expected `int` >= 1"),
        ({"bestOf": 2.5}, 422, "bestOf"),
        ({"bestOf": "5"}, 422, "bestOf"),
        ({"score": {"0": -1}}, 422, "score"),
        ({"games": {"x": None}}, 422, "games"),
        ({"games": {"0" * 32: {"verdict": "counted"}}}, 422, "unknown field"),
        ({"nothing": 1}, 422, "unknown field `nothing`"),
        ([], 422, "Expected `object`"),
        (b"{", 422, "truncated"),
        (b"", 422, "truncated"),
        (b'{"names": {"0": "\xff"}}', 422, ""),
        (b"[" * 60_000, 422, "nested too deeply"),
        (b'{"names": ' + b"[" * 700 + b"]" * 700 + b"}", 422, ""),
    ],
    ids=range(18),
)
async def test_invalid_correction_changes_nothing(document: Any, status: int, what: str) -> None:
    async with served() as server:
        before = (await server.ask(SET)).json
        answer = await patch(server, document)
        assert answer.problem["status"] == status
        assert what in answer.problem["detail"]
        assert (await server.ask(SET)).json == before


@pytest.mark.trio
async def test_other_refusals() -> None:
    async with served() as server:
        assert (await patch(server, {}, "/v1/stations/none/set")).problem["status"] == 404
        assert (await server.ask("/v1/stations/none/set")).problem["status"] == 404
        assert (await patch(server, {}, content_type="text/plain")).problem["status"] == 415
        too_long = await patch(server, b" " * (MAX_BODY_BYTES + 1))
        assert too_long.problem["status"] == 413
        assert (await server.ask(SET, "PUT")).status == 405
        assert sorted((await server.ask(SET, "POST")).headers["allow"].split(", ")) == ["GET", "HEAD", "PATCH"]
        server.fake.full = True
        assert (await patch(server, {"bestOf": 5})).problem["status"] == 503


@pytest.mark.trio
async def test_connection_continues_after_a_body() -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            head = f"PATCH {SET} HTTP/1.1\r\nhost: {server.host.decode()}\r\ncontent-type: application/json\r\n"
            chunked = head + 'transfer-encoding: chunked\r\n\r\n5\r\n{"bes\r\n7\r\ntOf":5}\r\n0\r\n\r\n'
            await caller.send(chunked.encode())
            assert (await caller.answer()).json["bestOf"] == 5
            await caller.send(f"GET {SET} HTTP/1.1\r\nhost: {server.host.decode()}\r\n\r\n".encode())
            assert (await caller.answer()).json["bestOf"] == 5


@pytest.mark.trio
async def test_incomplete_body() -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            head = f"PATCH {SET} HTTP/1.1\r\nhost: {server.host.decode()}\r\ncontent-type: application/json\r\n"
            await caller.send(head.encode() + b'content-length: 50\r\n\r\n{"bestOf":5')
            await caller.stream.send_eof()
            assert (await caller.answer()).status == 400
        assert (await server.ask(SET)).json["bestOf"] == 3


@pytest.mark.trio
async def test_correcting_needs_the_role() -> None:
    """The scope of a request has the reason why it may not operate."""
    by_method = {endpoint.method: endpoint for endpoint in endpoints(FakeStations())}
    assert {method: endpoint.operates for method, endpoint in by_method.items()} == {"GET": False, "PATCH": True}
    scope: dict[str, Any] = {"type": "http", "headers": [], "query_string": b"", "path_params": {"station": "main"}}
    scope[OPERATING] = Denied.TOKEN
    with pytest.raises(HTTPException) as refused:
        await by_method["PATCH"].dispatch(Request(scope | {"method": "PATCH"}))
    assert refused.value.status_code == 401
    assert (await by_method["GET"].dispatch(Request(scope | {"method": "GET"}))).status_code == 200
