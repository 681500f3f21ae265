"""Checks all controllers of one game, either frame by frame or over a whole replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from slpstream.formats.slippi.game_start import Settings
from slpstream.model.controller_report import (
    ControllerFinding,
    ControllerReport,
    ControllerType,
    NotJudged,
    PlayerControls,
)
from slpstream.model.events import Event, final_frames
from slpstream.parts.controllers.bands import Goomwave, TiltRounding
from slpstream.parts.controllers.confidence import strongest
from slpstream.parts.controllers.health import Buttons, Rests, Rim, Trigger
from slpstream.parts.controllers.motion import Fuzzing, Motion, Travel
from slpstream.parts.controllers.patterns import CrouchUptilts, CStick, Sdi
from slpstream.parts.controllers.runs import Runs
from slpstream.parts.controllers.samples import PlayerSample, samples_of

HEALTH_CHECKS = ("rest", "drift", "rim", "trigger", "stutter")
BOX_CHECKS = ("travel_time", "disallowed_cstick", "crouch_uptilt", "sdi", "input_fuzzing")
ANALOG_CHECKS = ("goomwave", "tilt_rounding")
LEGALITY_CHECKS = (*BOX_CHECKS, *ANALOG_CHECKS)
MIN_LEGALITY_FRAMES = 3600
"""A game of less than a minute is a handwarmer. The community's check ignores these, too."""
_PERSON = 0
_NO_RAW = "the replay has no raw values of both axes, which it has from version 3.15 on"


class _Check(Protocol):
    def findings(self) -> list[ControllerFinding | NotJudged]:
        """Return the findings so far."""


class _Player:
    """The checks of one player."""

    def __init__(self) -> None:
        self.frames = 0
        self.has_raw = self.has_raw_c = False
        self.motion = Motion()
        rests, rim = Rests("stick"), Rim("stick")
        travel, fuzzing, sdi = Travel(), Fuzzing(), Sdi()
        goomwave, tilts = Goomwave(), TiltRounding()
        c_rests = Rests("C-stick")
        self._crouch, self._c_stick = CrouchUptilts(), CStick()
        self._left, self._right, self._buttons = Trigger("left trigger"), Trigger("right trigger"), Buttons()
        self._runs = Runs(*(c.take for c in (rests, rim, self.motion, travel, fuzzing, sdi, goomwave, tilts)))
        self._c_runs = Runs(c_rests.take)
        self.stick_health: list[_Check] = [rests, rim]
        self.c_stick_health: list[_Check] = [c_rests]
        self.other_health: list[_Check] = [self._left, self._right, self._buttons]
        self.of_type: dict[ControllerType, list[_Check]] = {
            "box": [travel, self._c_stick, self._crouch, sdi, fuzzing],
            "analog": [goomwave, tilts],
        }

    def take(self, number: int, player: PlayerSample) -> None:
        """Add the player's part of a final frame."""
        self.frames += 1
        sample, action = player
        if sample.raw_x is not None and sample.raw_y is not None:
            self.has_raw = True
            self._runs.take(number, sample.raw_x, sample.raw_y)
        if sample.raw_c_x is not None and sample.raw_c_y is not None:
            self.has_raw_c = True
            self._c_runs.take(number, sample.raw_c_x, sample.raw_c_y)
        self._c_stick.take(number, sample.c_x, sample.c_y)
        self._left.take(number, sample.left)
        self._right.take(number, sample.right)
        self._buttons.take(number, sample.buttons)
        if action is not None:
            self._crouch.take(number, action)


class ControllerCheck:
    """The check of one Melee game.

    It takes final frames (each number once, in order), and you can get its report at any time. The report only depends
    on the frames, and not on when or how often you ask for it.
    """

    def __init__(self, players: Mapping[int, int]) -> None:
        """`players` contains the type of each player by player index, from Game Start. 0 is a person."""
        self._types = dict(players)
        self._players = {index: _Player() for index in players}
        self._last: int | None = None

    def take(self, number: int, content: Any) -> None:
        """Add the content of a final frame. It can be packed, decoded, or JSON."""
        self._last = number
        for index, sample in samples_of(content).items():
            player = self._players.get(index)
            if player is not None:
                player.take(number, sample)

    def report(self) -> ControllerReport:
        """Return the report so far."""
        players = [self._report(index, player) for index, player in sorted(self._players.items())]
        return ControllerReport(players=players, last_frame=self._last)

    def _report(self, index: int, player: _Player) -> PlayerControls:
        if self._types[index] != _PERSON:
            return PlayerControls(
                player_index=index,
                port=index + 1,
                controller="unknown",
                controller_basis="a computer player",
                frames=player.frames,
                findings=[],
                not_judged=[NotJudged(check, "a computer player") for check in (*HEALTH_CHECKS, *LEGALITY_CHECKS)],
            )
        controller: ControllerType = "unknown"
        basis = _NO_RAW
        results: list[ControllerFinding | NotJudged] = []
        results += _results(player.other_health)
        if player.has_raw:
            controller, basis = player.motion.conclusion()
            results += _results(player.stick_health)
            results += self._legality(player, controller, basis)
        else:
            results += _all_of(("rest", "drift", "rim", *LEGALITY_CHECKS), _NO_RAW)
        if player.has_raw_c:
            results += [r for r in _results(player.c_stick_health) if isinstance(r, ControllerFinding)]
        return PlayerControls(
            player_index=index,
            port=index + 1,
            controller=controller,
            controller_basis=basis,
            frames=player.frames,
            findings=strongest(r for r in results if isinstance(r, ControllerFinding)),
            not_judged=list(dict.fromkeys(each for each in results if isinstance(each, NotJudged))),
        )

    def _legality(
        self, player: _Player, controller: ControllerType, basis: str
    ) -> Iterable[ControllerFinding | NotJudged]:
        if player.frames < MIN_LEGALITY_FRAMES:
            reason = (
                f"too short: {player.frames} frames with this player, and {MIN_LEGALITY_FRAMES} (a minute) are needed"
            )
            return _all_of(LEGALITY_CHECKS, reason)
        if controller == "unknown":
            return _all_of(LEGALITY_CHECKS, basis)
        if controller == "unclear":
            return _all_of(LEGALITY_CHECKS, f"neither a box nor an analog stick: {basis}")
        return _results(player.of_type[controller])


def _results(checks: Iterable[_Check]) -> list[ControllerFinding | NotJudged]:
    return [result for check in checks for result in check.findings()]


def _all_of(checks: Iterable[str], reason: str) -> list[ControllerFinding | NotJudged]:
    return [NotJudged(check, reason) for check in checks]


def checked(settings: Settings, batches: Iterable[Iterable[Event]]) -> ControllerReport:
    """Return the report of a game, given the events that its reader has returned."""
    check = ControllerCheck(player_types(settings))
    for events in batches:
        for frame in final_frames(events):
            check.take(frame.number, frame.content)
    return check.report()


def player_types(settings: Settings) -> dict[int, int]:
    """Return the type of each player by player index."""
    return {player.player_index: player.type for player in settings.players}
