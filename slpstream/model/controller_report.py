"""Reports of the controller check: findings with evidence, and checks without a result with the reason."""

from __future__ import annotations

from typing import Literal

import msgspec

Confidence = Literal["low", "medium", "high"]
Group = Literal["health", "legality"]
ControllerType = Literal["box", "analog", "unclear", "unknown"]

MAX_EVIDENCE_FRAMES = 12
"""Limit of the frames in a finding, whose `count` is not limited."""


class ControllerFinding(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A reason for people to look at a controller."""

    check: str
    """The check, such as `rest` or `travel_time`."""
    group: Group
    part: str
    """The part of the controller: `stick`, `C-stick`, `left trigger`, `button Y`, ..."""
    confidence: Confidence
    text: str
    """One sentence for people."""
    basis: str
    """The number that determines the confidence, in words."""
    score: float
    """That number. Its unit depends on the check."""
    count: int
    """Number of occurrences."""
    frames: list[int]
    """The frames of the first occurrences, at most `MAX_EVIDENCE_FRAMES`."""


class NotJudged(msgspec.Struct, frozen=True, rename="camel"):
    """A check without a result for this player, with the reason."""

    check: str
    reason: str


class PlayerControls(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The check of one player's controller in one game."""

    player_index: int
    port: int
    controller: ControllerType
    controller_basis: str
    """The reasons for the type."""
    frames: int
    """Number of final frames with the player."""
    findings: list[ControllerFinding]
    """The findings, with those of high confidence first."""
    not_judged: list[NotJudged]


class ControllerReport(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The check of all controllers of one game."""

    players: list[PlayerControls]
    last_frame: int | None
    """The last final frame that was checked."""
