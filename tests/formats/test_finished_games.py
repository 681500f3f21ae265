"""Memory of finished games is released, because a station runs for days."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from slpstream.api import messages
from slpstream.daemon.station.followed_files import FollowedFile
from slpstream.model.messages import START
from slpstream.parts.consoles.feed import RelayFeed
from tests.daemons.station import running_station, until
from tests.formats.games import games
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.trio


@pytest.mark.parametrize("name", ["match.slp", "race.gci"])
async def test_finished_game_is_released_and_can_still_be_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slpstream.daemon.station.following.REST_SECONDS", 0.03)
    data = synthetic_match(frames=120) if name == "match.slp" else games()[name]
    async with running_station(tmp_path) as station:
        feed = RelayFeed(_read)
        station.files.on_bytes = lambda followed, offset, data: feed.grew(followed, followed.file, offset, data)
        with (tmp_path / name).open("wb", buffering=0) as file:
            file.write(data[:2000])
            await until(lambda: len(station.files) > 0)
            file.write(data[2000:])
        await until(lambda: station.channel.current is not None and len(station.files) == 0)
        game = station.channel.current
        assert game is not None
        assert game.ended
        gc.collect()
        followed = [each for each in gc.get_objects() if isinstance(each, FollowedFile)]
        assert not [each for each in followed if each.file.path == tmp_path / name]
        assert (feed.current is not None) == (name == "match.slp"), "the relay feed has Slippi games only"
        lines: list[bytes] = []
        position = START
        while part := await game.log_reader.messages("live", position):
            lines += [message.json() for message in part]
            position = part[-1].position
        assert lines == [message.json() for message in messages(tmp_path / name)]


async def _read(path: Path, offset: int, max_bytes: int) -> bytes:
    raise AssertionError("not called in this test")
