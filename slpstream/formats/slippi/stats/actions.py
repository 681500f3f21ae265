"""Count the actions of a player. Each action is counted when it begins.

An action begins when `action_state_id` changes, or when `action_state_counter` gets smaller. We also need some other
Post-Frame fields: `l_cancel_status` for landings, `position_y` for wavelands, `facing_direction` and `position_x` for
the direction of a tech, and `internal_character_id` for the states of Mr. Game & Watch and Peach, and for the landing
lag.

Wavedash and waveland: this is a landing (0x2B) that comes directly from an air dodge, a knee bend or a jump. To find
out which one it is, we look at the last 15 frames. If these only contain an air dodge and one other state, it is
neither. If there is a knee bend, it is a wavedash, unless there are also 5 frames of jump and the player lands more
than 0.1 above or below the place of the knee bend. Otherwise, it is a waveland. If an air dodge becomes one of these,
we don't count it as an air dodge.

Edge cancel: this is the landing of an aerial that goes directly into a fall (0x1D) or a teeter (0xF5). If the landing
was shorter than the L-cancelled lag, it is a success, and if it was shorter than the full lag, it is slow. A failed
L-cancel doesn't count unless the landing was longer than the L-cancelled lag. So its event has to wait until then, and
a count that you have already seen can become smaller again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, Final

from slpstream.formats.slippi.commands import LEDGE_CATCH
from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.names import landing_lag_frames
from slpstream.formats.slippi.stats.schema import ActionCounts, Attacks, EdgeCancels, GroundTechs, Successes, Throws
from slpstream.formats.slippi.stats.states import FIRST_CHARACTER_STATE, FIRST_LANDING, FLAGS, GRAB, LANDING

DASH, TURN = 0x14, 0x12
KNEE_BEND, JUMPS = 0x18, range(0x19, 0x23)
FALL, TEETER = 0x1D, 0xF5
LANDING_SPECIAL = 0x2B
DASH_ATTACK = 0x32
DASH_GRAB, LAST_GRAB = 0xD6, 0xDE
AIR_DODGE = 0xEC
WAVEDASH_WINDOW_FRAMES = 15
WAVELAND_JUMP_FRAMES = 5
WAVELAND_HEIGHT = 0.1


def _by_state(rows: Mapping[int, tuple[str, ...]]) -> dict[int, str]:
    return {first + i: name for first, names in rows.items() for i, name in enumerate(names)}


_COUNTED: Final = _by_state(
    {
        0x2C: ("jab1", "jab2", "jab3", "jabm"),
        DASH_ATTACK: ("dash", *5 * ("ftilt",), "utilt", "dtilt", *5 * ("fsmash",), "usmash", "dsmash"),
        0x41: ("nair", "fair", "bair", "uair", "dair"),
        0xB7: ("tech_fail",),
        0xBF: ("tech_fail",),
        0xC7: ("tech_neutral",),
        0xCA: ("wall_tech_success",),
        0xDB: ("throw_forward", "throw_back", "throw_up", "throw_down"),
        0xE9: ("roll", "roll", "spot_dodge"),
        AIR_DODGE: ("air_dodge",),
        0xF7: ("wall_tech_fail",),
        LEDGE_CATCH: ("ledgegrab",),
        0x108: ("taunt", "taunt"),
    }
)
"""What counts whenever a state begins, for all characters. Each row is for a state and those after it."""
_MR_GAME_AND_WATCH, _PEACH = 0x18, 0x09
_COUNTED_OF_CHARACTER: Final = {
    _MR_GAME_AND_WATCH: _by_state({0x155: ("jab1", "jabm"), 0x159: ("dtilt", "fsmash", "nair", "bair", "uair")}),
    _PEACH: _by_state({0x15D: ("fsmash", "fsmash", "fsmash")}),
}
"""The same for character-specific states, by internal character id."""
_TECHS: Final = {
    "tech_fail": "missed",
    "tech_neutral": "neutral",
    "wall_tech_success": "wall",
    "wall_tech_fail": "wall_missed",
}
_TECH_FORWARD, _TECH_BACK = 0xC8, 0xC9
_MAX_RUNS = 2 * WAVEDASH_WINDOW_FRAMES
_SINGLE = itemgetter(*("wavedash", "waveland", "air_dodge", "dash_dance", "spot_dodge", "ledgegrab", "roll", "taunt"))
_GROUPS: tuple[tuple[Any, Callable[[Mapping[str, int]], tuple[int, ...]]], ...] = tuple(
    (make, itemgetter(*(prefix + name for name in make.__struct_fields__)))
    for make, prefix in (
        (EdgeCancels, "edge_cancel_"),
        (Successes, "l_cancel_"),
        (Attacks, ""),
        (Successes, "grab_"),
        (Throws, "throw_"),
        (GroundTechs, "tech_"),
        (Successes, "wall_tech_"),
    )
)
"""How the names of counts are grouped in messages."""

Emit = Callable[..., None]
"""Adds an event of the current frame, given its kind and its values."""


class Actions(Computer):
    """Counts the actions of one player."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._runs: deque[tuple[int, int]] = deque(maxlen=_MAX_RUNS)  # action state and first frame
        self._knee_bend_y = 0.0
        self._failed: dict[str, Any] = {}
        self.due: int | None = None
        """The frame in which a waiting L-cancel has failed, or `None` if no L-cancel is waiting."""

    def begin(self, frame: int, post: Any, prev: Any, opponents: Iterable[Any], emit: Emit) -> None:
        """Count an action that begins. The Post-Frame Updates of the `opponents` tell the direction of a tech."""
        state = post.action_state_id
        runs = self._runs
        last = prev.action_state_id if runs else None
        if state != last:
            if last is not None and FLAGS[last] & LANDING:
                self._leave_landing(frame, state, last, post, emit)
            elif last == KNEE_BEND:
                self._knee_bend_y = prev.position_y
            runs.append((state, frame))
        counts = self._counts
        if state < FIRST_CHARACTER_STATE:
            name = _COUNTED.get(state)
        else:
            name = _COUNTED_OF_CHARACTER.get(post.internal_character_id, {}).get(state)
        if name is not None:
            counts[name] += 1
            if name == "ledgegrab":
                emit("ledge_grab", playerIndex=self._index)
            elif name in _TECHS:
                emit("tech", playerIndex=self._index, outcome=_TECHS[name])
        elif state == DASH:
            self._dash(frame)
        elif FLAGS[state] & LANDING:
            self._land(frame, state, post, emit)
        elif state == LANDING_SPECIAL:
            if last in (AIR_DODGE, KNEE_BEND) or last in JUMPS:
                self._slide(frame, post)
        elif state in (_TECH_FORWARD, _TECH_BACK):
            self._roll_tech(state, post, opponents, emit)
        if last in (GRAB, DASH_GRAB):
            grabbed = GRAB < state <= LAST_GRAB and state != DASH_GRAB
            counts["grab_success" if grabbed else "grab_fail"] += 1
        if last == DASH_ATTACK and state == DASH_GRAB:
            counts["dash"] -= 1

    def fail(self, emit: Emit) -> None:
        """If an L-cancel is waiting, it has failed: its landing is too long for an edge cancel, or the game is over."""
        if self.due is not None:
            self.due = None
            emit("lcancel", **self._failed)

    def _dash(self, frame: int) -> None:
        runs = self._runs
        if len(runs) > 2 and runs[-2] == (TURN, frame - 1) and runs[-3][0] == DASH and runs[-1][1] == frame:
            self._counts["dash_dance"] += 1

    def _land(self, frame: int, state: int, post: Any, emit: Emit) -> None:
        status = post.l_cancel_status
        if status not in (1, 2):
            return
        self.fail(emit)
        values = {"playerIndex": self._index, "success": status == 1, "actionStateId": state}
        self._counts["l_cancel_success" if status == 1 else "l_cancel_fail"] += 1
        if status == 1:
            emit("lcancel", **values)
            return
        self._failed = values
        lag = landing_lag_frames(post.internal_character_id)
        self.due = frame if lag is None else self._runs[-1][1] + lag[state - FIRST_LANDING] // 2
        if frame >= self.due:
            self.fail(emit)

    def _leave_landing(self, frame: int, state: int, last: int, post: Any, emit: Emit) -> None:
        lag = landing_lag_frames(post.internal_character_id)
        if lag is not None and state in (FALL, TEETER):
            full = lag[last - FIRST_LANDING]
            lasted = frame - self._runs[-1][1]
            if lasted < full // 2:
                self._counts["edge_cancel_success"] += 1
            elif lasted < full:
                self._counts["edge_cancel_slow"] += 1
            if self.due is not None and lasted <= full // 2:
                self._counts["l_cancel_fail"] -= 1
                self.due = None
        self.fail(emit)

    def _slide(self, frame: int, post: Any) -> None:
        first = frame - WAVEDASH_WINDOW_FRAMES + 1
        states: set[int] = set()
        jump_frames = 0
        until = frame + 1
        for state, begin in reversed(self._runs):
            states.add(state)
            if state in JUMPS:
                jump_frames += until - max(begin, first)
            until = begin
            if begin <= first:
                break
        dodged = AIR_DODGE in states
        if dodged and len(states) == 2:
            return
        counts = self._counts
        if dodged:
            counts["air_dodge"] -= 1
        high = jump_frames >= WAVELAND_JUMP_FRAMES and abs(post.position_y - self._knee_bend_y) > WAVELAND_HEIGHT
        counts["wavedash" if KNEE_BEND in states and not high else "waveland"] += 1

    def _roll_tech(self, state: int, post: Any, opponents: Iterable[Any], emit: Emit) -> None:
        x = post.position_x
        nearest = min((other.position_x - x for other in opponents), key=abs, default=0.0)
        towards = post.facing_direction == (1 if nearest > 0 else -1)
        inward = towards == (state == _TECH_FORWARD)
        self._counts["tech_in_" if inward else "tech_away"] += 1
        emit("tech", playerIndex=self._index, outcome="in" if inward else "away")

    def summary(self) -> ActionCounts:
        """Return the counts as slippi-js's `ActionCountsType`."""
        groups = [make(*values(self._counts)) for make, values in _GROUPS]
        return ActionCounts(self._index, *_SINGLE(self._counts), *groups)
