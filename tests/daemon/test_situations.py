"""Configured situations of a station whose games are played: the same as in the finished files, each told once."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.api import open_replay
from slpstream.config.sections import Situation
from slpstream.daemon.situations import DaemonSituations
from slpstream.model.errors import ConfigError, NoSuchMoment
from slpstream.store import FoundSituation, GameIndex
from slpstream.system.metrics import Metrics
from slpstream.web.marks import Mark, NewMark
from tests.daemons.station import running_station, until
from tests.replays import SLP, needs_shared

WANTED = (
    Situation(name="kill", query="kill", mark=True),
    Situation(name="chain", query="hit -> hit, within:30f"),
    Situation(name="ledge", query="fox|falco: offstage -> ledge-grab"),
    Situation(name="nobody", query="pichu: hit"),
    Situation(name="elsewhere", query="hit", stations=["other"]),
)


class Memory:
    """The part of the index that situations need."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.found: dict[Any, FoundSituation] = {}

    async def remembered(self, key: str) -> Any:
        await trio.lowlevel.checkpoint()
        return self.values.get(key)

    def remember(self, key: str, value: Any) -> None:
        self.values[key] = value

    async def keep_situation(self, found: FoundSituation) -> bool:
        await trio.lowlevel.checkpoint()
        known = len(self.found)
        self.found.setdefault(found.key, found)
        return len(self.found) > known


class Told:
    """Everything that was told about a station."""

    def __init__(self) -> None:
        self.payloads: list[Mapping[str, Any]] = []

    async def __call__(self, station: str, payload: Mapping[str, Any]) -> None:
        assert station == "setup"
        await trio.lowlevel.checkpoint()
        self.payloads.append(payload)

    def found(self, name: str) -> list[tuple[int, int, list[int], int]]:
        return [
            (p["player"]["index"], p["opponent"]["index"], p["frames"], p["knownFrame"])
            for p in self.payloads
            if p["name"] == name
        ]


def expected(path: Path, query: str) -> list[tuple[int, int, list[int], int]]:
    found = open_replay(path).situations(query)
    return [(each.player_index, each.opponent_index, list(each.frames), each.known_frame) for each in found]


async def follow(situations: DaemonSituations, memory: Memory, folder: Path, *, grow: bytes, ended: bool) -> None:
    """Run a station whose game has these bytes, until the game has been searched as far as it goes."""
    index: GameIndex = memory  # type: ignore[assignment]
    target = folder / "game.slp"
    async with running_station(folder) as station, trio.open_nursery() as nursery:
        nursery.start_soon(situations.follow, index, station.channel)
        written = target.stat().st_size if target.exists() else 0
        for begin, end in itertools.pairwise([*range(written, len(grow), 150_000), len(grow)]):
            with target.open("ab") as file:
                file.write(grow[begin:end])
            await trio.sleep(0.02)
        channel = station.channel
        if written < len(grow):
            await until(lambda: channel.current is not None and (channel.current.ended or not ended))
        if ended and written < len(grow):
            await until(lambda: bool(memory.values))
        else:
            await trio.sleep(0.5)
        nursery.cancel_scope.cancel()


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("name", ["rollbackFrameTest", "v2.0"])
@pytest.mark.trio
async def test_the_same_as_in_the_finished_file(name: str, tmp_path: Path) -> None:
    path = SLP / f"{name}.slp"
    told, memory, metrics = Told(), Memory(), Metrics()
    situations = DaemonSituations(WANTED, metrics)
    situations.tell(told)
    await follow(situations, memory, tmp_path, grow=path.read_bytes(), ended=True)
    for wanted in WANTED[:3]:
        assert told.found(wanted.name) == expected(path, wanted.query)
    assert told.found("kill")
    assert not told.found("nobody") + told.found("elsewhere")
    assert [p["number"] for p in told.payloads if p["name"] == "kill"] == list(range(1, len(told.found("kill")) + 1))
    text = metrics.render().decode()
    assert f'slpstream_situations_total{{station="setup"}} {len(told.payloads)}.0' in text


@pytest.mark.slow
@pytest.mark.trio
@needs_shared
async def test_after_a_restart_a_running_game_is_searched_again_and_a_finished_one_is_not(tmp_path: Path) -> None:
    data = (SLP / "rollbackFrameTest.slp").read_bytes()
    memory, runs = Memory(), [Told(), Told(), Told()]
    for told, size, ended in zip(runs, (len(data) // 2, len(data), len(data)), (False, True, True), strict=True):
        situations = DaemonSituations(WANTED, Metrics())
        situations.tell(told)
        await follow(situations, memory, tmp_path, grow=data[:size], ended=ended)
    first, second, third = (told.payloads for told in runs)
    assert 0 < len(first) < len(second)
    queries = {wanted.name: wanted.query for wanted in WANTED[:2]}
    for name in queries:
        begin, whole = ([p for p in payloads if p["name"] == name] for payloads in (first, second))
        assert whole[: len(begin)] == begin
        assert runs[1].found(name) == expected(
            SLP / "rollbackFrameTest.slp", "kill" if name == "kill" else WANTED[1].query
        )
    assert third == []


class FakeMarks:
    """Marks of a station, of which one moment is not known."""

    def __init__(self) -> None:
        self.made: list[Mark] = []

    async def marks(self, station: str) -> list[Mark] | None:
        await trio.lowlevel.checkpoint()
        return self.made

    async def mark(self, station: str, wanted: NewMark) -> Mark | None:
        await trio.lowlevel.checkpoint()
        if not self.made:
            self.made.append(Mark(id=1, game_id="", frame=0, at=""))
            raise NoSuchMoment("not known yet")
        made = Mark(id=2, game_id=wanted.game_id or "", frame=wanted.frame or 0, at="", words=wanted.words)
        self.made.append(made)
        return made

    async def unmark(self, station: str, mark: int) -> list[Mark] | None:
        raise NotImplementedError


@pytest.mark.trio
async def test_moments_are_marked_once() -> None:
    marks = FakeMarks()
    situations = DaemonSituations(WANTED, Metrics())
    situations.mark(marks)
    [receive] = situations._receivers
    for name, frame in (("kill", 1), ("kill", 5), ("kill", 5), ("chain", 7)):
        await receive("setup", {"gameId": "g", "name": name, "frames": [0, frame]})
    assert [(mark.frame, mark.words) for mark in marks.made[1:]] == [(5, "kill")]


def test_an_invalid_query_is_a_configuration_error_that_names_key_and_place() -> None:
    with pytest.raises(ConfigError) as refused:
        DaemonSituations([*WANTED, Situation(name="typo", query="fox: upthow")], Metrics())
    assert refused.value.key == "situations[5].query"
    assert "at character 6, 'upthow'" in refused.value.expected
