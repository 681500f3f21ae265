"""Our columns compared with peppi-py 0.8.6 (Rust), field by field, on every replay that it can read.

peppi-py is run as a black box. Its arrays have an entry for each sending, like our `sendings`, and nulls where a
character has no event.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slpstream.formats.slippi.columns import EventColumns
from slpstream.formats.slippi.whole_game import WholeGame
from tests.project import IN_CI
from tests.replays import NOT_REPLAYS, replays

pytestmark = pytest.mark.skipif(
    find_spec("peppi_py") is None and (not IN_CI or sys.version_info >= (3, 14)),
    reason="peppi-py is not installed (`uv run --group peers`); no release of it runs on Python 3.14",
)

CANNOT_READ: Mapping[str, str] = {
    "BTTDK": "invalid game end method: 6",
    "FodPlatforms": "failed to fill whole buffer",
    "Whispy": "failed to fill whole buffer",
    "corrupt": "failed to fill whole buffer",
    "homeRun_jp": "invalid game end method: 9",
    "incomplete": "failed to fill whole buffer",
    **dict.fromkeys(
        (*NOT_REPLAYS, "slippc__crashes__crash7", "slippi-js__itemExport", "slippi-js__test__test_e8309d"), "."
    ),
    "Slippipedia__replays__fox-pika-crashing": "failed to fill whole buffer",
    "slippc__corrupt__corrupt-commandbytes": "failed to fill whole buffer",
    "slippi-js__gameModeTest__Home-Run-Contest": "invalid game end method: 9",
    "slippi-js__placementsTest__ffa_1p2p_winner_2p_fef9f5": "Invalid player placement 17",
    "slippi-js__timer_increasing": "invalid game end method: 6",
    **dict.fromkeys(("crashed_2.1", "crashed_3.18"), "failed to fill whole buffer"),
    **dict.fromkeys(("in_progress_2.2", "in_progress_3.18", "short_pre_frames_3.17"), "failed to fill whole buffer"),
    **dict.fromkeys(("rollbacks_3.0", "items_3.2", "gecko_3.3"), "at least one field"),
    **dict.fromkeys(("ice_climbers_3.5", "lost_game_end_3.6"), "at least one field"),
    **dict.fromkeys(("stamina_3.18", "home_run_3.18"), "zero-size event payload"),
    **dict.fromkeys(("time_mode_3.18", "teams_time_mode_3.18"), "zero-size event payload"),
}
"""Replays that peppi-py 0.8.6 refuses, with its message. We read all that are replays, except one of an alpha version.

It wants a raw length, a field in the Frame Bookend, which has none before 3.7, and a Gecko List in 3.18.
"""

SHIFTED = {"doubles", "sheik_vs_ics_yoshis"}
"""Replays in which a character is absent for a while, and peppi-py 0.8.6 puts the nulls at the end: values are in the
rows of earlier frames (`doubles` from row 7878, `sheik_vs_ics_yoshis` from row 3266). In `ics2`, where a follower is
absent for a while, the rows are right."""

PRE: Mapping[str, str] = {
    "random_seed": "seed",
    "state": "action_state_id",
    "position.x": "position_x",
    "position.y": "position_y",
    "direction": "facing_direction",
    "joystick.x": "joystick_x",
    "joystick.y": "joystick_y",
    "cstick.x": "c_stick_x",
    "cstick.y": "c_stick_y",
    "triggers": "trigger",
    "buttons": "buttons",
    "buttons_physical": "physical_buttons",
    "triggers_physical.l": "physical_l_trigger",
    "triggers_physical.r": "physical_r_trigger",
    "raw_analog_x": "raw_joystick_x",
    "percent": "percent",
    "raw_analog_y": "raw_joystick_y",
}
POST: Mapping[str, str] = {
    "character": "internal_character_id",
    "state": "action_state_id",
    "position.x": "position_x",
    "position.y": "position_y",
    "direction": "facing_direction",
    "percent": "percent",
    "shield": "shield_size",
    "last_attack_landed": "last_attack_landed",
    "combo_count": "current_combo_count",
    "last_hit_by": "last_hit_by",
    "stocks": "stocks_remaining",
    "state_age": "action_state_counter",
    **{f"state_flags.{n}": f"state_flags_{n + 1}" for n in range(5)},
    "misc_as": "misc_action_state",
    "airborne": "is_airborne",
    "ground": "last_ground_id",
    "jumps": "jumps_remaining",
    "l_cancel": "l_cancel_status",
    "hurtbox_state": "hurtbox_collision_state",
    "velocities.self_x_air": "self_induced_speeds.air_x",
    "velocities.self_y": "self_induced_speeds.y",
    "velocities.knockback_x": "self_induced_speeds.attack_x",
    "velocities.knockback_y": "self_induced_speeds.attack_y",
    "velocities.self_x_ground": "self_induced_speeds.ground_x",
    "hitlag": "hitlag_remaining",
    "animation_index": "animation_index",
}
NOT_IN_PEPPI = {
    "frame",
    "player_index",
    "is_follower",
    "raw_c_stick_x",
    "raw_c_stick_y",
    "instance_hit_by",
    "instance_id",
}
"""Fields that peppi-py 0.8.6 does not have."""


def theirs(data: Any, name: str) -> Any:
    """An array of peppi by its dotted name; `None` if it does not exist."""
    for part in name.split("."):
        if data is None:
            return None
        data = data[int(part)] if part.isdigit() else getattr(data, part)
    return data


def differences(
    ours: EventColumns, peppi: Any, names: Mapping[str, str], where: str, *, shifted: bool
) -> Iterator[str]:
    """The fields that differ, with the row of the first difference, and those that only one of the two has."""
    for peppi_name, name in names.items():
        array = theirs(peppi, peppi_name)
        if (array is None) != (name not in ours.fields):
            yield f"{where} {name}: only one of the two has it"
        elif array is not None:
            rows = np.arange(int(ours.present.sum())) if shifted else np.flatnonzero(ours.present)
            values = array.to_numpy(zero_copy_only=False)[rows]
            wrong = np.flatnonzero(~np.isclose(ours[name][ours.present], values, rtol=0, atol=0, equal_nan=True))
            if len(wrong) or array.null_count != len(array) - len(rows):
                yield f"{where} {name}: {len(wrong)} differ, first at {wrong[:1]}; {array.null_count} nulls"
    left = set(ours.fields) - set(names.values()) - NOT_IN_PEPPI
    if left:
        yield f"{where}: not compared: {sorted(left)}"


@pytest.mark.parametrize("path", replays(), ids=lambda path: path.stem)
def test_every_field_of_every_frame(path: Path) -> None:
    import peppi_py

    if path.stem in CANNOT_READ:
        with pytest.raises(BaseException, match=CANNOT_READ[path.stem]):  # a Rust panic is not an Exception
            peppi_py.read_slippi(str(path))
        return
    game = peppi_py.read_slippi(str(path))
    ours = WholeGame(path.read_bytes()).frames.sendings
    assert ours.number.tolist() == game.frames.id.to_pylist()
    assert [player.port for player in game.start.players] == sorted(ours.players)
    found: list[str] = []
    shifted = path.stem in SHIFTED
    for player, port in zip(game.start.players, game.frames.ports, strict=True):
        for side, data in ((ours.players, port.leader), (ours.followers, port.follower)):
            character = side.get(player.port)
            assert (character is None) == (data is None)
            if character is not None and data is not None:
                found += differences(character.pre, data.pre, PRE, f"{character!r} pre", shifted=shifted)
                found += differences(character.post, data.post, POST, f"{character!r} post", shifted=shifted)
    assert found == []
