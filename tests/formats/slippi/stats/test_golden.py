"""The stats of own games of every kind, compared with reviewed golden values.

`python -m tests.formats.slippi.stats.test_golden` rewrites them; review the difference.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.formats.slippi.stats.games import Json, differences, events_of, result_of

GOLDEN = Path(__file__).with_name("golden.json")
GAMES = (
    "singles_0.1", "doubles_1.2", "free_for_all_1.0", "time_mode_2.0", "rollbacks_3.0", "ice_climbers_3.5",
    "pauses_3.18", "lost_game_end_3.18", "crashed_3.18", "doubles_3.18", "duplicate_game_end_3.18", "items_3.18",
    "rollbacks_3.18", "singles_3.8", "stadium_3.19", "stamina_3.18", "sudden_death_3.12", "teams_time_mode_3.18",
)  # fmt: skip


def found(name: str) -> Json:
    """The last stats of a game, and the number of events of each kind."""
    stats, emitted = result_of(name)
    kinds = Counter(event.kind for event in events_of(emitted))
    document: Json = msgspec.json.decode(msgspec.json.encode({"events": dict(sorted(kinds.items())), "stats": stats}))
    return document


@pytest.mark.parametrize("name", GAMES)
def test_stats(name: str) -> None:
    golden = msgspec.json.decode(GOLDEN.read_bytes())
    assert sorted(golden) == sorted(GAMES)
    assert list(differences(golden[name], found(name))) == []


def main() -> None:
    lines = [f'"{name}":{{\n' + ",\n".join(_members(found(name))) + "\n}" for name in GAMES]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _members(document: Json) -> list[str]:
    """A line for the events and for each member of the stats, so that a difference can be read."""
    stats = ",\n  ".join(f'"{key}":{msgspec.json.encode(value).decode()}' for key, value in document["stats"].items())
    return [f' "events":{msgspec.json.encode(document["events"]).decode()}', f' "stats":{{\n  {stats}}}']


if __name__ == "__main__":
    main()
