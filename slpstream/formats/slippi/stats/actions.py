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

from collections.abc import Mapping
from typing import Any, Final

from slpstream.formats.slippi.commands import LEDGE_CATCH
from slpstream.formats.slippi.names import landing_lag_frames
from slpstream.formats.slippi.stats.schema import ActionCounts, Attacks, EdgeCancels, GroundTechs, Successes, Throws
from slpstream.formats.slippi.stats.states import (
    AIR_DODGE,
    DASH,
    DASH_ATTACK,
    DASH_GRAB,
    FALL,
    FIRST_CHARACTER_STATE,
    FIRST_LANDING,
    FLAGS,
    GRAB,
    JUMPS,
    KNEE_BEND,
    LANDING,
    LANDING_SPECIAL,
    LAST_GRAB,
    TEETER,
    TURN,
)

WAVEDASH_WINDOW_FRAMES = 15
WAVELAND_JUMP_FRAMES = 5
WAVELAND_HEIGHT = 0.1

_ATTACKS = Attacks.__struct_fields__
_SINGLE = ("wavedash", "waveland", "air_dodge", "dash_dance", "spot_dodge", "ledgegrab", "roll", "taunt")
_SLOTS: Final = {
    name: slot
    for slot, name in enumerate(
        (
            *_SINGLE,
            *("edge_success", "edge_slow", "l_success", "l_fail", "grab_success", "grab_fail"),
            *(f"throw_{name}" for name in Throws.__struct_fields__),
            *(f"tech_{name}" for name in ("away", "in", "neutral", "fail")),
            *("wall_success", "wall_fail"),
            *_ATTACKS,
        )
    )
}
_WAVEDASH, _WAVELAND, _AIR_DODGES, _DASH_DANCE = (_SLOTS[name] for name in _SINGLE[:4])
_EDGE_SUCCESS, _EDGE_SLOW, _L_SUCCESS, _L_FAIL = range(8, 12)
_GRAB_SUCCESS, _GRAB_FAIL = 12, 13
_AWAY, _IN = _SLOTS["tech_away"], _SLOTS["tech_in"]
_DASH_ATTACKS = _SLOTS["dash"]

_NONE = -1
_COUNTED: Final[Mapping[str, tuple[int, ...]]] = {
    "roll": (0xE9, 0xEA),
    "spot_dodge": (0xEB,),
    "air_dodge": (AIR_DODGE,),
    "ledgegrab": (LEDGE_CATCH,),
    "taunt": (0x108, 0x109),
    "throw_forward": (0xDB,),
    "throw_back": (0xDC,),
    "throw_up": (0xDD,),
    "throw_down": (0xDE,),
    "tech_fail": (0xB7, 0xBF),
    "tech_neutral": (0xC7,),
    "wall_success": (0xCA,),
    "wall_fail": (0xF7,),
    "jab1": (0x2C,),
    "jab2": (0x2D,),
    "jab3": (0x2E,),
    "jabm": (0x2F,),
    "dash": (DASH_ATTACK,),
    "ftilt": tuple(range(0x33, 0x38)),
    "utilt": (0x38,),
    "dtilt": (0x39,),
    "fsmash": tuple(range(0x3A, 0x3F)),
    "usmash": (0x3F,),
    "dsmash": (0x40,),
    "nair": (0x41,),
    "fair": (0x42,),
    "bair": (0x43,),
    "uair": (0x44,),
    "dair": (0x45,),
}
"""States that count whenever they begin, for all characters."""
_CHARACTER_COUNTED: Final[Mapping[int, Mapping[str, tuple[int, ...]]]] = {
    0x18: {
        "jab1": (0x155,),
        "jabm": (0x156,),
        "dtilt": (0x159,),
        "fsmash": (0x15A,),
        "nair": (0x15B,),
        "bair": (0x15C,),
        "uair": (0x15D,),
    },
    0x09: {"fsmash": (0x15D, 0x15E, 0x15F)},
}
"""The same for character-specific states, by internal character id: Mr. Game & Watch, Peach."""


def _slots_by_state(counted: Mapping[str, tuple[int, ...]]) -> dict[int, int]:
    return {state: _SLOTS[name] for name, states in counted.items() for state in states}


_SLOT_OF: Final = _slots_by_state(_COUNTED)
_CHARACTER_SLOT_OF: Final = {character: _slots_by_state(counted) for character, counted in _CHARACTER_COUNTED.items()}
_LEDGE, _TECH = (
    _SLOTS["ledgegrab"],
    {
        _SLOTS["tech_fail"]: "missed",
        _SLOTS["tech_neutral"]: "neutral",
        _SLOTS["wall_success"]: "wall",
        _SLOTS["wall_fail"]: "wall_missed",
    },
)
_TECH_FORWARD, _TECH_BACK = 0xC8, 0xC9
_MIN_RUNS = 2 * WAVEDASH_WINDOW_FRAMES

ActionEvent = tuple[str, dict[str, Any]]
"""Kind and payload of a game event."""


class Actions:
    """Counts the actions of one player."""

    __slots__ = ("_failed", "_knee_bend_y", "_runs", "counts", "due", "index")

    def __init__(self, index: int) -> None:
        self.index = index
        self.counts = [0] * len(_SLOTS)
        self._runs: list[tuple[int, int]] = []  # action state and first frame
        self._knee_bend_y = 0.0
        self._failed: dict[str, Any] | None = None
        self.due: int | None = None
        """The frame in which a waiting L-cancel has failed, or `None` if no L-cancel is waiting."""

    def copy(self) -> Actions:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        twin = Actions(self.index)
        twin.counts = list(self.counts)
        twin._runs = list(self._runs)
        twin._knee_bend_y = self._knee_bend_y
        twin._failed = self._failed
        twin.due = self.due
        return twin

    def begin(self, frame: int, post: Any, prev: Any, opponents: list[Any]) -> list[ActionEvent]:
        """Count an action that begins.

        To find out the direction of a tech, we need the Post-Frame Updates of the `opponents`.
        """
        events: list[ActionEvent] = []
        state = post.action_state_id
        runs = self._runs
        last = prev.action_state_id if runs else _NONE
        if state != last:
            if runs:
                if FLAGS[last] & LANDING:
                    self._leave_landing(frame, state, last, post, events)
                elif last == KNEE_BEND:
                    self._knee_bend_y = prev.position_y
            runs.append((state, frame))
            if len(runs) > 2 * _MIN_RUNS:
                del runs[:_MIN_RUNS]
        counts = self.counts
        slot = _SLOT_OF.get(state, _NONE)
        if slot >= 0:
            counts[slot] += 1
            if slot == _LEDGE:
                events.append(("ledge_grab", {"playerIndex": self.index}))
            elif slot in _TECH:
                events.append(("tech", {"playerIndex": self.index, "outcome": _TECH[slot]}))
        elif state >= FIRST_CHARACTER_STATE:
            slots = _CHARACTER_SLOT_OF.get(post.internal_character_id)
            if slots is not None and state in slots:
                counts[slots[state]] += 1
        elif state == DASH:
            self._dash(frame)
        elif FLAGS[state] & LANDING:
            self._land(frame, state, post, events)
        elif state == LANDING_SPECIAL:
            if last in (AIR_DODGE, KNEE_BEND) or last in JUMPS:
                self._slide(frame, post)
        elif state in (_TECH_FORWARD, _TECH_BACK):
            self._roll_tech(state, post, opponents, events)
        if last in (GRAB, DASH_GRAB):
            grabbed = GRAB < state <= LAST_GRAB and state != DASH_GRAB
            counts[_GRAB_SUCCESS if grabbed else _GRAB_FAIL] += 1
        if last == DASH_ATTACK and state == DASH_GRAB:
            counts[_DASH_ATTACKS] -= 1
        return events

    def fail(self) -> ActionEvent:
        """Return the event of the L-cancel that was waiting.

        It has failed, because the landing is too long for an edge cancel.
        """
        values = self._failed or {}
        self._failed = self.due = None
        return "lcancel", values

    def finish(self) -> ActionEvent | None:
        """End the game. If an L-cancel is still waiting, this means that it has failed."""
        return None if self._failed is None else self.fail()

    def _dash(self, frame: int) -> None:
        runs = self._runs
        if len(runs) > 2 and runs[-2] == (TURN, frame - 1) and runs[-3][0] == DASH and runs[-1][1] == frame:
            self.counts[_DASH_DANCE] += 1

    def _land(self, frame: int, state: int, post: Any, events: list[ActionEvent]) -> None:
        status = post.l_cancel_status
        if status not in (1, 2):
            return
        if self._failed is not None:
            events.append(self.fail())
        values = {"playerIndex": self.index, "success": status == 1, "actionStateId": state}
        self.counts[_L_SUCCESS if status == 1 else _L_FAIL] += 1
        if status == 1:
            events.append(("lcancel", values))
            return
        self._failed = values
        lag = landing_lag_frames(post.internal_character_id)
        self.due = frame if lag is None else self._runs[-1][1] + lag[state - FIRST_LANDING] // 2
        if frame >= self.due:
            events.append(self.fail())

    def _leave_landing(self, frame: int, state: int, last: int, post: Any, events: list[ActionEvent]) -> None:
        lag = landing_lag_frames(post.internal_character_id)
        if lag is not None and state in (FALL, TEETER):
            full = lag[last - FIRST_LANDING]
            lasted = frame - self._runs[-1][1]
            if lasted < full // 2:
                self.counts[_EDGE_SUCCESS] += 1
            elif lasted < full:
                self.counts[_EDGE_SLOW] += 1
            if self._failed is not None and lasted <= full // 2:
                self.counts[_L_FAIL] -= 1
                self._failed = self.due = None
        if self._failed is not None:
            events.append(self.fail())

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
        counts = self.counts
        if dodged:
            counts[_AIR_DODGES] -= 1
        high = jump_frames >= WAVELAND_JUMP_FRAMES and abs(post.position_y - self._knee_bend_y) > WAVELAND_HEIGHT
        counts[_WAVEDASH if KNEE_BEND in states and not high else _WAVELAND] += 1

    def _roll_tech(self, state: int, post: Any, opponents: list[Any], events: list[ActionEvent]) -> None:
        x = post.position_x
        nearest = min((other.position_x - x for other in opponents), key=abs, default=0.0)
        towards = post.facing_direction == (1 if nearest > 0 else -1)
        inward = towards == (state == _TECH_FORWARD)
        self.counts[_IN if inward else _AWAY] += 1
        events.append(("tech", {"playerIndex": self.index, "outcome": "in" if inward else "away"}))

    def summary(self) -> ActionCounts:
        """Return the counts as slippi-js's `ActionCountsType`."""
        c = self.counts
        return ActionCounts(
            self.index,
            *(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]),
            EdgeCancels(c[8], c[9]),
            Successes(c[10], c[11]),
            Attacks(*c[-len(_ATTACKS) :]),
            Successes(c[12], c[13]),
            Throws(*c[14:18]),
            GroundTechs(away=c[18], in_=c[19], neutral=c[20], fail=c[21]),
            Successes(c[22], c[23]),
        )
