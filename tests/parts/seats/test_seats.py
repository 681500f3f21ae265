"""The seats of a daemon in this process: the address in the codes, and people whom a bracket expects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from slpstream.config import Config, Server
from slpstream.model.bracket_facts import ExpectedPlayer
from slpstream.model.errors import ConfigError
from slpstream.parts.seats import station_codes
from slpstream.parts.seats.part import Seats as SeatsConfig
from slpstream.parts.seats.phone_api import MAX_NAME as MAX_SENT_NAME
from slpstream.parts.seats.phone_api import SeatAct, StationSeats
from slpstream.parts.seats.seats import DaemonSeats
from slpstream.parts.services import ExpectedPlayers
from slpstream.sets import SetPatch
from tests.daemons.hosts import host_of, parts_of
from tests.daemons.sets import Sets, running_sets

PHONE = "a" * 32
STATIONS = {"main": "Main stage", "side": "Side stage"}


class Bracket:
    """A bracket that expects these players at all stations."""

    def __init__(self, players: Sequence[ExpectedPlayer]) -> None:
        self._players = players

    def expected(self, station: str) -> Sequence[ExpectedPlayer]:
        return self._players


class SeatsOfStations(DaemonSeats):
    """The seats of `STATIONS`."""

    def stations(self) -> dict[str, str]:
        return STATIONS


@asynccontextmanager
async def running_seats(
    folder: Path, expected: Sequence[ExpectedPlayer] = (), **config: Any
) -> AsyncIterator[DaemonSeats]:
    """The seats of a daemon that listens on all addresses. Its bracket expects these players at all stations."""
    async with running_sets(folder, *STATIONS) as sets:
        yield seats_over(sets, folder, expected, **config)


def seats_over(sets: Sets, folder: Path, expected: Sequence[ExpectedPlayer], **config: Any) -> DaemonSeats:
    """The open seats of a daemon, which follow the sets."""
    host = host_of(Config(server=Server(host="0.0.0.0"), parts={"seats": [SeatsConfig(on=True, **config)]}))
    host.sets, host.index, host.state_folder, host.port = sets.board, sets.index, folder, 5151
    host.provide(ExpectedPlayers, Bracket(expected))
    running = SeatsOfStations(host)
    running.open()
    sets.board.listen(running.set_changed)
    return running


@pytest.mark.trio
async def test_codes_have_the_current_address_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address: str | None = None
    monkeypatch.setattr(station_codes, "lan_address", lambda: address)
    async with running_seats(tmp_path) as running:
        codes = running.codes()
        assert (codes.address, codes.address_from) == ("http://127.0.0.1:5151", "loopback")
        address = "192.0.2.7"
        codes = running.codes()
        assert (codes.address, codes.address_from) == ("http://192.0.2.7:5151", "machine")
        assert [code.url.partition("/seats/")[0] for code in codes.codes] == ["http://192.0.2.7:5151"] * len(STATIONS)


async def act(running: DaemonSeats, **wanted: Any) -> StationSeats:
    return await running.act("main", PHONE, "192.0.2.7", SeatAct(**wanted))


@pytest.mark.trio
@pytest.mark.parametrize("typed_names", [True, False])
@pytest.mark.parametrize(
    "player",
    [
        pytest.param(ExpectedPlayer("Zain", "S" * 45, "p" * 45), id="long details"),
        pytest.param(ExpectedPlayer("N" * 70, "GG"), id="long name"),
        pytest.param(ExpectedPlayer(f"{'N' * 59}  M", "GG"), id="name that is cut at a space"),
        pytest.param(ExpectedPlayer("N" * 45, "GG"), id="longer than a typed name"),
        pytest.param(ExpectedPlayer("Zo\u200be", "GG"), id="invisible character"),
        pytest.param(ExpectedPlayer("Cy \U0001f3f4\U000e0067\U000e0062\U000e007f", "GG"), id="flag"),
        pytest.param(ExpectedPlayer(" Zain  B ", "G  G"), id="spaces"),
    ],
)
async def test_people_whom_the_bracket_expects_can_be_tapped(
    tmp_path: Path, player: ExpectedPlayer, typed_names: bool
) -> None:
    async with running_seats(tmp_path, [player], typed_names=typed_names) as running:
        offered = (await running.seats("main", PHONE, -1)).people[0]
        assert offered.expected
        assert len(offered.name) <= MAX_SENT_NAME
        port = (await act(running, act="claim", name=offered.name)).ports[0]
        assert (port.name, port.sponsor, port.pronouns) == (offered.name, offered.sponsor, offered.pronouns)
        assert port.sponsor
        assert (port.yours, port.waits) == (True, False), "the set shows the name"
        assert not (await act(running, act="leave")).ports[0].name


@pytest.mark.trio
async def test_typed_known_name_has_its_details(tmp_path: Path) -> None:
    async with running_seats(tmp_path, [ExpectedPlayer("Zain  B", "GG")]) as running:
        port = (await act(running, act="claim", name="zain\u200b b")).ports[0]
        assert (port.name, port.sponsor) == ("Zain B", "GG")


@pytest.mark.trio
async def test_people_invented_by_one_phone_do_not_hide_the_real_ones(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with running_sets(tmp_path, *STATIONS) as sets, trio.open_nursery() as nursery:
        running = seats_over(sets, tmp_path, [ExpectedPlayer("Zain")])
        nursery.start_soon(running.run)
        await trio.testing.wait_all_tasks_blocked()
        await sets.board.correct("side", SetPatch(names={"0": "Operated"}))
        await running.act("side", "b" * 32, "192.0.2.8", SeatAct(act="claim", player_index=1, name="Other phone"))
        for each in range(22):
            await act(running, act="claim", name=f"Made up {each}")
            await trio.sleep(2)  # the limit for one address
        offered = [person.name for person in (await running.seats("side", PHONE, -1)).people]
        assert offered[:2] == ["Zain", "Operated"]
        made_up = [name for name in offered if name.startswith("Made up")]
        assert len(made_up) == 20, "the newest of each code, as the page about seats says"
        assert "Other phone" in offered
        nursery.cancel_scope.cancel()


def test_seats_need_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"seats\.on.*extra"):
        parts_of(Config(parts={"seats": [SeatsConfig(on=True)]}))
