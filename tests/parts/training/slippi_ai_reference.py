"""The steps of slippi-ai's `parse_local` from the facts page, over peppi-py-vladfi, the parser that slippi-ai uses.

Run as a program: `python slippi_ai_reference.py OUT REPLAY...` writes OUT/NAME.npz with one array per leaf. It needs a
separate process, because peppi-py and peppi-py-vladfi install the same module. It shares no code with slpstream.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

BUTTONS = {"A": 0x100, "B": 0x200, "X": 0x400, "Y": 0x800, "Z": 0x10, "L": 0x40, "R": 0x20, "D_UP": 0x8}
STAGES = {2: 8, 3: 18, 8: 6, 28: 26, 31: 24, 32: 25}
ITEMS = 15


def numbers(column: Any, count: int, kind: Any) -> Any:
    """A column as numpy; zeros if the replay lacks it or the character is absent."""
    if column is None:
        return np.zeros(count, kind)
    if not column.null_count:
        return column.to_numpy().astype(kind, copy=False)
    return np.nan_to_num(column.to_numpy(zero_copy_only=False)).astype(kind)


def fighter(post: Any, present: Any) -> dict[str, Any]:
    """The common fields of a player and a follower."""
    n = len(present)
    values = {
        "percent": numbers(post.percent, n, np.float32).astype(np.uint16),
        "facing": numbers(post.direction, n, np.float32) > 0,
        "x": numbers(post.position.x, n, np.float32),
        "y": numbers(post.position.y, n, np.float32),
        "action": numbers(post.state, n, np.uint16),
        "invulnerable": numbers(post.hurtbox_state, n, np.uint8) != 0,
        "character": numbers(post.character, n, np.uint8),
        "jumps_left": numbers(post.jumps, n, np.uint8),
        "shield_strength": numbers(post.shield, n, np.float32),
        "on_ground": numbers(post.airborne, n, np.uint8) == 0,
    }
    return {name: np.where(present, value, np.zeros(1, value.dtype)) for name, value in values.items()}


def leaves(path: Path) -> dict[str, Any]:
    """The arrays of all leaves of `root`, by their paths."""
    import peppi_py
    from peppi_py import RollbackMode

    game = peppi_py.read_slippi(str(path), rollback_mode=RollbackMode.FIRST)
    frames = game.frames
    n = len(frames.id)
    found: dict[str, Any] = {"stage": np.full(n, STAGES.get(game.start.stage, 0), np.uint8)}
    for p, port in zip(("p0", "p1"), frames.ports, strict=True):
        everywhere = np.ones(n, bool)
        for name, value in fighter(port.leader.post, everywhere).items():
            found[f"{p}.{name}"] = value
        pre = port.leader.pre
        for stick, source in (("main_stick", pre.joystick), ("c_stick", pre.cstick)):
            for axis in ("x", "y"):
                values = numbers(getattr(source, axis), n, np.float32)
                found[f"{p}.controller.{stick}.{axis}"] = values / np.float32(2) + np.float32(0.5)
        found[f"{p}.controller.shoulder"] = numbers(pre.triggers, n, np.float32)
        pressed = numbers(pre.buttons, n, np.uint32)
        for name, bit in BUTTONS.items():
            found[f"{p}.controller.buttons.{name}"] = pressed & bit != 0
        follower = port.follower
        present = np.zeros(n, bool)
        if follower is not None:
            present = np.asarray(follower.post.state.is_valid().to_numpy(zero_copy_only=False))
        source = port.leader if follower is None else follower
        found[f"{p}.nana.exists"] = present
        for name, value in fighter(source.post, present).items():
            found[f"{p}.nana.{name}"] = value
    found |= items(frames.items, n)
    return found


def items(column: Any, n: int) -> dict[str, Any]:
    """Items in slots: an item keeps its slot while it lives, and the slot freed last is taken first."""
    kinds = {"exists": bool, "type": np.uint16, "state": np.uint8, "x": np.float32, "y": np.float32}
    found = {f"items.item_{slot}.{name}": np.zeros(n, kind) for slot in range(ITEMS) for name, kind in kinds.items()}
    if column is None:
        return found
    ids, ends = column.id.flatten().to_pylist(), column.id.offsets.to_pylist()
    free: list[int] = list(range(ITEMS))[::-1]
    taken: dict[int, int] = {}
    slots, rows = [], []
    for row in range(n):
        here = ids[ends[row] : ends[row + 1]]
        free += [taken.pop(gone) for gone in list(taken) if gone not in here]
        for item in here:
            if item not in taken and free:
                taken[item] = free.pop()
            slots.append(taken.get(item, -1))
            rows.append(row)
    by_slot, by_row = np.array(slots, int), np.array(rows, int)
    values = {"type": column.type, "state": column.state, "x": column.position.x, "y": column.position.y}
    flat = {name: values[name].flatten().to_numpy(zero_copy_only=False) for name in values}
    for slot in set(slots) - {-1}:
        mine = by_slot == slot
        found[f"items.item_{slot}.exists"][by_row[mine]] = True
        for name, value in flat.items():
            found[f"items.item_{slot}.{name}"][by_row[mine]] = value[mine]
    return found


if __name__ == "__main__":
    for argument in sys.argv[2:]:
        try:
            arrays = leaves(Path(argument))
        except BaseException as error:  # noqa: BLE001 -- its panics are no Exceptions; what it refuses is not compared
            print(f"{Path(argument).name}: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr)
            continue
        np.savez(Path(sys.argv[1]) / f"{Path(argument).stem}.npz", **arrays)
