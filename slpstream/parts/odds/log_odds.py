"""The odds of a game from the messages of its finalized log, which are the same live and after the game."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from slpstream.formats.slippi.packed_frame import PackedFrame, ReadFields, WholeFrames
from slpstream.model.events import PackedEntry
from slpstream.model.messages import LogMessage
from slpstream.model.prepared import prepared
from slpstream.model.topics import Topic
from slpstream.parts.odds.game_odds import Conditions, GameOdds, Point, Post, posts_of, read_posts
from slpstream.parts.odds.model import OddsModel
from slpstream.parts.odds.turning_points import Conversion, TurningPoint, turning_points
from slpstream.parts.services import Span, Swing

TOPICS: frozenset[Topic] = frozenset({"game", "frame", "event"})
_FORMAT = "slippi"


@prepared
class _Start(msgspec.Struct):
    """The part of a `game_start` message that the odds need."""

    format: str
    settings: msgspec.Raw = msgspec.Raw(b"{}")


@prepared
class _Event(msgspec.Struct, rename="camel"):
    kind: str
    frame: int | None = None
    player_index: int | None = None
    conversion: msgspec.Raw | UnsetType = UNSET


class _Player(msgspec.Struct, gc=False):
    post: Post | UnsetType = UNSET


@prepared
class _Entry(msgspec.Struct, gc=False):
    players: dict[int, _Player] = {}


_decode_start = msgspec.json.Decoder(_Start).decode
_decode_setup = msgspec.json.Decoder(Conditions).decode
_decode_event = msgspec.json.Decoder(_Event).decode
_decode_conversion = msgspec.json.Decoder(Conversion).decode
_decode_entry = msgspec.json.Decoder(_Entry).decode


class LogOdds:
    """The odds of one game. It takes the messages of the finalized log in order."""

    def __init__(self, model: OddsModel) -> None:
        self._model = model
        self._game: GameOdds | None = None
        self.without_odds = "not a game of Melee"
        """The reason why the game has no odds, or an empty string."""
        self.is_over = False
        self.points: list[Point] = []
        self._conversions: list[Conversion] = []
        self._stocks: list[tuple[int, int]] = []
        self._before: bytes | PackedEntry = b""
        """The content of the last frame message."""
        self._events: WholeFrames | None = None
        self._read_posts: ReadFields

    @property
    def players(self) -> list[int]:
        """The indices of the two players. The odds are those of the first one."""
        return [] if self._game is None else self._game.players

    def take(self, message: LogMessage) -> Point | None:
        """Add a message, and return the odds if it has any."""
        if message.frame is not None:  # sixty times a second
            game = self._game
            if game is None or (self._changes_nothing(message.content) and message.frame < game.next_point):
                return None
            point = game.take(message.frame, _posts_of(message))
            if point is not None:
                self.points.append(point)
            return point
        if message.type == "game_start":
            self._begin(message)
        elif message.type == "game_end":
            self.is_over = True
        elif message.type == "event" and self._game is not None:
            self._event(message)
        return None

    def turning_points(self) -> list[TurningPoint]:
        """Return the largest swings so far."""
        return turning_points(self.players, self.swing, self._conversions, self._stocks)

    def swing(self, span: Span) -> Swing | None:
        """Return how much the odds have changed in a part of the game, or `None` without odds."""
        return None if self._game is None else self._game.swing(span)

    def _changes_nothing(self, content: bytes | PackedEntry) -> bool:
        """Whether a frame has the same values as the one before. Most frames do.

        If this can't be told without decoding a frame, it returns `False`.
        """
        before, self._before = self._before, content
        if type(content) is not PackedFrame or type(before) is not PackedFrame:
            return False
        if content.events is not self._events:
            self._events, self._read_posts = content.events, read_posts(content.events)
            return False
        return not self._read_posts(content.data, before.data)

    def _begin(self, message: LogMessage) -> None:
        start = _decode_start(b"{" + message.body)
        if start.format != _FORMAT:
            return
        setup = _decode_setup(start.settings)
        self.without_odds = setup.without_odds
        if not self.without_odds:
            self._game = GameOdds(self._model, setup)

    def _event(self, message: LogMessage) -> None:
        event = _decode_event(b"{" + message.body)
        if event.kind == "conversion_ended" and event.conversion is not UNSET:
            self._conversions.append(_decode_conversion(event.conversion))
        elif event.kind == "stock_lost" and event.frame is not None and event.player_index is not None:
            self._stocks.append((event.frame, event.player_index))


def _posts_of(message: LogMessage) -> Mapping[int, Post]:
    content = message.content
    if isinstance(content, PackedFrame):
        return posts_of(content)
    players = _decode_entry(message.entry()).players
    return {index: player.post for index, player in players.items() if player.post is not UNSET}
