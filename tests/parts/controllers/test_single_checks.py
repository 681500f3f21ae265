"""Single checks with rare inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slpstream.model.controller_report import ControllerFinding, NotJudged
from slpstream.parts.controllers.health import Rests, Rim
from slpstream.parts.controllers.patterns import CrouchUptilts
from slpstream.parts.controllers.runs import Run
from tests.parts.controllers.hands import Point

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


def feed(take: Callable[[Run], None], holds: Iterable[tuple[Point, int]]) -> None:
    """Hold the stick at each point for a number of frames, from frame 0 on."""
    first = 0
    for (x, y), frames in holds:
        take(Run(first, frames, x, y, follows=first > 0))
        first += frames


def returning_to(points: Iterable[Point]) -> list[ControllerFinding | NotJudged]:
    """The findings about a stick that rests at these points, each after a push."""
    rests = Rests("stick")
    feed(rests.take, [hold for point in points for hold in (((80, 0), 5), (point, 30))] + [((80, 0), 5)])
    return [each for each in rests.findings() if each.check == "rest"]


def test_rest_needs_returns_to_its_place() -> None:
    """The medians of the axes are 20 and 20, where the stick has not rested at first."""
    assert returning_to([(20, -10), (20, -11), (-10, 20), (-11, 20), (25, 25)]) == []
    assert len(returning_to([(20, 20), (20, 21), (-10, 20), (-11, 20), (25, 25)])) == 1


def pushed_to(peaks: Iterable[tuple[int, int]]) -> list[ControllerFinding | NotJudged]:
    """The findings about pushes to the right, each to a peak for a number of frames, 10 frames apart."""
    rim = Rim("stick")
    feed(rim.take, [hold for peak, held in peaks for hold in (((peak, 0), held), ((0, 0), 10 - held))])
    return rim.findings()


def test_short_rim_is_found_by_pushes_below_it() -> None:
    """A flick is too short to count, and one push that reaches the rim does not change the finding."""
    [found] = pushed_to([(70, 1), (85, 4), *[(70, 4)] * 25])
    assert isinstance(found, ControllerFinding)
    assert (found.check, found.count) == ("rim", 26)
    assert found.frames == list(range(20, 140, 10))


def test_rim_needs_ten_pushes_in_a_direction() -> None:
    [unknown] = pushed_to([(70, 4)] * 9)
    assert isinstance(unknown, NotJudged)
    assert unknown.check == "rim"
    assert pushed_to([(85, 4)] * 10) == []
