"""Record the project's own replays: `python -m tests.replays.record [NAME...]`.

Writes `tests/replays/own/*.slplog`. The replays in them are equal on every machine, which a test checks; the
compressed bytes can differ between versions of liblzma.

A name ends with the version. Each version that changes the layout of an event has a replay, and 3.18 has each kind of
game.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from slpstream.formats.slippi.commands import FRAME_BOOKEND, GAME_END, PRE_FRAME
from slpstream.formats.slippi.container import HEADER_BYTES, header
from slpstream.formats.slippi.framing import read_event_payloads, walk_events
from slpstream.formats.slippi.result import GAME
from slpstream.formats.slplog.writer import MAX_KEYFRAME_FRAMES, pack
from tests.formats.slippi.timed_game import STOCK_MODE, TimedGame
from tests.formats.slippi.writer import SPLITTER_SINCE, sizes_at
from tests.replays import FOLDER
from tests.synthetic.match import synthetic_match
from tests.synthetic.roster import FALCO, FALCON, FOX, MARTH, POPO, SHEIK, ZELDA
from tests.synthetic.stages import DREAM_LAND, FINAL_DESTINATION, FOUNTAIN_OF_DREAMS, POKEMON_STADIUM

V18 = (3, 18, 0)
UNKNOWN_COMMAND = 0x50
GECKO_LIST_BYTES = 38 * 32
HOME_RUN_STAGE, HOME_RUN_SCENE, HOME_RUN_END = 0x54, 0x20, 9
RANKED: Mapping[str, Any] = {
    "session_id": "mode.ranked-2025-02-03T04:05:00.00-0",
    "game_number": 3,
    "tiebreaker_number": 1,
}
ODD_NAMES = (("ポポ＆ナナ", "POPO#0", "ナナ"), ("a b<&>", "A#999999", "A&<>"))


def match(version: tuple[int, int, int], frames: int = 420, **options: Any) -> bytes:
    """A synthetic match; by default the losing player quits after seven seconds."""
    return synthetic_match(version=version, frames=frames, gecko=version >= SPLITTER_SINCE, **options)


def without_game_end(data: bytes) -> bytes:
    """The replay of a game whose Game End was lost, closed as usual."""
    raw, metadata = _parts(data)
    end = raw.rindex(bytes([GAME_END.command]))
    return _joined(raw[:end], metadata)


def with_second_game_end(data: bytes) -> bytes:
    """The replay with its Game End twice."""
    raw, metadata = _parts(data)
    end = raw.rindex(bytes([GAME_END.command]))
    return _joined(raw + raw[end:], metadata)


def with_unknown_event(data: bytes) -> bytes:
    """The replay with an event of an undocumented command before each Frame Bookend."""
    raw, metadata = _parts(data)
    payloads = 1 + raw[1]
    declared = raw[2:payloads] + bytes([UNKNOWN_COMMAND, 0, 6])
    widths = read_event_payloads(raw[:payloads]).widths
    parts = [bytes([raw[0], len(declared) + 1]), declared]
    for command, start, end in walk_events(raw, payloads, len(raw), widths):
        if command == FRAME_BOOKEND.command:
            parts.append(bytes([UNKNOWN_COMMAND]) + raw[start + 1 : start + 5] + b"\x12\x34")
        parts.append(raw[start:end])
    return _joined(b"".join(parts), metadata)


def crashed(data: bytes) -> bytes:
    """The first bytes of a game in progress, up to the middle of an event."""
    return data[: len(data) - 45]


def _parts(data: bytes) -> tuple[bytes, bytes]:
    """The raw array, and the bytes after it."""
    end = HEADER_BYTES + int.from_bytes(data[HEADER_BYTES - 4 : HEADER_BYTES])
    return data[HEADER_BYTES:end], data[end:]


def _joined(raw: bytes, rest: bytes) -> bytes:
    return header(len(raw)) + raw + rest


def _short_pre_frames() -> bytes:
    sizes = sizes_at(V18, gecko_list_bytes=GECKO_LIST_BYTES)
    sizes[PRE_FRAME.command] = sizes_at((3, 15, 0))[PRE_FRAME.command]
    return match((3, 17, 0), stage_id=FOUNTAIN_OF_DREAMS, sizes=sizes)


def _time_mode(version: tuple[int, int, int]) -> bytes:
    game = TimedGame(players=3, stocks=0, version=version)
    return game.fall(1, by=0).fall(2).fall(1, by=0).end(placements=(0, 2, 1))


def _teams_time_mode() -> bytes:
    game = TimedGame(players=4, teams=(0, 1, 0, 1), stocks=0)
    return game.fall(1, by=0).fall(2, by=3).end(placements=(0, 0, 2, 2))


def _stamina() -> bytes:
    game = TimedGame(mode=STOCK_MODE, stamina=True, stocks=1)
    return game.fall(0, by=1).lose_stock(0).stand().end(placements=(1, 0), method=GAME)


def _home_run() -> bytes:
    game = TimedGame(players=1, stocks=0, stage_id=HOME_RUN_STAGE, major_scene=HOME_RUN_SCENE, minor_scene=1)
    return game.stand(120).end(placements=(0,), method=HOME_RUN_END)


OWN: Mapping[str, Callable[[], bytes]] = {
    "singles_0.1": partial(match, (0, 1, 0), seed=3, stage_id=FINAL_DESTINATION),
    "quit_0.2": partial(match, (0, 2, 0), seed=4, characters=(FALCO, MARTH), stage_id=DREAM_LAND),
    "free_for_all_1.0": partial(match, (1, 0, 0), seed=5, players=4),
    "doubles_1.2": partial(match, (1, 2, 0), seed=6, players=4, teams=True, stocks=2),
    "name_tags_1.3": partial(match, (1, 3, 0), seed=7, names=ODD_NAMES, stage_id=FINAL_DESTINATION),
    "timeout_1.4": partial(match, (1, 4, 0), 900, seed=8, time_limit_seconds=6),
    "pal_1.5": partial(match, (1, 5, 0), seed=9, is_pal=True, language=0),
    "time_mode_2.0": partial(_time_mode, (2, 0, 0)),
    "crashed_2.1": lambda: crashed(match((2, 1, 0), seed=10, ended=False)),
    "in_progress_2.2": partial(match, (2, 2, 0), seed=11, ended=False),
    "rollbacks_3.0": partial(match, (3, 0, 0), seed=12, rollbacks=True, items=True),
    "items_3.2": partial(match, (3, 2, 0), seed=13, items=True),
    "gecko_3.3": partial(match, (3, 3, 0), seed=14, items=True),
    "ice_climbers_3.5": partial(match, (3, 5, 0), seed=15, followers=True, stage_id=FINAL_DESTINATION),
    "lost_game_end_3.6": lambda: without_game_end(match((3, 6, 0), seed=16, items=True)),
    "rollbacks_items_3.7": partial(match, (3, 7, 0), seed=17, rollbacks=True, items=True),
    "singles_3.8": partial(match, (3, 8, 0), 1500, seed=10, stocks=1, stage_id=POKEMON_STADIUM),
    "names_3.9": partial(match, (3, 9, 0), seed=19, rollbacks=True, names=ODD_NAMES),
    "pauses_3.10": partial(match, (3, 10, 0), seed=20, pauses={-30: 40, 100: 300}),
    "zelda_sheik_3.11": partial(match, (3, 11, 0), seed=21, characters=(SHEIK, FOX)),
    "sudden_death_3.12": partial(match, (3, 12, 0), 900, seed=22, sudden_death=True),
    "free_for_all_3.13": partial(match, (3, 13, 0), 1000, seed=31, players=3, stocks=1),
    "ranked_3.14": partial(match, (3, 14, 0), seed=24, rollbacks=True, **RANKED),
    "doubles_3.15": partial(match, (3, 15, 0), seed=25, players=4, teams=True, rollbacks=True),
    "timeout_3.16": partial(match, (3, 16, 0), 900, seed=26, time_limit_seconds=7, items=True),
    "short_pre_frames_3.17": _short_pre_frames,
    "singles_3.17": partial(match, (3, 17, 0), seed=27, characters=(MARTH, FALCON)),
    "crashed_3.18": lambda: crashed(match(V18, seed=28, rollbacks=True, ended=False)),
    "doubles_3.18": partial(match, V18, 1000, seed=3, players=4, teams=True, stocks=1),
    "dream_land_3.18": partial(match, V18, 600, seed=30, stage_id=DREAM_LAND),
    "duplicate_game_end_3.18": lambda: with_second_game_end(match(V18, 1500, seed=31, stocks=1)),
    "fountain_of_dreams_3.18": partial(match, V18, 600, seed=32, stage_id=FOUNTAIN_OF_DREAMS),
    "free_for_all_3.18": partial(match, V18, 500, seed=33, players=4),
    "full_match_3.18": partial(synthetic_match, seed=34, gecko=True),
    "home_run_3.18": _home_run,
    "ice_climbers_3.18": partial(match, V18, 1300, seed=6, followers=True, stocks=1),
    "ice_climbers_rollbacks_3.18": partial(
        match, V18, 600, seed=36, characters=(POPO, MARTH), followers=True, rollbacks=True, items=True
    ),
    "in_progress_3.18": partial(match, V18, seed=37, rollbacks=True, ended=False),
    "items_3.18": partial(match, V18, 900, seed=38, items=True, characters=(FALCO, FOX)),
    "lost_game_end_3.18": lambda: without_game_end(match(V18, 1500, seed=39, stocks=1)),
    "pauses_3.18": partial(match, V18, seed=40, stage_id=FINAL_DESTINATION, pauses={50: 90, 51: 200, 250: 30}),
    "quit_3.18": partial(match, V18, 500, seed=41, characters=(FALCON, FALCO)),
    "rollbacks_3.18": partial(match, V18, 1200, seed=42, rollbacks=True),
    "rollbacks_items_3.18": partial(match, V18, 900, seed=43, rollbacks=True, items=True),
    "stamina_3.18": _stamina,
    "teams_time_mode_3.18": _teams_time_mode,
    "time_mode_3.18": partial(_time_mode, V18),
    "unknown_event_3.18": lambda: with_unknown_event(match(V18, seed=44)),
    "zelda_sheik_3.18": partial(match, V18, 900, seed=45, characters=(ZELDA, MARTH)),
    "stadium_3.19": partial(match, (3, 19, 1), 900, seed=46, stage_id=POKEMON_STADIUM),
}
"""The function that makes each replay, by name."""


def record(names: Iterable[str] = OWN) -> None:
    """Write the packed replays."""
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        # Tests read whole replays, so keyframes would only make the files larger.
        packed = pack(OWN[name](), "slippi", f"{name}.slp", MAX_KEYFRAME_FRAMES)
        (FOLDER / f"{name}.slplog").write_bytes(packed)
        print(f"{name}: {len(packed):,} bytes")


if __name__ == "__main__":
    record(sys.argv[1:] or OWN)
