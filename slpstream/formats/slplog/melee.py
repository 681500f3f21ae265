"""The inputs of a Slippi replay as pads: what each player did, frame by frame, without what the game made of it.

Buttons are the physical ones, sticks the processed ones (what the game plays with), triggers the physical ones. A value
is a step of the controller's grid; one that is no step is kept beyond them with all its bits, so a track
loses nothing of these fields. Of a frame that was sent again the last sending counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from slpstream.formats.slippi.commands import PRE_FRAME
from slpstream.formats.slippi.container import HEADER_BYTES, check_magic
from slpstream.formats.slippi.framing import read_event_payloads, width_of_event_payloads
from slpstream.formats.slplog.pads import Axes, Held, Pad, held
from slpstream.formats.slplog.predict import STICK_GRID, TRIGGER_GRID

_WRAP = 1 << 33
_ESCAPED_FROM = 256
_LOWEST_STEP = -128
_AXES = (
    ("joystick_x", STICK_GRID),
    ("joystick_y", STICK_GRID),
    ("c_stick_x", STICK_GRID),
    ("c_stick_y", STICK_GRID),
    ("physical_l_trigger", TRIGGER_GRID),
    ("physical_r_trigger", TRIGGER_GRID),
)
MELEE_PAD = Pad(16, (_WRAP,) * len(_AXES))
"""Axes: joystick x, y; C-stick x, y; left and right trigger."""


def melee_pads(data: bytes) -> Mapping[int, list[Held]]:
    """Of each player index the runs of a whole Slippi replay, from its first frame on; followers have none.

    Raises `FormatError` for a file that does not begin like a replay; one that breaks off gives what it has.
    """
    check_magic(data)
    width = width_of_event_payloads(data, HEADER_BYTES, HEADER_BYTES)
    past = HEADER_BYTES + (width or len(data))
    widths = read_event_payloads(data[HEADER_BYTES:past]).widths
    layout = PRE_FRAME.layout(max(0, widths[PRE_FRAME.command] - 1))
    at_of = {field.name: field.offset for field in layout.fields}
    if not {"physical_buttons", *(name for name, _ in _AXES)} <= at_of.keys():
        return {}
    places = [(at_of[name], grid.step_of) for name, grid in _AXES]
    buttons_at = at_of["physical_buttons"]
    found: dict[int, dict[int, tuple[int, Axes]]] = {}
    at, size = past, len(data)
    while at < size:
        command = data[at]
        step = widths[command]
        if not step or at + step > size:
            break
        if command == PRE_FRAME.command and not data[at + 6]:
            frame = int.from_bytes(data[at + 1 : at + 5], "big", signed=True)
            axes = []
            for offset, steps in places:
                pattern = int.from_bytes(data[at + offset : at + offset + 4], "big")
                axes.append(_axis(pattern, steps.get(pattern)))
            buttons = int.from_bytes(data[at + buttons_at : at + buttons_at + 2], "big")
            found.setdefault(data[at + 5], {})[frame] = buttons, tuple(axes)
        at += step
    return {player: list(held(states[frame] for frame in sorted(states))) for player, states in found.items()}


def _axis(pattern: int, step: int | None) -> int:
    return _ESCAPED_FROM + pattern if step is None else step % _WRAP


def axis_pattern(axis: int, value: int) -> int:
    """The bits of the float that a value of an axis (0 to 5) stands for: the mirror of what `melee_pads` does."""
    if _ESCAPED_FROM <= value < _WRAP + _LOWEST_STEP:
        return value - _ESCAPED_FROM
    return _AXES[axis][1].patterns[value & 0xFF]
