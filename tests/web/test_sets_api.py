"""`/v1/stations/{id}/set`: reading, correcting, and refusals."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from slpstream.web.endpoint import MERGE_PATCH
from tests.web.served import Answer, Served

SET = "/v1/stations/main/set"
CHANGES = f"{SET}/changes"


async def patch(server: Served, document: Any, target: str = SET, **headers: str) -> Answer:
    body = document if isinstance(document, bytes) else msgspec.json.encode(document)
    return await server.send_body(body, target, "PATCH", **({"content_type": "application/json"} | headers))


async def undo(server: Served, change_id: int, by: str = "") -> Answer:
    body = msgspec.json.encode({"undo": change_id})
    return await server.send_body(body, f"{CHANGES}?by={by}", "POST", content_type="application/json")


@pytest.mark.trio
async def test_correction_returns_the_corrected_set(server: Served) -> None:
    before = await server.ask(SET)
    assert (before.status, before.json["state"], before.json["bestOf"]) == (200, "upcoming", 3)
    document = {"names": {"0": "Ann"}, "score": {"1": 2.0}, "bestOf": 7}
    answer = await patch(server, document, content_type=f"{MERGE_PATCH}; charset=utf-8")
    assert answer.status == 200
    assert (answer.json["bestOf"], answer.json["score"]) == (7, [0, 2])
    assert [player.get("name") for player in answer.json["players"]] == ["Ann", None]
    assert (await server.ask(SET)).json == answer.json
    after = (await patch(server, {"names": None, "bestOf": None, "score": {"1": None}})).json
    assert (after.pop("lastChange"), after) == (2, before.json)


@pytest.mark.trio
async def test_concurrent_change_is_refused(server: Served) -> None:
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
async def test_changes_are_listed_and_undone(server: Served) -> None:
    assert (await server.ask(CHANGES)).json == {"changes": []}
    await patch(server, {"names": {"0": "Ann"}}, f"{SET}?by=%20Eve%20%20%E5%A4%A7")
    await patch(server, {"event": "Weekly", "players": {"1": {"sponsor": "GG", "seed": 2}}})
    await patch(server, {"names": {"0": "Bob"}})
    assert (await patch(server, {"names": {"0": "Bob"}})).json["lastChange"] == 3, "nothing has changed"
    listed = await server.ask(CHANGES)
    newest, middle, oldest = listed.json["changes"]
    assert (await server.ask(CHANGES, if_none_match=listed.headers["etag"])).status == 304
    assert oldest == {
        "id": 1, "at": "2023-11-14T22:13:20.000Z", "by": "Eve 大", "blockedBy": 3,
        "values": [{"field": "name", "to": "Ann", "port": 1}],
    }  # fmt: skip
    assert middle["values"] == [
        {"field": "sponsor", "to": "GG", "port": 2},
        {"field": "seed", "to": 2, "port": 2},
        {"field": "event", "to": "Weekly"},
    ]
    assert newest["values"] == [{"field": "name", "from": "Ann", "to": "Bob", "player": "Ann", "port": 1}]
    refused = await undo(server, 1)
    assert (refused.problem["status"], "undo change 3 first" in refused.problem["detail"]) == (409, True)
    answer = await undo(server, 2, by="Kim")
    assert "event" not in answer.json
    assert [player.get("sponsor") for player in answer.json["players"]] == [None, None]
    assert answer.json["players"][0]["name"] == "Bob", "later changes stay"
    assert (await undo(server, 2)).problem["detail"] == "change 2 has already been undone by change 4"
    assert (await undo(server, 3)).json["players"][0]["name"] == "Ann"
    assert "name" not in (await undo(server, 1)).json["players"][0]
    again = (await undo(server, 4)).json
    assert (again["event"], again["players"][1]["seed"], again["lastChange"]) == ("Weekly", 2, 7)
    entries = {entry["id"]: entry for entry in (await server.ask(CHANGES)).json["changes"]}
    assert (entries[4]["by"], entries[4]["undoes"], entries[4]["undoneBy"]) == ("Kim", 2, 7)
    assert "undoneBy" not in entries[2], "the change is in effect again"
    assert entries[3]["undoneBy"] == 5


@pytest.mark.trio
async def test_undo_is_refused(server: Served) -> None:
    assert "there is no change 1" in (await undo(server, 1)).problem["detail"]
    assert (await server.ask("/v1/stations/none/set/changes")).problem["status"] == 404
    for body in (b"{}", b'{"undo": 0}', b'{"undo": "1"}', b'{"undo": 1, "redo": 2}'):
        answer = await server.send_body(body, CHANGES, "POST", content_type="application/json")
        assert answer.problem["status"] == 422
    assert (await patch(server, {"bestOf": 5}, f"{SET}?by={'x' * 41}")).problem["status"] == 422
    assert (await patch(server, {"bestOf": 5})).status == 200
    server.fake.full = True
    assert (await undo(server, 1)).problem["status"] == 503
    assert (await server.ask(SET)).json["bestOf"] == 5


@pytest.mark.trio
async def test_incomplete_body(server: Served) -> None:
    async with await server.call() as caller:
        head = f"PATCH {SET} HTTP/1.1\r\nhost: {server.host.decode()}\r\ncontent-type: application/json\r\n"
        await caller.send(head.encode() + b'content-length: 50\r\n\r\n{"bestOf":5')
        await caller.stream.send_eof()
        assert (await caller.answer()).status == 400
    assert (await server.ask(SET)).json["bestOf"] == 3


INVALID: list[tuple[Any, int, str]] = [
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
    ({"players": {"0": {"seed": 0}}}, 422, "seed"),
    ({"players": {"0": {"tag": "x"}}}, 422, "unknown field `tag`"),
    ({"casters": ["x"] * 9}, 422, "casters"),
    ({"round": "x" * 61}, 422, "round"),
    ([], 422, "Expected `object`"),
    (b"{", 422, "truncated"),
    (b"", 422, "truncated"),
    (b'{"names": {"0": "\xff"}}', 422, ""),
    (b"[" * 60_000, 422, "nested too deeply"),
    (b'{"names": ' + b"[" * 700 + b"]" * 700 + b"}", 422, ""),
]


@pytest.mark.trio
async def test_refused_correction_changes_nothing(server: Served) -> None:
    before = (await server.ask(SET)).json
    for document, status, what in INVALID:
        answer = await patch(server, document)
        assert answer.problem["status"] == status, document
        assert what in answer.problem["detail"]
    assert (await patch(server, {}, "/v1/stations/none/set")).problem["status"] == 404
    assert (await server.ask("/v1/stations/none/set")).problem["status"] == 404
    assert (await patch(server, {}, content_type="text/plain")).problem["status"] == 415
    assert sorted((await server.ask(SET, "POST")).headers["allow"].split(", ")) == ["GET", "HEAD", "PATCH"]
    server.fake.full = True
    assert (await patch(server, {"bestOf": 5})).problem["status"] == 503
    assert (await server.ask(SET)).json == before
