"""Only stations of discovered consoles can be removed."""

from __future__ import annotations

import pytest

from tests.web.served import Served


@pytest.mark.trio
async def test_only_stations_of_discovered_consoles_can_be_removed(server: Served) -> None:
    server.fake.discovered = ["side"]
    assert (await server.ask("/v1/stations/nobody", "DELETE")).status == 404
    answer = await server.ask("/v1/stations/main", "DELETE")
    assert (answer.status, answer.problem["detail"]) == (409, "only the stations of discovered consoles can be removed")
    answer = await server.ask("/v1/stations/side", "DELETE")
    assert [each["id"] for each in answer.json["stations"]] == ["main", "side"]
    assert server.fake.discovered == []
