"""The rules for the choice of a station's current game."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.config import Watch
from slpstream.daemon.station.followed_files import FollowedFile, FollowedFiles
from slpstream.daemon.station.status import StationStatus
from slpstream.model.messages import LogMessage
from slpstream.sources.tail.events import TailedFile
from slpstream.sources.tail.identity import FileIdentity
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game, Role
from tests.daemons.station import new_context

pytestmark = [pytest.mark.trio, pytest.mark.usefixtures("autojump_clock")]
NOTHING: Any = None
STALLED = 5.1
"""So many seconds without growth are a little too many for a game that is being played."""
IDLE = 60.1


class Setup:
    """A station that is idle. Its games stall after 5 seconds and are idle after 60."""

    def __init__(self) -> None:
        context = new_context(Path(), Watch(stalled_seconds=5))
        self.channel = Channel("setup", NOTHING)
        self.files = FollowedFiles(context, NOTHING, NOTHING)
        self.status = StationStatus(context, self.channel, self.files)
        self.status.change("idle", "watching")

    def add(
        self, name: str = "a.slp", *, quiet: float = 0.0, open_seconds: float = 100.0, arrived_whole: bool = False
    ) -> FollowedFile:
        """Follow another file, which was seen to grow until `quiet` seconds ago."""
        file = TailedFile(Path(name), FileIdentity(1, len(self.files)), 0, 0)
        file.arrived_whole = arrived_whole
        followed = self.files.follow(file, existed=False)
        followed.grown_at = trio.current_time() - quiet
        followed.seen_to_grow = True
        followed.opened_at = trio.current_time() - open_seconds
        return followed

    def begin(self, *, role: Role | None = None, **how: Any) -> Game:
        """Follow another file, in which a game begins. By default, the rules give it its role."""
        followed = self.add(**how)
        game = Game(str(len(self.files)), NOTHING, ring_bytes=1, order=self.channel.next_order())
        game.note(LogMessage("game_start", game.game_id, "live", 1, 0, b"", None))
        game.role = self.status.role_of_new(followed) if role is None else role
        followed.game = game
        self.channel.begin(game)
        if game is self.channel.current:
            self.status.note_played(game)
        return game

    def grow(self, game: Game) -> None:
        """Note that the file of a game has grown."""
        followed = self.files.of_game(game)
        assert followed is not None
        self.status.note_growth(followed)


@pytest.fixture
async def setup() -> Setup:
    return Setup()


@pytest.mark.parametrize(
    ("name", "arrived_whole", "expected"),
    [("a.slp", False, Role.PLAYED), ("a.slp", True, Role.RECORDED), ("a.gci", False, Role.RECORDED)],
)
async def test_first_game_is_the_current_one(setup: Setup, name: str, arrived_whole: bool, expected: Role) -> None:
    game = setup.begin(name=name, arrived_whole=arrived_whole)
    assert (game.role, setup.channel.current) == (expected, game)


async def test_copied_file_does_not_displace_a_played_game(setup: Setup) -> None:
    setup.begin(quiet=1000.0)
    assert setup.begin(arrived_whole=True).role is Role.SECONDARY


async def test_any_file_displaces_a_recorded_game(setup: Setup) -> None:
    setup.begin(arrived_whole=True)
    assert setup.begin(arrived_whole=True).role is Role.RECORDED


@pytest.mark.parametrize(("quiet", "expected"), [(0.0, Role.SECONDARY), (IDLE, Role.RECORDED)])
async def test_file_written_in_one_go_displaces_an_idle_game(setup: Setup, quiet: float, expected: Role) -> None:
    setup.begin(quiet=quiet)
    assert setup.begin(name="a.gci", arrived_whole=True).role is expected


@pytest.mark.parametrize(("quiet", "expected"), [(59.9, Role.SECONDARY), (IDLE, Role.PLAYED)])
async def test_game_that_begins_displaces_one_that_is_idle(setup: Setup, quiet: float, expected: Role) -> None:
    setup.begin(quiet=quiet)
    assert setup.begin().role is expected


async def test_game_that_begins_displaces_one_that_is_not_followed(setup: Setup) -> None:
    setup.begin()
    setup.files.abandon()
    assert setup.begin().role is Role.PLAYED


async def test_growing_game_replaces_one_that_is_not_followed(setup: Setup) -> None:
    first, other = setup.begin(), setup.begin()
    followed = setup.files.of_game(first)
    assert followed is not None
    setup.files.drop(followed.file)
    setup.grow(other)
    assert setup.channel.current is other


@pytest.mark.parametrize(("open_seconds", "is_replaced"), [(0.1, False), (0.3, True)])
async def test_newer_game_waits_until_its_file_has_been_open_for_a_moment(
    setup: Setup, open_seconds: float, is_replaced: bool
) -> None:
    current = setup.begin()
    newer = setup.begin(open_seconds=open_seconds)
    setup.grow(newer)
    assert setup.channel.current is (newer if is_replaced else current)
    assert setup.status.game_id == setup.channel.current.game_id


@pytest.mark.parametrize(("quiet", "is_replaced"), [(4.9, False), (STALLED, True)])
async def test_older_game_replaces_one_that_is_stalled(setup: Setup, quiet: float, is_replaced: bool) -> None:
    older = setup.begin(role=Role.PLAYED)
    current = setup.begin(role=Role.PLAYED, quiet=quiet)
    setup.grow(older)
    assert setup.channel.current is (older if is_replaced else current)


@pytest.mark.parametrize("reason", ["arrived whole", "catching up", "ended", "not seen to grow"])
async def test_game_that_is_not_played_replaces_nothing(setup: Setup, reason: str) -> None:
    current = setup.begin(quiet=STALLED)
    grown = setup.begin(arrived_whole=reason == "arrived whole")
    if reason == "catching up":
        grown.catch_up()
    if reason == "ended":
        grown.note(LogMessage("game_end", grown.game_id, "live", 2, 0, b"", None))
    followed = setup.files.of_game(grown)
    assert followed is not None
    followed.seen_to_grow = reason != "not seen to grow"
    setup.grow(grown)
    assert setup.channel.current is current


async def test_station_is_idle_after_the_end_of_its_only_game(setup: Setup) -> None:
    setup.begin(role=Role.SECONDARY, quiet=STALLED)
    ended = setup.begin()
    setup.begin(arrived_whole=True)
    not_seen = setup.files.of_game(setup.begin())
    assert not_seen is not None
    not_seen.seen_to_grow = False
    setup.status.note_end(ended, "game ended")
    assert (setup.status.state, setup.status.reason, setup.channel.current) == ("idle", "game ended", ended)


async def test_newest_played_game_follows_one_that_ended(setup: Setup) -> None:
    ended, _, newest = setup.begin(), setup.begin(), setup.begin(quiet=4.9)
    setup.status.note_end(ended, "game ended")
    assert (setup.status.state, setup.channel.current) == ("playing", newest)


@pytest.mark.parametrize(
    ("quiet", "state", "reason"),
    [
        (4.9, "playing", "game in progress"),
        (STALLED, "stalled", "the file does not grow"),
        (59.9, "stalled", "the file does not grow"),
        (IDLE, "idle", "the file has not grown for long"),
    ],
)
async def test_silent_game_is_stalled_and_later_idle(setup: Setup, quiet: float, state: str, reason: str) -> None:
    setup.begin(quiet=quiet)
    setup.status.check_growth()
    assert (setup.status.state, setup.status.reason) == (state, reason)


@pytest.mark.parametrize("state", ["stalled", "idle", "offline"])
async def test_only_a_playing_station_becomes_stalled(setup: Setup, state: Any) -> None:
    setup.begin(quiet=20.0)
    setup.status.change(state, "some reason")
    setup.status.check_growth()
    assert (setup.status.state, setup.status.reason) == (state, "some reason")


@pytest.mark.parametrize(("quiet", "is_replaced"), [(4.9, False), (STALLED, True)])
async def test_growing_game_replaces_a_silent_one(setup: Setup, quiet: float, is_replaced: bool) -> None:
    current, other = setup.begin(quiet=quiet), setup.begin()
    setup.status.check_growth()
    assert setup.channel.current is (other if is_replaced else current)
