"""Single checks, fed by hand with rare inputs."""

from __future__ import annotations

from slpstream.tournament.controllers.patterns import CrouchUptilts
from slpstream.tournament.controllers.report import ControllerFinding, NotJudged

CROUCH, UPTILT, STANDING = 0x28, 0x38, 0x0E


def crouch_uptilts(count: int, frames: int) -> list[ControllerFinding | NotJudged]:
    """The result of a game of `frames` frames, the first of which have `count` uptilts out of a crouch."""
    check = CrouchUptilts()
    actions = [CROUCH, UPTILT, STANDING] * count
    for number, action in enumerate(actions + [STANDING] * (frames - len(actions))):
        check.take(number, action)
    return check.findings()


def test_long_games_may_have_more_uptilts_out_of_a_crouch() -> None:
    minute, game, eight_minutes = 3_600, 10_000, 28_800
    assert len(crouch_uptilts(2, minute)) == len(crouch_uptilts(2, game)) == 1
    assert crouch_uptilts(2, eight_minutes) == []
    assert len(crouch_uptilts(6, eight_minutes)) == 1
