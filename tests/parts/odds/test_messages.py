"""The messages `odds` of a station whose file grows: those of the finished game, also after interruptions."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

import slpstream
from slpstream.config import Config
from slpstream.daemon.station.station import Station
from slpstream.model.messages import FramesMode
from slpstream.parts.odds.asked_odds import AskedOdds
from slpstream.parts.odds.cli import command
from slpstream.stream.channel import Hub
from tests.cli.command_line import called
from tests.daemons.hosts import host_of
from tests.daemons.process import DaemonProcess, running
from tests.daemons.station import running_station, until
from tests.replays import replay_path
from tests.stream.fakes import Client, subscription
from tests.synthetic.match import synthetic_match

MATCH = synthetic_match(seed=5)
ROLLBACKS = synthetic_match(seed=5, frames=2500, rollbacks=True)
Message = dict[str, Any]


def finished(path: Path) -> Message:
    """The odds of a finished file."""
    found: Message = json.loads(called(command, "show", "--json", path).stdout)
    return found


def hub_with_odds(station: Station) -> Hub:
    """A hub whose part has just been started."""
    hub = Hub()
    hub.add(station.channel)
    hub.sources["odds"] = partial(AskedOdds(host_of(Config())).send_messages, "odds")
    return hub


def odds_of(client: Client) -> list[Message]:
    messages = map(json.loads, client.received.split(b"\n")[:-1])
    return [message for message in messages if message["type"] == "odds"]


def points(messages: list[Message]) -> list[Message]:
    """What the messages have in common with the points of a game."""
    return [{key: message[key] for key in ("frame", "odds", "stocks")} for message in messages]


@pytest.mark.trio
@pytest.mark.parametrize(("data", "frames"), [(MATCH, "live"), (ROLLBACKS, "finalized")], ids=["live", "rollbacks"])
async def test_messages_of_a_growing_file(data: bytes, frames: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole.slp"
    whole.write_bytes(data)
    expected = finished(whole)
    rng = random.Random(frames)
    cuts = sorted(rng.sample(range(2000, len(data)), 60))
    resumed_at = cuts[30]
    folder = tmp_path / "main"
    folder.mkdir()
    path = folder / "game.slp"
    sent: list[Message] = []
    async with running_station(folder) as station:
        start = "live"
        for begin, end in ((0, resumed_at), (resumed_at, len(data))):
            request = subscription(also=["odds"], topics=["game"], frames=frames, delivery="lossless", cursor=start)
            client = Client(limit_bytes=1 << 20)
            async with client.subscribed(hub_with_odds(station), request, settled=False):
                for a, b in zip([begin, *cuts], [*cuts, end], strict=True):
                    if begin <= a < b <= end:
                        with path.open("ab") as file:
                            file.write(data[a:b])
                        await trio.sleep(0)
                await until(lambda: station.channel.games)
                game = station.channel.games[0]
                through = expected["points"][-1 if end == len(data) else len(expected["points"]) // 4]["frame"]
                await until(lambda: any(each["frame"] >= through for each in odds_of(client)))  # noqa: B023
            sent = [each for each in sent if each["frame"] < odds_of(client)[0]["frame"]] + odds_of(client)
            start = f"{expected['gameId']}/frame:{sent[-1]['frame']}"
        assert json.dumps(points(sent)) == json.dumps(expected["points"])
        assert {each["gameId"] for each in sent} == {expected["gameId"]}
        assert all(each["players"] == expected["players"] for each in sent)
        for message in sent[:: len(sent) // 10]:
            log = await game.log_reader.find_frame("finalized", message["frame"])
            [first, *_] = await game.log_reader.messages("finalized", log)
            assert message["frameCursor"] == first.cursor


@pytest.mark.trio
async def test_game_without_odds_has_no_messages(tmp_path: Path) -> None:
    async with running_station(tmp_path) as station:
        request = subscription(also=["odds"], topics=["game"], delivery="lossless")
        async with Client(limit_bytes=1 << 20).subscribed(hub_with_odds(station), request, settled=False) as client:
            (tmp_path / "teams.slp").write_bytes(replay_path("doubles_3.18").read_bytes())
            (tmp_path / "match.slp").write_bytes(ROLLBACKS)
            await until(lambda: odds_of(client))
            assert len({each["gameId"] for each in odds_of(client)}) == 1


def test_restart_in_the_middle_of_a_game(tmp_path: Path) -> None:
    whole = tmp_path / "whole.slp"
    whole.write_bytes(MATCH)
    expected = finished(whole)
    folder = tmp_path / "main"
    folder.mkdir()
    path = folder / "game.slp"
    path.write_bytes(MATCH[: len(MATCH) // 2])
    half = len(expected["points"]) // 2 - 5
    with running(folder) as daemon:
        before = received(daemon, expected["points"][half]["frame"], cursor="start")
        daemon.kill()
    with running(folder) as daemon:
        again = received(daemon, expected["points"][half]["frame"], cursor="start")
        assert [each for each in again if each in before] == before
        with path.open("ab") as file:
            file.write(MATCH[len(MATCH) // 2 :])
        after = received(daemon, expected["points"][-1]["frame"], cursor=before[-1]["frameCursor"], frames="finalized")
        assert after[0] == before[-1]
        assert points(before[:-1] + after) == expected["points"]


def received(daemon: DaemonProcess, through: int, cursor: str, frames: FramesMode = "live") -> list[Any]:
    """The messages of a new subscription up to a frame."""
    found = []
    with slpstream.connect(daemon.url, also=["odds"], topics=["game"], cursor=cursor, frames=frames) as client:
        for message in client:
            if message["type"] == "odds":
                found.append(message)
                if message["frame"] >= through:
                    break
    return found
