"""Games without stocks, written fall by fall, because no real replay of time mode has a fall.

    game = TimedGame(players=4).fall(1, by=0).fall(2).end(placements=(0, 2, 3, 1))

Player 1 falls after a hit by player 0, then player 2 self-destructs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from slpstream.formats.slippi import container
from slpstream.formats.slippi.commands import FIRST_FRAME
from slpstream.formats.slippi.result import TIME
from tests.formats.slippi.built import OFFLINE, ONLINE, post, pre, start
from tests.formats.slippi.writer import PlayerSetup, ReplayWriter, Version, game_start

TIME_MODE, STOCK_MODE, COIN_MODE, BONUS_MODE = 0x00, 0x20, 0x40, 0x60
NOBODY = 6
HIT_FRAMES, REBIRTH_FRAMES = 10, 30
_COUNTING_DOWN = 0x12
_STANDING, _DAMAGED, _REBIRTH = 0x0E, 0x4B, 0x0C
_NAMES = ("Vixen", "Altea", "Corneria", "Port Town")
_CHARACTERS = (2, 9, 20, 0)
_INTERNAL = (1, 18, 22, 2)


class TimedGame:
    """A game in which players stand, are hit, and fall. Frames begin at -123; `number` is that of the next one."""

    def __init__(
        self,
        players: int = 2,
        *,
        teams: Sequence[int] = (),
        stocks: int = 4,
        mode: int = TIME_MODE,
        version: Version = (3, 18, 0),
        self_destruct_value: int = -1,
        online: bool = False,
        stamina: bool = False,
        **rows: Any,
    ) -> None:
        """`teams` has the team of each player; without it there are no teams."""
        self.writer = ReplayWriter(version)
        self.number = FIRST_FRAME
        self._indices = range(players)
        self._stocks = [stocks] * players
        setups = [
            PlayerSetup(
                index=index,
                character_id=_CHARACTERS[index],
                start_stocks=stocks,
                team_id=teams[index] if teams else 0,
                display_name=_NAMES[index],
                player_bitfield=0xC1 if stamina else 0xC0,
            )
            for index in self._indices
        ]
        values = {
            "game_bitfield_1": _COUNTING_DOWN | mode,
            "self_destruct_score_value": self_destruct_value,
            "starting_timer_seconds": 120,
            "is_teams": bool(teams),
            "stage_id": 31,
            "major_scene": ONLINE if online else OFFLINE,
        }
        payload = game_start(version, players=setups, **values | rows)
        self._parts = [self.writer.open(), self.writer.event(payload)]
        self.stand(30)

    def stand(self, frames: int = 1) -> Self:
        """All players stand."""
        for _ in range(frames):
            self.frame()
        return self

    def fall(self, *players: int, by: int | None = None, state: int = 0, frames: int = 60) -> Self:
        """The players are hit by another player for 12 percent a frame, then die at the same time, then are reborn.

        Without `by` they die unhit. `state` is the first action state of dying, which lasts for `frames`.
        """
        hitter = NOBODY if by is None else by
        for at in range(0 if by is None else HIT_FRAMES):
            hit = {"action_state_id": _DAMAGED, "percent": 12.0 * (at + 1), "last_hit_by": hitter}
            self.frame(dict.fromkeys(players, hit))
        for _ in range(frames):
            self.frame({player: {"action_state_id": state, "last_hit_by": hitter} for player in players})
        for _ in range(REBIRTH_FRAMES):
            self.frame({player: {"action_state_id": _REBIRTH} for player in players})
        return self.stand()

    def misread(self, player: int) -> Self:
        """Online: three frames in which a player seems to die are taken back by a rollback."""
        first, final = self.number, self.number - 1
        for _ in range(3):
            self.frame({player: {"action_state_id": 0, "last_hit_by": NOBODY}}, finalized=final)
        self.number = first
        return self.stand(3)

    def lose_stock(self, player: int) -> Self:
        """From here on a player has a stock less."""
        self._stocks[player] -= 1
        return self

    def frame(self, changes: Mapping[int, dict[str, Any]] | None = None, *, finalized: int | None = None) -> Self:
        """Add a frame, with changes to the Post-Frame Updates of players, by index."""
        number = self.number
        posts = []
        for index in self._indices:
            values: dict[str, Any] = {
                "internal_character_id": _INTERNAL[index],
                "action_state_id": _STANDING,
                "action_state_counter": float(number + 123),
                "percent": 0.0,
                "last_hit_by": NOBODY,
                "stocks_remaining": self._stocks[index],
                "position_x": 20.0 * index - 30.0,
                "position_y": 0.0,
                "last_attack_landed": 13,
                "facing_direction": 1.0,
            }
            posts.append(post(number, index, **values | (changes or {}).get(index, {})))
        pres = [pre(number, index, joystick_x=0.0, buttons=0) for index in self._indices]
        self._parts.append(self.writer.frame(number, start=start(number), pres=pres, posts=posts, finalized=finalized))
        self.number += 1
        return self

    def so_far(self) -> bytes:
        """The file while the game runs."""
        return b"".join(self._parts)

    def end(self, placements: Sequence[int] | None = None, *, method: int = TIME, quitter: int = -1) -> bytes:
        """The finished replay. `placements` has the place of each player, from 0."""
        places = tuple([*(placements or ()), -1, -1, -1, -1][:4])
        self._parts.append(self.writer.end(method, lras_initiator=quitter, placements=places))  # type: ignore[arg-type]
        metadata = {"startAt": "2026-05-01T12:00:00Z", "lastFrame": self.number - 1, "playedOn": "dolphin"}
        body = b"".join([*self._parts, self.writer.close(metadata)])
        return self.writer.header() + body[container.HEADER_BYTES :]
