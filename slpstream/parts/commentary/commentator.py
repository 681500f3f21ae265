"""Turns the messages of one station into sentences. This doesn't do any I/O.

We only read final frames, so no sentence is ever taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from slpstream.formats.slippi.names import move_name
from slpstream.game.described import DescribedGame
from slpstream.model.messages import LogMessage
from slpstream.model.prepared import prepared
from slpstream.model.summary import GameSummary, PlayerSummary
from slpstream.parts.commentary.phrases import Phrases
from slpstream.parts.services import Span, Swing

_MIN_DAMAGE = 40
"""A conversion that doesn't kill is worth a sentence from this damage on, in percent."""
_SIDES_OF_A_SET = 2
_MIN_MOVES = 3
"""A kill with fewer moves isn't called a zero-to-death, whatever the percent."""
_MIN_SWING = 0.2
"""A change of the odds by this much is worth a sentence."""


class Sentence(NamedTuple):
    """A sentence for people."""

    text: str
    important: bool = True
    """Whether it has to be said even if others are waiting."""


class _Hit(msgspec.Struct, rename="camel"):
    """One hit of a conversion, as in `stats`."""

    move_id: int | None = None


class _Conversion(msgspec.Struct, rename="camel"):
    """A conversion on a player, as in `stats`."""

    last_hit_by: int | None = None
    start_frame: int = 0
    end_frame: int | None = None
    did_kill: bool = False
    moves: list[_Hit] = []


class _Stock(msgspec.Struct, rename="camel"):
    """A life that has ended, as in `stats`."""

    end_percent: float | None = None


@prepared
class _Event(msgspec.Struct, rename="camel"):
    """Those members of an `event` that we talk about."""

    kind: str
    frame: int = 0
    player_index: int = -1
    opponent_index: int = -1
    stocks_remaining: int | None = None
    stock: _Stock = msgspec.field(default_factory=_Stock)
    conversion: _Conversion = msgspec.field(default_factory=_Conversion)
    reasons: list[str] = []
    damage: float = 0
    moves: int = 0


_decode_event = msgspec.json.Decoder(_Event).decode


class Commentator:
    """The commentary of one station in one language."""

    def __init__(self, phrases: Phrases) -> None:
        self._phrases = phrases
        self._game_id: str | None = None
        self._game_start: Mapping[str, Any] = {}
        self._summary = GameSummary()
        self._stocks: dict[int, int] = {}
        """The stocks of those players that have spawned or lost a stock while we listened."""
        self._set: Mapping[str, Any] = {}
        self._told_set: tuple[object, ...] = ()
        self._spans: dict[tuple[int, int], Span] = {}

    def join(self, game_start: LogMessage | None, payload: Mapping[str, Any] | None) -> None:
        """Take the game and the set that have begun before anybody listened. There is no need to talk about them."""
        if payload is not None:
            self._set = payload
            self._told_set = _score(payload)
        if game_start is not None:
            self._game_begins(game_start)

    def take(self, messages: Sequence[LogMessage]) -> list[Sentence]:
        """Return the sentences about the next messages of a log, which must be in order."""
        said: list[Sentence] = []
        lost: dict[int, _Event] = {}
        self._spans = {}
        for message in messages:
            if message.type == "game_start":
                said += self._game_begins(message)
            elif message.game_id != self._game_id:
                continue  # the rest of a game that another one has replaced
            elif message.type == "event":
                event = _decode_event(b"{" + message.body)
                if any(each.frame != event.frame for each in lost.values()):
                    said += self._stocks_lost(lost)
                said += self._event(event, lost)
            elif message.type == "game_end":
                said += [*self._stocks_lost(lost), *self._game_ends(msgspec.json.decode(b"{" + message.body))]
        return [*said, *self._stocks_lost(lost)]

    @property
    def spans(self) -> list[Span]:
        """The conversions and lost stocks in the messages that were taken last, each with the player who gained."""
        return list(self._spans.values())

    def odds_changed(self, player: int, swing: Swing | None) -> list[Sentence]:
        """Return the sentence about a large swing of the odds, unless it has decided the game."""
        if swing is None or swing.gained < _MIN_SWING or swing.after >= 1:
            return []
        phrases, percent = self._phrases, min(99, round(100 * swing.after))
        phrase = phrases.favourite if swing.before <= 0.5 < swing.after else phrases.chance
        return [Sentence(phrase.format(name=self._name(player), percent=percent), important=False)]

    def set_changed(self, payload: Mapping[str, Any]) -> list[Sentence]:
        """Return the sentences about a set that has changed."""
        self._set = payload
        told, self._told_set = self._told_set, _score(payload)
        sides = payload["sides"]
        if told == self._told_set or len(sides) != _SIDES_OF_A_SET or not any(side["score"] for side in sides):
            return []
        scores, phrases = [side["score"] for side in sides], self._phrases
        names = [self._side_name(side) for side in sides]
        winner = payload.get("winner")
        if payload["state"] == "over" and winner is not None:
            score, other = scores[winner], scores[1 - winner]
            return [Sentence(phrases.wins_set.format(name=names[winner], score=score, other=other))]
        values = {"first": names[0], "first_score": scores[0], "second": names[1], "second_score": scores[1]}
        return [Sentence(phrases.leads.format(**values))]

    def situation_seen(self, payload: Mapping[str, Any]) -> list[Sentence]:
        """Return the sentence about a configured situation that was found."""
        name = self._name(payload.get("player", -1))
        return [Sentence(self._phrases.situation.format(name=name, situation=payload["name"]))]

    def _game_begins(self, game_start: LogMessage) -> list[Sentence]:
        """Forget the game before. Returns the sentence about the players and the stage."""
        self._game_id = game_start.game_id
        self._game_start = msgspec.json.decode(b"{" + game_start.body)
        self._summary = summary = DescribedGame.of_payloads(self._game_id or "", self._game_start).summary()
        self._stocks, self._spans = {}, {}
        if not summary.players:
            return []
        phrases = self._phrases
        sides: dict[object, list[str]] = {}
        for player in summary.players:
            name, character = self._name(player.index), player.character.text
            if character and character != name:
                name = phrases.with_character.format(name=name, character=character)
            sides.setdefault(player.team if summary.is_teams else player.index, []).append(name)
        names = [phrases.and_.join(members) for members in sides.values()]
        if len(names) == _SIDES_OF_A_SET:
            who = phrases.against.format(first=names[0], second=names[1])
        else:
            who = phrases.separator.join(names)
        stage = summary.place.text
        return [
            Sentence(phrases.on_stage.format(names=who, stage=stage) if stage else phrases.begins.format(names=who))
        ]

    def _event(self, event: _Event, lost: dict[int, _Event]) -> list[Sentence]:
        """Return the sentences about an event. A stock that was `lost` waits for the conversion that has taken it."""
        phrases = self._phrases
        self._note_span(event)
        if event.kind == "player_spawned" and event.stocks_remaining is not None:
            self._stocks[event.player_index] = event.stocks_remaining
        elif event.kind == "stock_lost":
            lost[event.player_index] = event
        elif event.kind == "conversion_ended" and event.player_index in lost and event.conversion.did_kill:
            lost[event.player_index].conversion = event.conversion
        elif event.kind == "highlight" and event.opponent_index in lost:
            lost[event.opponent_index].reasons = event.reasons
        elif event.kind == "highlight" and event.damage >= _MIN_DAMAGE and "kill" not in event.reasons:
            by, name = self._name(event.player_index), self._name(event.opponent_index)
            values = {"moves": event.moves, "damage": round(event.damage)}
            return [Sentence(phrases.damage.format(by=by, name=name, **values), important=False)]
        elif event.kind == "game_paused":
            return [Sentence(phrases.paused, important=False)]
        return []

    def _note_span(self, event: _Event) -> None:
        """Note a conversion or a lost stock. A conversion that has killed stands for the stock."""
        others = [player.index for player in self._summary.players if player.index != event.player_index]
        end_frame = event.conversion.end_frame
        if len(others) != 1:
            return
        if event.kind == "stock_lost":
            span = Span(others[0], event.frame, event.frame)
            self._spans.setdefault((event.player_index, event.frame), span)
        elif event.kind == "conversion_ended" and end_frame is not None:
            self._spans[event.player_index, end_frame] = Span(others[0], event.conversion.start_frame, end_frame)

    def _stocks_lost(self, lost: dict[int, _Event]) -> list[Sentence]:
        """Return the sentences about the stocks that were lost in one frame, and forget these."""
        said: list[Sentence] = []
        before = dict(self._stocks)
        for index, event in lost.items():
            said += self._stock_lost(event)
            self._stocks[index] = event.stocks_remaining or 0
        if lost and len(self._stocks) == len(self._summary.players):
            left = {index: count for index, count in self._stocks.items() if count > 0}
            if len(left) > 1 and set(left.values()) == {1}:
                if set(before.values()) != {1}:
                    said.append(Sentence(self._phrases.last_stocks))
            elif len(left) > 1:
                each = self._phrases.player_stocks
                players = [each.format(name=self._name(i), count=count) for i, count in sorted(self._stocks.items())]
                said.append(Sentence(self._phrases.stocks.format(players=self._phrases.separator.join(players))))
        lost.clear()
        return said

    def _stock_lost(self, event: _Event) -> list[Sentence]:
        phrases, conversion = self._phrases, event.conversion
        if self._summary.mode == "stamina":
            return []  # there, the percent is the damage that a player can still take
        name, percent = self._name(event.player_index), round(event.stock.end_percent or 0)
        killer = conversion.last_hit_by
        if not conversion.did_kill or killer is None or killer == event.player_index:
            return [Sentence(phrases.lost.format(name=name, percent=percent))]
        move = move_name(conversion.moves[-1].move_id or 0) if conversion.moves else None
        values = {"by": self._name(killer), "name": name, "percent": percent, "move": move}
        said = [Sentence((phrases.taken if move is None else phrases.taken_with).format(**values))]
        if "zero-to-death" in event.reasons and len(conversion.moves) >= _MIN_MOVES:
            said.append(Sentence(phrases.zero_to_death))
        return said

    def _game_ends(self, game_end: Mapping[str, Any]) -> list[Sentence]:
        summary = DescribedGame.of_payloads(self._game_id or "", self._game_start, game_end).summary()
        phrases, said = self._phrases, []
        if summary.ending == "time":
            said.append(Sentence(phrases.time))
        if summary.quitter is not None:
            said.append(Sentence(phrases.quits.format(name=self._name(summary.quitter))))
        if summary.tied:
            said.append(Sentence(phrases.tied))
        elif summary.winners:
            name = phrases.and_.join(self._name(index) for index in summary.winners)
            said.append(Sentence((phrases.team_wins if len(summary.winners) > 1 else phrases.wins).format(name=name)))
        elif summary.quitter is None:
            said.append(Sentence(phrases.undecided))
        return said

    def _name(self, index: int) -> str:
        """Return the name of a player: that of the set, or else that of the replay, the character, or the port."""
        if any(game["gameId"] == self._game_id for game in self._set.get("games", ())):
            of_set = {player["playerIndex"]: player.get("name") for player in self._set["players"]}
            if of_set.get(index):
                return str(of_set[index])
        players = {player.index: player for player in self._summary.players}
        player = players.get(index, PlayerSummary(index=index))
        if player.shown_name:
            return player.shown_name
        same = [each for each in players.values() if each.character == player.character]
        if player.character.text and len(same) == 1:
            return player.character.text
        return f"P{index + 1}"

    def _side_name(self, side: Mapping[str, Any]) -> str:
        names = {player["playerIndex"]: player.get("name") for player in self._set["players"]}
        return self._phrases.and_.join(names.get(index) or self._name(index) for index in side["players"])


def _score(payload: Mapping[str, Any]) -> tuple[object, ...]:
    return payload["setId"], payload["state"], *(side["score"] for side in payload["sides"])
