"""The matchups of a daemon's stations. Each is computed on request, and kept for its set."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import trio

from slpstream.config.sections import Config
from slpstream.model.errors import StoreError
from slpstream.model.messages import Cursor
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.matchup.figures import head_to_head, players_of
from slpstream.parts.matchup.history import openings_and_kills, read_history
from slpstream.parts.matchup.people import Person, Unknown, people_of
from slpstream.parts.matchup.schemas import Matchup
from slpstream.parts.services import EarlierMeetings, ExpectedPlayers, LastMeeting, Meetings
from slpstream.sets import Corrections, Rules
from slpstream.sets.changes import decode
from slpstream.store import Database
from slpstream.store.documents import decode_summary
from slpstream.store.kept_answers import KeptAnswers
from slpstream.stream.channel import Channel, Send
from slpstream.stream.subscription import Start
from slpstream.web.station_path import NoSuchStation

_MAX_KEPT = 128
_MAX_QUIET_SECONDS = 10
"""How long we wait before we look for games that have ended on other stations."""
_PAUSE_SECONDS = 0.5
"""A channel changes with each frame, but its set rarely does."""


class Matchups(RunningPart):
    """The matchups of one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._config = host.config
        self._kept = KeptAnswers[Matchup](_MAX_KEPT)
        host.provide(EarlierMeetings, self)

    def games_changed(self, station: str | None) -> None:
        """Note that matchups might have changed."""
        self._kept.games_changed()

    def configure(self, config: Config) -> None:
        """Use the rules of another configuration."""
        self._config = config
        self._kept.clear()

    async def send_messages(self, kind: str, channel: Channel, start: Start | Cursor, send: Send) -> None:
        """Send the matchup of a station to one subscription, and again whenever it has changed."""
        sent: Matchup | None = None
        while True:
            described = channel.set_message()
            if described is not None:
                found = await self._matchup(channel.station, described)
                if found != sent:
                    sent = found
                    await send(msgspec.to_builtins(found))
            with trio.move_on_after(_MAX_QUIET_SECONDS):
                while channel.set_message() == described:
                    await channel.changed()
                    await trio.sleep(_PAUSE_SECONDS)

    async def matchup_of(self, station: str) -> Matchup:
        """Return the matchup of a station's set. Raises `NoSuchStation` if the station is gone."""
        channel = self._host.hub.channels.get(station)
        if channel is None:
            raise NoSuchStation(station)
        return await self._matchup(station, channel.set_message())

    async def meetings(self, station: str) -> Meetings | None:
        """Return the earlier games of the two players of a station's set, or `None` if there are none."""
        try:
            found = await self.matchup_of(station)
        except NoSuchStation:
            return None
        against = found.head_to_head
        if against is None or sum(against.games) == 0:
            return None
        last = None if against.last is None else LastMeeting(against.last.at, against.last.score)
        return Meetings(found.set_id, [player.name for player in found.players], against.sets, against.games, last)

    async def _matchup(self, station: str, found: Mapping[str, Any] | None) -> Matchup:
        """Return the matchup of a station's set, for which you pass its message."""
        set_id = None if found is None else found.get("setId")
        bracket = self._host.find(ExpectedPlayers)
        try:
            people = people_of(found, [] if bracket is None else bracket.expected(station))
        except Unknown as error:
            return Matchup(set_id=set_id, without_matchup=str(error), players=[])
        return await self._kept.get((station, set_id, people), partial(self._computed, set_id, people))

    async def _computed(self, set_id: str | None, people: tuple[Person, Person]) -> Matchup:
        index = self._host.index
        await index.written()
        documents = await index.corrections() or {}
        read = partial(_read, set_id=set_id, people=people, documents=documents, rules=Rules.of(self._config.sets))
        found = await index.read(read)
        return found or Matchup(set_id=set_id, without_matchup="the index of games does not work", players=[])


def _read(
    database: Database,
    *,
    set_id: str | None,
    people: tuple[Person, Person],
    documents: Mapping[str, bytes],
    rules: Rules,
) -> Matchup:
    """Compute a matchup. This blocks."""
    try:
        before_ms = _began_ms(database, set_id)
        history = read_history(database, people, before_ms, _decoded(documents), rules)
        players = players_of(people, history, before_ms, partial(openings_and_kills, database))
    except Unknown as error:
        return Matchup(set_id=set_id, without_matchup=str(error), players=[])
    return Matchup(set_id=set_id, players=players, head_to_head=head_to_head(people, history))


def _began_ms(database: Database, set_id: str | None) -> int:
    """Return when a set began, or the time now if it hasn't. Raises `Unknown` if it isn't a set of two people."""
    if set_id is None:
        return time.time_ns() // 1_000_000
    game = database.games.get(set_id)
    if game is None:
        raise Unknown("the set is not in the index")
    summary = decode_summary(game.row.summary)
    if not all(player.human for player in summary.players):
        raise Unknown("a game against the computer")
    return game.row.listed_at_ms


def _decoded(documents: Mapping[str, bytes]) -> dict[str, Corrections]:
    found = {}
    for station, document in documents.items():
        try:
            found[station] = decode(document).corrections
        except StoreError:  # the log already has this
            found[station] = Corrections()
    return found
