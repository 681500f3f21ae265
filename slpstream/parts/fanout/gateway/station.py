"""A station of a gateway. It is a channel like in the daemon, but its games are fed from two streams of the broker.

New messages go into the rings of games and to live subscribers, and if someone needs older ones, we read them from the
broker by range. If a log already has some of the messages, they are skipped. This can happen because an ingest sends
some of them again if the broker has lost them. If it looks as if messages are missing between a log and those that
arrive, all subscribers have to read from the broker again. The broker either has the missing messages, or tells them
that these are gone.

If a subscriber comes from another gateway, it might have seen more than this gateway has. So before we look up its
cursor, we read up to the newest entry that the broker has at that moment. This includes everything that the subscriber
has seen.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slpstream.formats.kernel import send_to_all
from slpstream.game.described import DescribedGame
from slpstream.model.errors import NoSuchGame
from slpstream.model.messages import START, FramesMode, LogMessage, Position
from slpstream.parts.fanout.connection import Client, StreamEntry, entries_of
from slpstream.parts.fanout.gateway.broker import Broker
from slpstream.parts.fanout.gateway.history import History, messages_of
from slpstream.parts.fanout.gateway.lines import message_in, object_in, payload_of
from slpstream.parts.fanout.streams import MODES, StationKeys, Turn, by_game
from slpstream.stream.channel import Channel, Locate
from slpstream.stream.game import Game, Role
from slpstream.system.changing import Changing
from slpstream.system.internal_errors import InternalErrors

_INITIAL_MESSAGES = 128
"""Newest messages of each log that are read at the start, because subscribers of a gateway that failed reconnect with
cursors of the last seconds."""
_BEFORE_ALL = Position(0, 0)
_SILENT = "its ingest is silent"


class GatewayChannel(Channel):
    """A channel that also accepts cursors that come from other gateways."""

    def __init__(self, station: str, locate: Locate, synchronise: Locate, errors: InternalErrors | None = None) -> None:
        """`synchronise` waits until we have read everything that is in the broker when it is called."""
        super().__init__(station, locate, errors=errors, send_to_all=send_to_all)
        self._synchronise = synchronise

    async def locate(self, game_id: str) -> Game:
        """Return the game of a cursor, after reading all games of the broker. Raises `NoSuchGame` if it isn't there."""
        await self._synchronise(game_id)
        return await super().locate(game_id)

    def continue_with(self, game: Game) -> None:
        """Continue an earlier game, but don't make it the current one."""
        current = self.current
        self.begin(game)
        if current is not None:
            self.current = current

    def read_from_start(self, game: Game, mode: FramesMode) -> None:
        """Make live subscribers read a game from its beginning.

        Lossless subscribers don't have to do this, because they already got it while it was secondary.
        """
        for subscriber in self._live_subscribers():
            if subscriber.view.mode == mode and subscriber.view.delivery != "lossless":
                subscriber.set_back(game, START)

    def interrupt(self, game: Game, mode: FramesMode, before: Position) -> None:
        """Make live subscribers read from the broker, because messages are missing between the end of the log and
        `before`.
        """
        log = game.logs[mode]
        for subscriber in self._live_subscribers():
            if subscriber.view.mode == mode:
                subscriber.set_back(game, log.head)
        log.forget()
        log.dropped_through = max(before, log.head)


class _BrokerLogReader:
    """Reads the log of one game back from the broker."""

    def __init__(self, histories: Mapping[FramesMode, History], game_id: str) -> None:
        self._histories = histories
        self._game_id = game_id
        self.game: Game | None = None

    async def messages(self, mode: FramesMode, position: Position) -> Sequence[LogMessage]:
        """Return some of the messages after `position`. At the end, the result is empty.

        Raises `CursorGone` if some of them were trimmed.
        """
        messages = await self._histories[mode].messages(self._game_id, position)
        if messages and messages[0].type == "game_start" and self.game is not None:
            _begin_game(self.game, messages[0])
        return messages

    async def find_frame(self, mode: FramesMode, number: int) -> Position:
        """Return the position just before a frame. Raises `CursorGone` if it was trimmed."""
        return await self._histories[mode].find_frame(self._game_id, number)

    def forget(self) -> None:
        """Do nothing, because we don't cache anything here."""


def _begin_game(game: Game, start: LogMessage) -> None:
    """Set the frame rate and the summary of the given game, which come from its `game_start` message."""
    payload = payload_of(start)
    with contextlib.suppress(ZeroDivisionError):  # others can write into the broker
        numerator, denominator = payload.get("rate") or (60, 1)
        game.frames_per_second = max(1, round(numerator / denominator))
    if not game.summary.players:  # both logs have a `game_start`, and the other log may be at its end already
        game.summary = DescribedGame.of_payloads(game.game_id, payload).summary()


def _end_game(game: Game, end: LogMessage) -> None:
    """Make the summary of the given game again, because now we have its `game_end` message."""
    if game.start is not None:
        game.summary = DescribedGame.of_payloads(game.game_id, payload_of(game.start), payload_of(end)).summary()


class GatewayStation:
    """One station of the broker."""

    def __init__(
        self, broker: Broker, keys: StationKeys, *, ring_bytes: int, errors: InternalErrors | None = None
    ) -> None:
        self.id = keys.station
        self.channel = GatewayChannel(keys.station, self._locate, self._synchronise, errors)
        self.ingest = ""
        """The ingest that last announced the station."""
        self._broker = broker
        self._keys = keys
        self._ring_bytes = ring_bytes
        self.histories: Mapping[FramesMode, History] = {mode: History(broker, keys, mode) for mode in MODES}
        self._at: dict[FramesMode, tuple[int, int]] = dict.fromkeys(MODES, (0, 0))
        self._known: set[tuple[Game, FramesMode]] = set()
        """Logs whose head is known."""
        self._doubted: set[FramesMode] = set()
        """Modes in which unread messages may have been trimmed."""
        self._state: dict[str, Any] = {"state": "offline", "reason": "unknown"}
        self._silent = False
        self._progress = Changing()

    async def open(self) -> None:
        """Read the current state from the broker. You have to call this once, before you call `take`."""
        answer = await self._broker.ask(self._read_all)
        state, tails = answer[0], dict(zip(MODES, answer[1:], strict=True))
        for mode, tail in tails.items():
            await self.histories[mode].refresh()
            if tail:
                self._at[mode] = (tail[0].ordinal, tail[0].position)
        start = message_in(state.get(b"game_start", b""))
        aside = self.histories["live"].aside(math.inf)
        for message in messages_of(tails["live"][::-1]):
            start = message if message.type == "game_start" and message.game_id not in aside else start
        current_id = None if start is None else start.game_id
        await self._insert_archived(but=current_id)
        if start is not None and current_id is not None:
            await self._open_current(start, message_in(state.get(b"stats", b"")), tails)
        self.channel.settled = True
        for kind in self._APPLIES:
            self.apply(object_in(state.get(kind.encode(), b"")))
        self.channel.notify()

    async def _read_all(self, client: Client) -> tuple[Any, ...]:
        async with client.pipeline(transaction=False) as pipeline:
            state = pipeline.hgetall(self._keys.state)
            tails = [pipeline.xrevrange(self._keys.stream(mode), count=_INITIAL_MESSAGES) for mode in MODES]
        return (await state, *[entries_of(await tail) for tail in tails])

    async def _open_current(
        self, start: LogMessage, stats: LogMessage | None, tails: Mapping[FramesMode, Sequence[StreamEntry]]
    ) -> None:
        game = self._game(start.game_id or "")
        _begin_game(game, start)
        for mode, tail in tails.items():
            messages = [m for m in reversed(messages_of(tail)) if m.game_id == game.game_id]
            if not messages:
                messages = await self.histories[mode].last_few(game.game_id)
            if messages:
                log = game.logs[mode]
                log.dropped_through = messages[0].position.before
                log.append(messages)
            self._known.add((game, mode))
        game.note(start)
        for message in messages_of(tails["live"]):
            if message.type == "game_end" and message.game_id == game.game_id:
                _end_game(game, message)
        if stats is not None and stats.game_id == game.game_id and game.newest_stats is None:
            game.note(stats)
        self.channel.begin(game)

    async def _insert_archived(self, *, but: str | None = None) -> None:
        """Add all games that the broker has or used to have.

        If we haven't reached the turn of a game yet, it begins with its first message.
        """
        archived: list[Game] = []
        history = self.histories["live"]
        reached = self._at["live"][0] or math.inf
        aside = history.aside(reached)
        for game_id, turns in by_game(history.turns.values()).items():
            if game_id == but or any(game.game_id == game_id for game in self.channel.games):
                continue
            if turns[0].ordinal > reached:
                continue
            game = self._game(game_id)
            game.order = (0, turns[0].ordinal, game_id)
            game.role = Role.SECONDARY if game_id in aside else Role.PLAYED
            archived.append(game)
        games = {game.game_id: game for game in [*archived, *self.channel.games]}
        for game in archived:
            game.primary = games.get(aside.get(game.game_id, ""))
        self.channel.insert_archived(archived)

    def _game(self, game_id: str) -> Game:
        log_reader = _BrokerLogReader(self.histories, game_id)
        game = Game(game_id, log_reader, ring_bytes=self._ring_bytes, order=self.channel.next_order())
        log_reader.game = game
        return game

    def position(self, mode: FramesMode) -> bytes:
        """Return the id of the entry after which we have to read next."""
        return b"%d-%d" % self._at[mode]

    async def take(self, mode: FramesMode, entries: Sequence[StreamEntry]) -> int:
        """Publish the next entries of a stream, and return how many messages they contain."""
        history = self.histories[mode]
        at, taken = 0, 0
        while at < len(entries):
            ordinal, end = entries[at].ordinal, at + 1
            while end < len(entries) and entries[end].ordinal == ordinal:
                end += 1
            turn = await history.turn_of(entries[at])
            if turn is not None:
                messages = messages_of(entries[at:end])
                current = self.channel.current
                self._publish(mode, turn, messages)
                if self.channel.current is not current and turn.after > START:
                    await self._read_start()
                taken += len(messages)
            self._at[mode] = (entries[end - 1].ordinal, entries[end - 1].position)
            at = end
        self._progress.notify()
        return taken

    async def _read_start(self) -> None:
        """If the station has turned to the current game after its first message, read that message."""
        game = self.channel.current
        if game is None or game.start is not None:
            return
        start = await self.histories["live"].first_of(game.game_id)
        if start is not None and start.type == "game_start" and game.start is None:
            game.note(start)
            _begin_game(game, start)
            self.channel.notify()

    def skip(self, mode: FramesMode, entries: Sequence[StreamEntry]) -> None:
        """Skip entries that can't be published because of a bug. Live subscribers then read them from the broker."""
        self._at[mode] = max(self._at[mode], (entries[-1].ordinal, entries[-1].position))
        self._doubted.add(mode)
        self._progress.notify()

    def _publish(self, mode: FramesMode, turn: Turn, messages: Sequence[LogMessage]) -> None:
        """Publish messages that belong to the same turn."""
        if not messages:
            return
        channel = self.channel
        game = next((g for g in reversed(channel.games) if g.game_id == turn.game_id and not g.archived), None)
        if game is None:
            known_before = next((known for known in channel.games if known.game_id == turn.game_id), None)
            game = self._game(turn.game_id)
            if known_before is not None:
                game.role = known_before.role
                channel.continue_with(game)
            else:
                self._begin(game, aside=turn.aside)
        if mode == "live":
            game.resume()  # only here: the finalized log may arrive after the next game's beginning
        log = game.logs[mode]
        if (game, mode) not in self._known:
            self._known = {(g, m) for g, m in self._known if g in channel.games}
            self._known.add((game, mode))
            log.dropped_through = turn.after
            if not turn.aside and any(earlier.aside for earlier in self.histories[mode].of_game(turn.game_id)):
                channel.read_from_start(game, mode)
        elif turn.after > log.head or mode in self._doubted:
            messages = [message for message in messages if message.position > log.head]
            if not messages:
                return
            channel.interrupt(game, mode, messages[0].position.before)
        if game.secondary and not turn.aside:
            channel.turn_to(game)
        self._doubted.discard(mode)
        if messages[0].type == "game_start":
            _begin_game(game, messages[0])
        channel.publish(game, {mode: [*messages]})
        for message in messages:
            if message.type == "game_end":
                _end_game(game, message)

    async def check_trimmed(self, mode: FramesMode) -> None:
        """Check whether the broker has trimmed entries before we were able to read them. Call this after a pause or a
        large batch.

        If it has, live subscribers go back to reading from the broker when the next messages arrive.
        """
        oldest = await self._broker.first(self._keys.stream(mode))
        if oldest is None or (oldest.ordinal, oldest.position) <= self._at[mode] or self._at[mode] == (0, 0):
            return
        channel, history = self.channel, self.histories[mode]
        await history.refresh()
        self._doubted.add(mode)
        for turn in history.turns.values():
            missed = self._at[mode][0] < turn.ordinal <= oldest.ordinal
            if missed and all(game.game_id != turn.game_id for game in channel.games):
                game = self._game(turn.game_id)
                log = game.logs[mode]
                log.dropped_through = _BEFORE_ALL
                self._known.add((game, mode))
                self._begin(game, aside=turn.aside)

    def _begin(self, game: Game, *, aside: bool) -> None:
        """Begin a game. If it's the one that is played, we don't wait any longer for earlier games that never ended.

        If messages of one of these arrive later, it continues.
        """
        game.role = Role.SECONDARY if aside else Role.PLAYED
        for older in () if aside else self.channel.games:
            older.leave()
        self.channel.drop_oldest(())
        self.channel.begin(game)

    async def _synchronise(self, game_id: str) -> None:
        for mode in MODES:
            newest = await self._broker.last(self._keys.stream(mode))
            while newest is not None and self._at[mode] < (newest.ordinal, newest.position):
                await self._progress.changed()

    async def _locate(self, game_id: str) -> None:
        for history in self.histories.values():
            await history.refresh()
        await self._insert_archived()
        if not any(game.game_id == game_id for game in self.channel.games):
            raise NoSuchGame(f"no such game: {game_id}")

    def apply(self, message: Mapping[str, Any]) -> None:
        """Apply a status message that comes from the ingest."""
        kind = message.get("type")
        apply = self._APPLIES.get(kind) if isinstance(kind, str) else None
        if apply is not None:
            apply(self, {key: value for key, value in message.items() if key not in ("type", "station")})

    def set_alive(self, alive: bool) -> None:
        """Note whether the ingest of the station seems to be alive."""
        if alive == self._silent:
            self._silent = not alive
            self._publish_state()

    def _apply_state(self, payload: dict[str, Any]) -> None:
        if isinstance(payload.get("state"), str):
            self._state = payload
            self._publish_state()

    def _publish_state(self) -> None:
        state = {"state": "offline", "reason": _SILENT} if self._silent else self._state
        self.channel.publish_state(dict(state))

    def _apply_set(self, payload: dict[str, Any]) -> None:
        self.channel.publish_set(payload)

    _APPLIES: Mapping[str, Callable[[GatewayStation, dict[str, Any]], None]] = {
        "station": _apply_state,
        "set": _apply_set,
    }

    def describe(self) -> dict[str, Any]:
        """Return the station in the form of `web.schemas.Station`."""
        channel = self.channel
        state = channel.state_message()
        game = channel.current
        description: dict[str, Any] = {
            "id": self.id,
            "name": self.id,
            "state": state["state"],
            "reason": state.get("reason", ""),
            "subscribers": channel.subscribers,
            "files": {"inProgress": 0, "finished": 0},
        }
        if state.get("starting"):
            description["starting"] = True
        if game is not None:
            snapshot = channel.snapshot(game, "live")
            shown = ("gameId", "format", "settings", "summary", "cursor")
            description["game"] = {key: snapshot[key] for key in shown if key in snapshot}
            description["game"] |= {"inProgress": game.in_progress, "lastFrame": game.newest_frame_number}
        return description
