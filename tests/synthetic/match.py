"""A synthetic match as the bytes of a complete `.slp`, in the layout of any version of Slippi."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slpstream.formats.slippi.commands import FIRST_FRAME
from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE
from slpstream.formats.slippi.result import GAME, NO_CONTEST, RESOLVED, TIME, UNRESOLVED
from tests.formats.slippi.gecko_lists import INSERT, code
from tests.formats.slippi.writer import PlayerSetup, ReplayWriter, Version, game_start
from tests.synthetic.bout import Bout
from tests.synthetic.netplay import Transmission, transmissions
from tests.synthetic.roster import LINE_UP, Character
from tests.synthetic.stages import BATTLEFIELD, STAGES

ROLLBACKS_SINCE: Version = (3, 0, 0)
"""Earlier versions have no Frame Bookends, and their known replays no rollbacks."""

Names = tuple[str, str, str]
"""Display name, connect code and name tag of a player."""

NAMES: Sequence[Names] = (
    ("Vixen", "VIXN#101", "VIX"),
    ("Altea", "ALTE#202", "ALT"),
    ("Corneria", "CRNA#303", "CRN"),
    ("Port Town", "PORT#404", "PRT"),
)
_METHODS = {"game": GAME, "time": TIME, "quit": NO_CONTEST}
_OLD_METHODS = {"game": RESOLVED, "time": RESOLVED, "quit": UNRESOLVED}
_METHODS_SINCE: Version = (2, 0, 0)
_METADATA_LAST_FRAME_SINCE: Version = (0, 2, 0)
_METADATA_NAMES_SINCE: Version = (1, 5, 0)
_OFFLINE: dict[str, Any] = {"major_scene": 2, "game_bitfield_3": 0x86}
_ONLINE: dict[str, Any] = {
    "major_scene": MAJOR_SCENE_ONLINE,
    "game_bitfield_3": 0x8E,
    "session_id": "mode.unranked-2025-02-03T04:05:00.00-0",
    "game_number": 1,
}
_SUDDEN_DEATH: dict[str, Any] = {"minor_scene": 3, "bomb_rain": True, "game_bitfield_1": 0x30}
_ITEMS_MEDIUM, _ITEMS_OFF = 2, 0xFF
_GECKO_CODES = 38
_MAX_STOCKS = 99
_SUDDEN_DEATH_PERCENT = 300
_STARTED_AT = "2025-02-03T04:05:06Z"


def synthetic_match(
    *,
    version: Version = (3, 18, 0),
    seed: int = 1,
    frames: int | None = None,
    players: int = 2,
    characters: Sequence[Character] = LINE_UP,
    stage_id: int = BATTLEFIELD,
    stocks: int = 4,
    rollbacks: bool = False,
    followers: bool = False,
    items: bool = False,
    teams: bool = False,
    ended: bool = True,
    gecko: bool = False,
    time_limit_seconds: int = 480,
    sudden_death: bool = False,
    pauses: Mapping[int, int] = {},
    names: Sequence[Names] = NAMES,
    sizes: Mapping[int, int] | None = None,
    **rows: Any,
) -> bytes:
    """Simulate a match and return its replay, complete with metadata and raw length.

    The same arguments give the same bytes. Events and fields that a version lacks are omitted.

    - `frames` limits the length: in a match that lasts longer, the losing player quits at the last frame.
    - `players` (2 to 4) play with the first of `characters`, by default Fox, Marth, Falco and Captain Falcon.
    - `stage_id` is one of `stages.STAGES`. Fountain of Dreams, Dream Land and Stadium have stage events since 3.18.
    - `rollbacks`: online play, with resent frames.
    - Zelda and Sheik, if they are among `characters`, transform every few seconds.
    - `followers`: the first player has the Ice Climbers.
    - `items`: characters shoot lasers, and items fall onto the stage.
    - `teams`: players 0 and 2 play against 1 and 3.
    - `ended=False`: the file of a game in progress, without Game End and metadata and with raw length 0.
    - `gecko`: with a Gecko List (since 3.3).
    - `sudden_death`: one stock, 300 percent and no timer.
    - `pauses`: the lengths of pauses in frames, by the number of the frame after the pause. They show since 3.10.
    - `names` of the players.
    - `sizes`: payload sizes that differ from those of the version, by command byte.
    - `rows`: values of Game Start that differ, by name.

    Raises `ValueError` for rollbacks before 3.0, and for impossible players, characters, stages, stocks or lengths.
    """
    if rollbacks and version < ROLLBACKS_SINCE:
        raise ValueError("rollbacks: there are none before 3.0.0")
    if not 2 <= players <= min(len(names), len(characters)):
        raise ValueError(f"players: expected 2 to {min(len(names), len(characters))}, not {players}")
    if stage_id not in STAGES:
        raise ValueError(f"stage_id: expected one of {sorted(STAGES)}, not {stage_id}")
    if not 1 <= stocks <= _MAX_STOCKS:
        raise ValueError(f"stocks: expected 1 to {_MAX_STOCKS}, not {stocks}")
    if frames is not None and frames < 1:
        raise ValueError(f"frames: expected 1 or more, not {frames}")
    if sudden_death:
        stocks = 1
    bout = Bout(
        STAGES[stage_id],
        seed=seed,
        characters=characters[:players],
        stocks=stocks,
        last_frame=None if frames is None else FIRST_FRAME + frames - 1,
        quits=ended,
        followers=followers,
        items=items,
        teams=teams,
        time_limit_seconds=time_limit_seconds,
        start_percent=_SUDDEN_DEATH_PERCENT if sudden_death else 0.0,
        pauses=pauses,
    )
    codes = _gecko_list(seed) if gecko else b""
    writer = ReplayWriter(version, sizes, gecko_list_bytes=len(codes))
    settings: dict[str, Any] = {
        "stage_id": stage_id,
        "random_seed": bout.random_seed,
        "is_teams": teams,
        "item_spawn_behavior": _ITEMS_MEDIUM if items else _ITEMS_OFF,
        "starting_timer_seconds": time_limit_seconds,
    }
    settings |= (_ONLINE if rollbacks else _OFFLINE) | (_SUDDEN_DEATH if sudden_death else {}) | rows
    setups = _players(bout, stocks, names, online=rollbacks, teams=teams, sudden_death=sudden_death)
    start = game_start(version, players=setups, **settings)
    parts = [writer.open(), writer.event(start), writer.gecko_list(codes)]
    frames_played: Counter[tuple[int, int]] = Counter()
    for frame, finalized in _transmissions(bout, seed, rollbacks=rollbacks):
        frames_played.update((post.player_index, post.internal_character_id) for post in frame.posts)
        parts.append(
            writer.frame(
                frame.number,
                start=frame.start,
                pres=frame.pres,
                stage_events=frame.stage_events,
                items=frame.items,
                posts=frame.posts,
                finalized=finalized,
            )
        )
    if not ended:
        return b"".join(parts)
    methods = _METHODS if version >= _METHODS_SINCE else _OLD_METHODS
    quitter = -1 if bout.quitter is None else bout.quitter
    parts.append(writer.end(methods[bout.ending], lras_initiator=quitter, placements=_placements(bout)))
    parts.append(writer.close(_metadata(version, bout, names, frames_played)))
    return writer.header() + b"".join(parts)[len(writer.header()) :]


def _transmissions(bout: Bout, seed: int, *, rollbacks: bool) -> Iterator[Transmission]:
    if rollbacks:
        return transmissions(bout, random.Random(f"slpstream {seed} netplay"))
    return (Transmission(frame, frame.number) for frame in bout)


def _players(
    bout: Bout, stocks: int, names: Sequence[Names], *, online: bool, teams: bool, sudden_death: bool
) -> list[PlayerSetup]:
    percent = _SUDDEN_DEATH_PERCENT if sudden_death else 0
    return [
        PlayerSetup(
            index=fighter.index,
            character_id=fighter.character.external_id,
            start_stocks=stocks,
            character_color=fighter.index,
            team_id=fighter.team if teams else 0,
            damage_start=percent,
            damage_spawn=percent,
            nametag="" if online else names[fighter.index][2],
            display_name=names[fighter.index][0],
            connect_code=names[fighter.index][1],
            user_id=f"synthetic{fighter.index}",
        )
        for fighter in bout.fighters
        if not fighter.follower
    ]


def _gecko_list(seed: int) -> bytes:
    """Gecko codes that insert three lines each. They need several Message Splitters and do not fill the last one."""
    rng = random.Random(f"slpstream {seed} gecko")
    addresses = [0x80000000 + 4 * rng.getrandbits(20) for _ in range(_GECKO_CODES)]
    return b"".join(code(address, INSERT, 3, rng.getrandbits(64)) for address in addresses)


def _placements(bout: Bout) -> tuple[int, int, int, int]:
    places = [-1, -1, -1, -1]
    for place, index in enumerate(bout.ranking):
        places[index] = place
    first, second, third, fourth = places
    return first, second, third, fourth


def _metadata(
    version: Version, bout: Bout, names: Sequence[Names], frames_played: Counter[tuple[int, int]]
) -> dict[str, Any]:
    """The metadata element. `frames_played` counts frames by player index and internal character id."""
    if version < _METADATA_LAST_FRAME_SINCE:
        return {"startAt": _STARTED_AT, "playedOn": "dolphin"}
    players: dict[str, Any] = {}
    for (index, character), frames in sorted(frames_played.items()):
        player = players.setdefault(str(index), {})
        if version >= _METADATA_NAMES_SINCE:
            player.setdefault("names", {"netplay": names[index][0], "code": names[index][1]})
        player.setdefault("characters", {})[str(character)] = frames
    return {"startAt": _STARTED_AT, "lastFrame": bout.last_number, "players": players, "playedOn": "dolphin"}
