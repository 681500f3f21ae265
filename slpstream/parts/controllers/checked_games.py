"""Checks the controllers of the current games of all stations, and those of older games on request.

For each station, there is a task that reads the finalized log of its games, a few frames at a time. A finding about a
part of a controller is logged when it first appears, and again whenever its confidence grows. Reports of running games
are made on request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import trio

from slpstream.model.controller_report import Confidence, ControllerFinding, ControllerReport
from slpstream.model.errors import CursorGone
from slpstream.model.messages import START, LogMessage
from slpstream.model.prepared import prepared
from slpstream.model.topics import Topic
from slpstream.parts.controllers.check import ControllerCheck
from slpstream.parts.controllers.confidence import at_most
from slpstream.parts.controllers.endpoints import GameControllers
from slpstream.parts.interface import Host, RunningPart
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game
from slpstream.stream.log_consumer import LogConsumer
from slpstream.system.logs import get_logger

_FORMAT = "slippi"
_TOPICS: frozenset[Topic] = frozenset({"game", "frame"})
_COLLECT_SECONDS = 0.5
_FRAMES_PER_TURN = 30
"""These take up to a millisecond. After that, other tasks may run."""
_FRAMES_BETWEEN_REPORTS = 600
_KEPT_GAMES = 4
"""How many games of a station are checked at the same time, at most. Only a broken station has several unfinished
ones."""
_KEPT_REPORTS = 32
_COUNTED_GAMES = 1024


class _Player(msgspec.Struct, rename="camel"):
    player_index: int
    type: int = 0


@prepared
class _Settings(msgspec.Struct):
    players: list[_Player] = []


@prepared
class _Start(msgspec.Struct):
    """The part of a `game_start` message that the check needs."""

    format: str
    settings: msgspec.Raw = msgspec.Raw(b"{}")


class _Known(NamedTuple):
    """The subject of a log event.

    Several findings can share it, for example if a stick doesn't reach the rim in two directions.
    """

    check: str
    part: str
    player_index: int


class _CheckedGame:
    """The check of one game of a station."""

    def __init__(self, game_id: str, check: ControllerCheck) -> None:
        self.game_id = game_id
        self.check = check
        self.frames = 0
        self.final: GameControllers | None = None
        """The report of a game that is over."""
        self.logged: dict[_Known, Confidence] = {}
        """The highest confidence that was logged so far."""


class CheckedGames(RunningPart):
    """Checks the controllers in the games of one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._games: dict[str, OrderedDict[str, _CheckedGame]] = {}
        """The newest games of each station, with the newest one last."""
        self._reports: OrderedDict[str, GameControllers] = OrderedDict()
        """The reports of games that are over."""
        self._counted: OrderedDict[str, None] = OrderedDict()
        """The newest games whose findings were counted."""
        self._computing = trio.Lock()
        self._log = get_logger()

    async def follow(self, channel: Channel) -> None:
        """Check the games of a station until cancelled."""
        station = channel.station
        games = self._games[station] = OrderedDict()
        try:
            consumer = LogConsumer(channel, frames="finalized", topics=_TOPICS, collect_seconds=_COLLECT_SECONDS)
            async for batch in consumer:
                for message in batch.messages:
                    game = games.get(batch.game_id)
                    if message.type == "game_start":
                        self._begin(games, batch.game_id, message)
                    elif game is None or game.final is not None:
                        continue
                    elif message.type == "frame":
                        await self._frame(station, game, message)
                    elif message.type == "game_end":
                        self._end(station, game)
        finally:
            del self._games[station]

    def _begin(self, games: OrderedDict[str, _CheckedGame], game_id: str, message: LogMessage) -> None:
        check = _check_of(message)
        if check is not None:
            games[game_id] = _CheckedGame(game_id, check)
            games.move_to_end(game_id)
            while len(games) > _KEPT_GAMES:
                games.popitem(last=False)

    async def _frame(self, station: str, game: _CheckedGame, message: LogMessage) -> None:
        _take(game.check, message)
        game.frames += 1
        if game.frames % _FRAMES_PER_TURN == 0:
            await trio.lowlevel.checkpoint()
        if game.frames % _FRAMES_BETWEEN_REPORTS == 0:
            self._log_new(station, game, game.check.report())

    def _end(self, station: str, game: _CheckedGame) -> None:
        report = game.check.report()
        self._log_new(station, game, report)
        game.final = GameControllers(configured=True, game_id=game.game_id, final=True, report=report)
        game.check = ControllerCheck({})  # frees the counts of the check
        self._keep(game.final)
        if game.game_id not in self._counted:  # after a bug, the station's games are read again
            self._counted[game.game_id] = None
            while len(self._counted) > _COUNTED_GAMES:
                self._counted.popitem(last=False)
            for _, finding in _findings(report):
                self._host.metrics.counter(
                    "slpstream_controller_findings_total", finding.check, finding.confidence
                ).inc()

    def _log_new(self, station: str, game: _CheckedGame, report: ControllerReport) -> None:
        """Log the findings that are new."""
        for player_index, finding in _findings(report):
            known = _Known(finding.check, finding.part, player_index)
            before = game.logged.get(known)
            if before is not None and at_most(finding.confidence, before) == finding.confidence:
                continue
            game.logged[known] = finding.confidence
            self._log.info(
                "look at this controller",
                station=station,
                port=player_index + 1,
                check=finding.check,
                confidence=finding.confidence,
                what=finding.text,
                frame=finding.frames[0] if finding.frames else None,
                game_id=game.game_id,
            )

    async def newest_report(self, station: str) -> GameControllers | None:
        """Return the report of a station's newest game, which may be running or over.

        Returns `None` if none of its games can be checked.
        """
        games = self._games.get(station)
        if games:
            return self._running(next(reversed(games.values())))
        game_id = await self._host.games.newest_of(station)
        return None if game_id is None else await self.report(game_id)

    async def report(self, game_id: str) -> GameControllers | None:
        """Return the report of a game.

        Returns `None` if it is unknown or not a game of Melee, or if its file is missing.
        """
        for games in self._games.values():
            found = games.get(game_id)
            if found is not None:
                return self._running(found)
        kept = self._reports.get(game_id)
        if kept is not None:
            return kept
        async with self._computing:  # one game at a time; requests for the same game wait for the first
            kept = self._reports.get(game_id)
            if kept is not None:
                return kept
            log = await self._host.games.log(game_id)
            made = None if log is None else await _checked(log)
            if made is not None:  # also if the game has no end: a file that grows again is followed, and comes first
                self._keep(made)
            return made

    def _running(self, game: _CheckedGame) -> GameControllers:
        if game.final is not None:
            return game.final
        return GameControllers(configured=True, game_id=game.game_id, final=False, report=game.check.report())

    def _keep(self, made: GameControllers) -> None:
        self._reports[str(made.game_id)] = made
        while len(self._reports) > _KEPT_REPORTS:
            self._reports.popitem(last=False)


def _findings(report: ControllerReport) -> Iterable[tuple[int, ControllerFinding]]:
    return ((player.player_index, finding) for player in report.players for finding in player.findings)


def _check_of(message: LogMessage) -> ControllerCheck | None:
    """Make a check of the game that begins with this message. Returns `None` for games other than Melee."""
    start = msgspec.json.decode(b"{" + message.body, type=_Start)
    if start.format != _FORMAT:
        return None
    settings = msgspec.json.decode(start.settings, type=_Settings)
    return ControllerCheck({player.player_index: player.type for player in settings.players})


def _take(check: ControllerCheck, message: LogMessage) -> None:
    if message.frame is not None:
        content = message.content
        check.take(message.frame, message.entry() if isinstance(content, bytes) else content)


async def _checked(log: Game) -> GameControllers | None:
    """Check the log of a game. Returns `None` if it can't be read or is not a game of Melee."""
    check: ControllerCheck | None = None
    over = False
    position = START
    taken = 0
    try:
        while messages := await log.log_reader.messages("finalized", position):
            position = messages[-1].position
            for message in messages:
                if message.type == "game_start":
                    check = _check_of(message)
                elif check is not None and message.type == "frame":
                    _take(check, message)
                    taken += 1
                    if taken % _FRAMES_PER_TURN == 0:
                        await trio.lowlevel.checkpoint()
                over = over or message.type == "game_end"
    except CursorGone:
        return None
    if check is None:
        return None
    return GameControllers(configured=True, game_id=log.game_id, final=over, report=check.report())
