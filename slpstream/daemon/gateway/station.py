"""One station as a gateway has it: a channel like the daemon's, whose games are fed from two streams of the broker.

What comes is put into the games' rings and handed to who is live; what is older is read from the broker by its range.
Messages that the logs have already are passed over: an ingest sends some again when the broker has lost them. Where
something seems to be missing between what a log has and what comes, everybody goes back to reading from the broker,
which either has it or says that it is gone.

A subscriber that comes from another gateway can have seen more than this one. So before its cursor is looked up, this
gateway reads up to where the broker is at that moment; what the subscriber has seen was there before.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import trio

from slpstream.daemon.gateway.broker import Broker
from slpstream.daemon.gateway.history import History, messages_of
from slpstream.daemon.gateway.lines import message_in, object_in, payload_of
from slpstream.game.described import DescribedGame
from slpstream.model.errors import NoSuchGame
from slpstream.model.messages import FramesMode, LogMessage, Position
from slpstream.outputs.redis.connection import Client, Entry, entries_of
from slpstream.outputs.redis.streams import MODES, StationKeys, Turn, by_game, just_before
from slpstream.stream import Channel, Game
from slpstream.stream.channel import Locate

_SEEDED = 128
"""Newest messages of each log that a gateway begins with: those who were disconnected with the last one come back with
cursors of the last seconds."""
_BEFORE_ALL = Position(0, 0)
_SILENT = "its ingest is silent"


class GatewayChannel(Channel):
    """A channel whose cursors can be those of another gateway."""

    def __init__(self, station: str, locate: Locate, synchronise: Locate) -> None:
        """`synchronise` returns when everything is here that the broker has."""
        super().__init__(station, locate)
        self._synchronise = synchronise

    async def locate(self, game_id: str) -> Game:
        """The game of a cursor, with all later ones known after it, and read as far as the broker has them. Raises
        `NoSuchGame`."""
        await self._synchronise(game_id)
        return await super().locate(game_id)

    def continue_with(self, game: Game) -> None:
        """A game from before goes on. It is not the current one for that."""
        current = self.current
        self.begin(game)
        if current is not None:
            self.current = current

    def interrupt(self, game: Game, mode: FramesMode, before: Position) -> None:
        """Something is missing between what the log has and what comes behind `before`: who is live reads it from the
        broker."""
        log = game.logs[mode]
        for reader in self._readers():
            if reader.subscriber.subscription.frames == mode:
                reader.fall_behind(game, log.head)
        log.forget()
        log.head = log.dropped_through = max(before, log.head)


class GatewayStation:
    """One station of the broker."""

    def __init__(self, broker: Broker, keys: StationKeys, *, ring_bytes: int) -> None:
        self.id = keys.station
        self.channel = GatewayChannel(keys.station, self._locate, self._synchronise)
        self.ingest = ""
        """The ingest that has told of it last."""
        self._broker = broker
        self._keys = keys
        self._ring_bytes = ring_bytes
        self.histories: Mapping[FramesMode, History] = {mode: History(broker, keys, mode) for mode in MODES}
        self._at: dict[FramesMode, tuple[int, int]] = dict.fromkeys(MODES, (0, 0))
        self._known: set[tuple[Game, FramesMode]] = set()
        """Logs of which it is known how far they have come."""
        self._doubted: set[FramesMode] = set()
        """Logs of which something may have been trimmed that was not read."""
        self._told: dict[str, Any] = {"state": "offline", "reason": "unknown"}
        self._silent = False
        self._progress = trio.Event()

    # -- the beginning -----------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Finds out where everything is: once, before anything is taken."""
        answer = await self._broker.ask(self._ask_all)
        state, tails = answer[0], dict(zip(MODES, answer[1:], strict=True))
        for mode, tail in tails.items():
            await self.histories[mode].refresh()
            if tail:
                self._at[mode] = (tail[0].ordinal, tail[0].place)
        start = message_in(state.get(b"game_start", b""))
        for message in messages_of(tails["live"][::-1]):
            start = message if message.type == "game_start" else start
        current_id = None if start is None else start.game_id
        await self._insert_archived(but=current_id)
        if start is not None and current_id is not None:
            await self._open_current(start, message_in(state.get(b"stats", b"")), tails)
        self.channel.settled = True
        for kind in self._APPLIES:
            self.apply(object_in(state.get(kind.encode(), b"")))
        self.channel.notify()

    async def _ask_all(self, client: Client) -> tuple[Any, ...]:
        async with client.pipeline(transaction=False) as pipeline:
            state = pipeline.hgetall(self._keys.state)
            tails = [pipeline.xrevrange(self._keys.stream(mode), count=_SEEDED) for mode in MODES]
        return (await state, *[entries_of(await tail) for tail in tails])

    async def _open_current(
        self, start: LogMessage, stats: LogMessage | None, tails: Mapping[FramesMode, Sequence[Entry]]
    ) -> None:
        game = self._game(start.game_id or "")
        self._begins(game, start)
        for mode, tail in tails.items():
            messages = [m for m in reversed(messages_of(tail)) if m.game_id == game.game_id]
            if not messages:
                last = await self.histories[mode].last(game.game_id)
                messages = [] if last is None else [last]
            if messages:
                log = game.logs[mode]
                log.head = log.dropped_through = just_before(messages[0].position)
                game.append(mode, messages)
            self._known.add((game, mode))
        game.start = start
        for message in messages_of(tails["live"]):
            if message.type == "game_end" and message.game_id == game.game_id:
                self._ends(game, message)
        if stats is not None and stats.game_id == game.game_id and game.newest_stats is None:
            game.newest_stats = stats
        self.channel.begin(game)

    async def _insert_archived(self, *, but: str | None = None) -> None:
        """The games that the broker has, or has had. One whose turn is not reached yet is none of them: it begins when
        its first message comes."""
        archived: list[Game] = []
        history = self.histories["live"]
        reached = self._at["live"][0] or math.inf
        for game_id, turns in by_game(history.turns.values()).items():
            if game_id == but or any(game.game_id == game_id for game in self.channel.games):
                continue
            if turns[0].ordinal > reached:
                continue
            game = self._game(game_id)
            game.order = (0, turns[0].ordinal, game_id)
            archived.append(game)
        self.channel.insert_archived(archived)

    def _game(self, game_id: str) -> Game:
        histories = self.histories

        async def replay(mode: FramesMode, position: Position) -> Sequence[LogMessage]:
            messages = await histories[mode].messages(game_id, position)
            for message in messages[:1]:
                if message.type == "game_start":
                    self._begins(game, message)
            return messages

        async def find_frame(mode: FramesMode, number: int) -> Position:
            return await histories[mode].find_frame(game_id, number)

        game = Game(game_id, replay, find_frame, ring_bytes=self._ring_bytes, order=self.channel.next_order())
        game.read_again = True
        return game

    def _begins(self, game: Game, start: LogMessage) -> None:
        """Take note of the Game Start of a game."""
        payload = payload_of(start)
        with contextlib.suppress(ZeroDivisionError):  # anything may be in the broker
            numerator, denominator = payload.get("rate") or (60, 1)
            game.frames_per_second = max(1, round(numerator / denominator))
        if not game.summary.players:  # both logs have a Game Start, and the other log may be at its end already
            game.summary = DescribedGame.of_payloads(game.game_id, payload).summary()

    def _ends(self, game: Game, end: LogMessage) -> None:
        """Take note of the Game End of a game."""
        if game.start is not None:
            payloads = payload_of(game.start), payload_of(end)
            game.summary = DescribedGame.of_payloads(game.game_id, *payloads).summary()

    # -- what comes --------------------------------------------------------------------------------------------------

    def position(self, mode: FramesMode) -> bytes:
        """The id behind which is read on."""
        return b"%d-%d" % self._at[mode]

    async def take(self, mode: FramesMode, entries: Sequence[Entry]) -> int:
        """The next entries of a stream; how many messages they are."""
        history = self.histories[mode]
        at, taken = 0, 0
        while at < len(entries):
            ordinal, end = entries[at].ordinal, at + 1
            while end < len(entries) and entries[end].ordinal == ordinal:
                end += 1
            turn = await history.turn_of(entries[at])
            if turn is not None:
                messages = messages_of(entries[at:end])
                self._publish(mode, turn, messages)
                taken += len(messages)
            self._at[mode] = (entries[end - 1].ordinal, entries[end - 1].place)
            at = end
        progress, self._progress = self._progress, trio.Event()
        progress.set()
        return taken

    def _publish(self, mode: FramesMode, turn: Turn, messages: Sequence[LogMessage]) -> None:
        if not messages:
            return
        channel = self.channel
        game = next((g for g in reversed(channel.games) if g.game_id == turn.game_id and not g.archived), None)
        if game is None:
            went_on = any(known.game_id == turn.game_id for known in channel.games)
            game = self._game(turn.game_id)
            if went_on:
                channel.continue_with(game)
            else:
                self._begin(game)
        if mode == "live":
            game.left = False  # the finalized log comes later, also behind the next game's beginning
        log = game.logs[mode]
        if (game, mode) not in self._known:
            self._known = {(g, m) for g, m in self._known if g in channel.games}
            self._known.add((game, mode))
            log.head = log.dropped_through = turn.behind
        elif turn.behind > log.head or mode in self._doubted:
            messages = [message for message in messages if message.position > log.head]
            if not messages:
                return
            channel.interrupt(game, mode, just_before(messages[0].position))
        self._doubted.discard(mode)
        if messages[0].type == "game_start":
            self._begins(game, messages[0])
        channel.publish(game, {mode: messages})
        for message in messages:
            if message.type == "game_end":
                self._ends(game, message)

    async def check_whole(self, mode: FramesMode) -> None:
        """Behind a pause, or when much has come at once: whether the broker still has what follows here. If that is not
        sure, whoever is live looks for it there when something comes."""
        oldest = await self._broker.first(self._keys.stream(mode))
        if oldest is None or (oldest.ordinal, oldest.place) <= self._at[mode] or self._at[mode] == (0, 0):
            return
        channel, history = self.channel, self.histories[mode]
        await history.refresh()
        self._doubted.add(mode)
        for turn in history.turns.values():
            missed = self._at[mode][0] < turn.ordinal <= oldest.ordinal
            if missed and all(game.game_id != turn.game_id for game in channel.games):
                game = self._game(turn.game_id)
                log = game.logs[mode]
                log.head = log.dropped_through = _BEFORE_ALL
                self._known.add((game, mode))
                self._begin(game)

    def _begin(self, game: Game) -> None:
        """Another game: those before it that have no end are not waited for any more, until something comes of them."""
        for older in self.channel.games:
            older.left = not older.ended
        self.channel.drop_oldest(())
        self.channel.begin(game)

    async def _synchronise(self, game_id: str) -> None:
        for mode in MODES:
            newest = await self._broker.last(self._keys.stream(mode))
            while newest is not None and self._at[mode] < (newest.ordinal, newest.place):
                await self._progress.wait()

    async def _locate(self, game_id: str) -> None:
        for history in self.histories.values():
            await history.refresh()
        await self._insert_archived()
        if not any(game.game_id == game_id for game in self.channel.games):
            raise NoSuchGame(f"no such game: {game_id}")

    # -- states ------------------------------------------------------------------------------------------------------

    def apply(self, message: Mapping[str, Any]) -> None:
        """A status message of the ingest."""
        kind = message.get("type")
        apply = self._APPLIES.get(kind) if isinstance(kind, str) else None
        if apply is not None:
            apply(self, {key: value for key, value in message.items() if key not in ("type", "station")})

    def heard(self, alive: bool) -> None:
        """Whether the ingest of this station shows signs of life."""
        if alive == self._silent:
            self._silent = not alive
            self._say_state()

    def _apply_state(self, payload: dict[str, Any]) -> None:
        if isinstance(payload.get("state"), str):
            self._told = payload
            self._say_state()

    def _say_state(self) -> None:
        state = {"state": "offline", "reason": _SILENT} if self._silent else self._told
        self.channel.publish_state(dict(state))

    def _apply_set(self, payload: dict[str, Any]) -> None:
        self.channel.publish_set(payload)

    _APPLIES: Mapping[str, Callable[[GatewayStation, dict[str, Any]], None]] = {
        "station": _apply_state,
        "set": _apply_set,
    }

    def describe(self) -> dict[str, Any]:
        """The station as `/v1/stations` shows it."""
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
        if game is not None:
            snapshot = channel.snapshot(game, "live")
            shown = ("gameId", "format", "settings", "summary", "cursor")
            description["game"] = {key: snapshot[key] for key in shown if key in snapshot}
            description["game"] |= {"inProgress": game.in_progress, "lastFrame": game.newest_frame_number}
        return description
