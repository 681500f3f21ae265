"""Our decoding compared with slippi-js 9.1.2, field by field, on every replay and on built ones.

It covers settings, frames (players, followers, items, stage events), Game End, metadata and winners. Intended
differences are in the tables below, with the reason. A row without a difference fails as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from slpstream.formats.slippi import game_start as game_start_rows
from slpstream.formats.slippi.game_start import PLAYER_FLAGS, GameStartPayload
from slpstream.model.fields import camel
from tests.formats.slippi.built import Built, bookend, post, pre, start, varied_replay
from tests.formats.slippi.logs import logs_of
from tests.oracles.slippi_js import SlippiJs, needs_slippi_js, slippi_js
from tests.replays import NOT_REPLAYS, replays

pytestmark = needs_slippi_js

Json = dict[str, Any]


# Fields that slippi-js does not have. The contract names them.
EXTRA_PRE = ("rawJoystickY", "rawCStickX", "rawCStickY")
EXTRA_POST = tuple(f"stateFlags{n}" for n in range(1, 6))
EXTRA_PLAYER = ("damageStart", "damageSpawn", "dashbackFix", "shieldDropFix")
FLAGS = tuple(camel(name) for name in PLAYER_FLAGS)


class Doubled(NamedTuple):
    """Number of frames in which slippi-js has the items or stage events of all sendings, one list after another."""

    items: int = 0
    stage_events: int = 0


DOUBLED: Mapping[str, Doubled] = {
    "FodPlatforms": Doubled(stage_events=1),
    "Whispy": Doubled(items=5),
    "duplicate_game_end": Doubled(items=1371),
    "ics2": Doubled(items=1),
    "rollbackFrameTest": Doubled(items=134),
    "v3.16": Doubled(items=6),
    "slippc__standard__3-7-0-first-item-not-id-0": Doubled(items=871),
    "slippc__standard__3-7-0-modded-chars": Doubled(items=408),
    "ice_climbers_rollbacks_3.18": Doubled(items=38),
    "rollbacks_3.0": Doubled(items=19),
    "rollbacks_items_3.7": Doubled(items=19),
    "rollbacks_items_3.18": Doubled(items=71),
}
"""When a rollback sends a frame again, slippi-js appends to the lists. Ours are those of the last sending."""

NO_PLACEMENTS = (
    "replays before 3.13 have no placements; slippi-js has no winner then, we decide by stocks, then percent"
)
ODD_PLACEMENTS = "placements of 16 and 17 say nothing, so the stocks decide"
SECOND_GAME_END = "the second Game End hides the placements of the first from slippi-js"
LOST_GAME_END = "without a Game End slippi-js does not find the last frame"
NO_STOCKS = "slippi-js takes a game without stocks for one in which all players have lost theirs"
TEAM_QUIT = "the team of the player who quits loses; slippi-js knows quits only in games of two players"
WINNERS: Mapping[str, tuple[list[int], list[int], str]] = {
    "console_name": ([], [0], NO_PLACEMENTS),
    "doubles": ([], [0, 1], NO_PLACEMENTS),
    "duplicate_game_end": ([], [0], SECOND_GAME_END),
    "game": ([], [0], NO_PLACEMENTS),
    "ics2": ([], [1], NO_PLACEMENTS),
    "items": ([], [0], NO_PLACEMENTS),
    "nintendont": ([], [3], NO_PLACEMENTS),
    "rollbackFrameTest": ([], [0], NO_PLACEMENTS),
    "sheik_vs_ics_yoshis": ([], [0], NO_PLACEMENTS),
    "test": ([], [0], NO_PLACEMENTS),
    "unknown_event": ([], [0], NO_PLACEMENTS),
    "v0.1": ([], [1], NO_PLACEMENTS),
    "v2.0": ([], [0], NO_PLACEMENTS),
    "go-slippi__4-player-offline": ([], [0], NO_PLACEMENTS),
    "go-slippi__zelda-shiek": ([], [0], NO_PLACEMENTS),
    "libenforcer__test_data__handwarmers__Game_8C56C529AEAA_20231021T125730": ([], [0, 1], TEAM_QUIT),
    "py-slippi__severed_frame": ([], [2, 3], NO_PLACEMENTS),
    "slippc__standard__3-7-0-first-item-not-id-0": ([], [0], NO_PLACEMENTS),
    "slippc__standard__3-7-0-modded-chars": ([], [1], NO_PLACEMENTS),
    "slippi-js__gameModeTest__Single-Button": ([], [1], NO_PLACEMENTS),
    "slippi-js__gameModeTest__Slo-Mo": ([], [0], NO_PLACEMENTS),
    "slippi-js__gameModeTest__Super-Sudden-Death": ([], [0], NO_PLACEMENTS),
    "slippi-js__placementsTest__ffa_1p2p_winner_2p_fef9f5": ([], [1], ODD_PLACEMENTS),
    "doubles_3.15": ([], [1, 3], TEAM_QUIT),
    "duplicate_game_end_3.18": ([], [0], SECOND_GAME_END),
    "home_run_3.18": ([], [0], NO_STOCKS),
    "lost_game_end_3.18": ([], [1], LOST_GAME_END),
    "singles_3.8": ([], [0], NO_PLACEMENTS),
    "sudden_death_3.12": ([], [0], NO_PLACEMENTS),
    "time_mode_2.0": ([], [0], NO_STOCKS),
    "time_mode_3.18": ([], [0], NO_STOCKS),
    "timeout_1.4": ([], [0], NO_PLACEMENTS),
}
"""Winners of slippi-js, our winners, and the reason, by replay."""


NOT_COMPARED = {"slippc__crashes__crash7", "slippi-js__test__test_e8309d"}
"""In the first, display names are not Shift JIS, and slippi-js decodes them to other characters. In the second, of
an alpha version, it reads players and frames that do not exist."""


class Difference(NamedTuple):
    """One value that differs; `None` means absent."""

    where: str
    theirs: Any
    ours: Any


def differences(theirs: Any, ours: Any, where: str) -> Iterator[Difference]:
    """All values that differ. Unlike `==` in Python, true and 1 differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            yield from differences(theirs.get(key), ours.get(key), f"{where}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(a, b, f"{where}[{index}]")
    elif theirs != ours or isinstance(theirs, bool) != isinstance(ours, bool):
        yield Difference(where, theirs, ours)


def without_nulls(value: Any) -> Any:
    """The value without members that are null. We write null for NaN."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


class Ours(NamedTuple):
    """The content of our messages about a replay."""

    settings: Json | None
    frames: dict[int, Json]
    """The last sending of each number."""
    sent_before: dict[int, list[Json]]
    """The sendings before the last one, of numbers that were sent more than once."""
    game_end: Json | None
    metadata: Json | None


def our_reading(data: bytes) -> Ours:
    logs = logs_of([data])
    frames: dict[int, bytes] = {}
    sent_before: dict[int, list[Json]] = {}
    for message in logs.live:
        if message.frame is not None:
            if message.frame in frames:
                sent_before.setdefault(message.frame, []).append(msgspec.json.decode(frames[message.frame]))
            frames[message.frame] = bytes(message.entry())
    rest = {m.type: without_nulls(msgspec.json.decode(m.json())) for m in logs.live if m.frame is None}
    start, end, metadata = (rest.get(kind, {}) for kind in ("game_start", "game_end", "metadata"))
    return Ours(
        settings=start.get("settings"),
        frames={number: comparable_frame(body) for number, body in frames.items()},
        sent_before=sent_before,
        game_end=end or None,
        metadata=metadata.get("metadata"),
    )


def comparable_frame(body: bytes) -> Json:
    """One of our frames without the fields that slippi-js does not have."""
    frame: Json = msgspec.json.decode(body)
    if b"null" in body:
        frame = without_nulls(frame)
    del frame["revision"]
    for side in ("players", "followers"):
        for player in frame.get(side, {}).values():
            for part, extra in (("pre", EXTRA_PRE), ("post", EXTRA_POST)):
                values = player.get(part)
                if values is not None:
                    for name in extra:
                        values.pop(name, None)
    for stage_event in frame.get("stageEvents", ()):
        del stage_event["kind"]
    return frame


def compare_frames(theirs: list[Json], ours: Ours) -> Doubled:
    """Fail at the first value that differs. Returns how often slippi-js has doubled a list."""
    numbers = sorted(frame["frame"] for frame in theirs)
    assert sorted(ours.frames) == numbers, "frame numbers differ"
    items = stage_events = 0
    for index, frame in enumerate(sorted(theirs, key=lambda f: int(f["frame"]))):
        number = frame["frame"]
        mine = ours.frames[number]
        if number in ours.sent_before:
            items += as_last_sent(frame, mine, "items", ours.sent_before[number])
            stage_events += as_last_sent(frame, mine, "stageEvents", ours.sent_before[number])
        # Comparing with == is fast, but true equals 1; so some frames of each replay are compared strictly.
        if frame != mine or index % 97 == 0:
            different = next(differences(frame, mine, f"frame {number}"), None)
            assert different is None, f"{different} (slippi-js, slpstream)"
    return Doubled(items, stage_events)


def as_last_sent(theirs: Json, ours: Json, name: str, before: list[Json]) -> bool:
    """Undo the doubling of a list by slippi-js, which must be exactly the lists of all sendings, one after another."""
    last = ours.get(name, [])
    earlier = [item for sending in before for item in sending.get(name, [])]
    for item in earlier:
        item.pop("kind", None)
    if not earlier:
        return False
    assert theirs.get(name) == [*earlier, *last], f"frame {theirs['frame']}: {name} are not those of all sendings"
    if last:
        theirs[name] = last
    else:
        del theirs[name]
    return True


def compare_settings(theirs: Json, ours: Json, data: bytes) -> None:
    """Assert that the settings are equal, except the flags, which slippi-js reads from the byte of the team shade."""
    payload = game_start_of(data)
    theirs, ours = dict(theirs), dict(ours)
    for player in theirs["players"]:
        shade = payload.get("team_shade", player["playerIndex"])
        assert {name: player.pop(name) for name in FLAGS} == flags(shade)
    for player in ours["players"]:
        bits = payload.get("player_bitfield", player["playerIndex"])
        assert {name: player.pop(name) for name in FLAGS} == flags(bits)
        for name in EXTRA_PLAYER:
            player.pop(name, None)
    ours.pop("stadiumFrozen", None)
    assert list(differences(theirs, ours, "settings")) == []


def flags(bits: int) -> dict[str, bool]:
    return {name: bool(bits >> bit & 1) for bit, name in enumerate(FLAGS)}


def game_start_of(data: bytes) -> GameStartPayload:
    at = 15 + 1 + data[16]
    return GameStartPayload(data[at : at + 1 + declared_size(data, 0x36)])


def declared_size(data: bytes, command: int) -> int:
    table = data[17 : 15 + 1 + data[16]]
    return next(int.from_bytes(table[at + 1 : at + 3], "big") for at in range(0, len(table), 3) if table[at] == command)


def compare(theirs: Json, data: bytes, *, winners: tuple[list[int], list[int]] | None = None) -> Doubled:
    """Compare everything in one replay. `winners` has those of slippi-js and ours where they differ intentionally."""
    assert "error" not in theirs, theirs
    ours = our_reading(data)
    assert ours.settings is not None
    assert ours.game_end is not None
    doubled = compare_frames(theirs["frames"], ours)
    compare_settings(theirs["settings"], ours.settings, data)
    assert list(differences(theirs.get("gameEnd"), ours.game_end.get("gameEnd"), "gameEnd")) == []
    assert list(differences(theirs.get("metadata"), ours.metadata, "metadata")) == []
    if winners is None:
        assert list(differences(theirs["winners"], ours.game_end["winners"], "winners")) == []
    else:
        assert winners[0] != winners[1], "not a difference"
        won = [w["playerIndex"] for w in theirs["winners"]], [w["playerIndex"] for w in ours.game_end["winners"]]
        assert won == winners
        assert {w["position"] for w in ours.game_end["winners"]} <= {0}
    return doubled


@pytest.fixture(scope="module")
def oracle() -> Iterator[SlippiJs]:
    with slippi_js() as running:
        yield running


@pytest.mark.parametrize("path", [p for p in replays() if p.stem not in NOT_COMPARED], ids=lambda path: path.stem)
def test_replay(path: Path, oracle: SlippiJs) -> None:
    theirs = oracle.ask(path)
    if path.stem in NOT_REPLAYS:
        assert "settings" not in theirs
        code = "wrong_format" if path.stem == "not_slp_text" else "framing"
        assert [m["code"] for m in logs_of([path.read_bytes()]).of_type("diagnostic")] == [code]
        return
    exception = WINNERS.get(path.stem)
    doubled = compare(theirs, path.read_bytes(), winners=None if exception is None else exception[:2])
    assert doubled == DOUBLED.get(path.stem, Doubled())


class BytesOracle:
    """Runs slippi-js on bytes."""

    def __init__(self, oracle: SlippiJs, path: Path) -> None:
        self._oracle = oracle
        self._path = path

    def ask(self, data: bytes) -> Json:
        self._path.write_bytes(data)
        return self._oracle.ask(self._path)


@pytest.fixture
def bytes_oracle(oracle: SlippiJs, tmp_path: Path) -> BytesOracle:
    return BytesOracle(oracle, tmp_path / "built.slp")


def test_built_rollbacks(bytes_oracle: BytesOracle) -> None:
    data = varied_replay()
    assert compare(bytes_oracle.ask(data), data) == Doubled(items=1)


@pytest.mark.parametrize("minor", [5, 6])
@pytest.mark.parametrize("declared", [18, 19])
@pytest.mark.parametrize("played", [7, 19])
def test_zelda_or_sheik(minor: int, declared: int, played: int, bytes_oracle: BytesOracle) -> None:
    """Before 1.6.0 only frame -123 shows which of the two it is."""
    game = Built((1, minor, 0), characters={0: declared})
    data = game.frames(-123, -120, internal_character_id=played).end().closed()
    theirs = bytes_oracle.ask(data)
    compare(theirs, data)
    expected = declared if minor >= 6 else {7: 19, 19: 18}[played]
    assert theirs["settings"]["players"][0]["characterId"] == expected


BIT_PATTERNS = [
    bytes([1, 2, 4, 8, 16]),
    bytes([128, 64, 32, 16, 8]),
    bytes([255, 0, 0, 0, 0]),
    bytes([0, 0, 0, 0, 255]),
]


def built_with(rows: Mapping[str, Any], player: int = 0) -> bytes:
    """A small replay whose Game Start has the given values."""
    game = Built()
    payload = bytearray(game.game_start)
    for name, value in rows.items():
        game_start_rows.set_field(payload, name, value, player)
    game.parts[1] = bytes(payload)
    return game.frames(-123, -120).end(placements=(0, 1, -1, -1)).closed()


@pytest.mark.parametrize("pattern", BIT_PATTERNS, ids=bytes.hex)
def test_enabled_items_bit_order(pattern: bytes, bytes_oracle: BytesOracle) -> None:
    data = built_with({f"item_spawn_bitfield_{n}": byte for n, byte in enumerate(pattern, 1)})
    theirs = bytes_oracle.ask(data)
    compare(theirs, data)
    assert theirs["settings"]["enabledItems"] == int.from_bytes(pattern, "little")


@pytest.mark.parametrize("bitfield", [mode << 5 | rest for mode in range(8) for rest in (0x02, 0x1F)])
def test_in_game_mode_and_timer(bitfield: int, bytes_oracle: BytesOracle) -> None:
    data = built_with({"game_bitfield_1": bitfield})
    theirs = bytes_oracle.ask(data)
    compare(theirs, data)
    assert theirs["settings"]["inGameMode"] == bitfield & 0xE0
    assert theirs["settings"]["timerType"] == bitfield & 0x03


@pytest.mark.parametrize(
    "rows",
    [
        {"dashback_fix": dashback, "shield_drop_fix": shield_drop}
        for dashback, shield_drop in [(0, 0), (1, 1), (2, 2), (1, 0), (0, 1), (2, 1), (3, 3), (0, 3)]
    ]
    + [
        {"team_shade": 0xFF, "player_bitfield": 0},
        {"team_shade": 0, "player_bitfield": 0xFF},
        {"item_spawn_behavior": 3, "self_destruct_score_value": -2, "damage_start": 30},
        {"is_pal": True, "is_frozen_ps": True, "game_bitfield_2": 0xFE, "language": 0},
        {"starting_timer_seconds": 2**32 - 1, "random_seed": 2**32 - 1, "damage_ratio": 0.1},
        {"nametag": "ＡＢ０！？＃　ａ".encode("shift_jis")},
        {"nametag": "マリオ".encode("shift_jis"), "display_name": "Ä漢字 #1".encode("shift_jis", "replace")},
        {"nametag": "ﾏﾘｵ①".encode("cp932"), "display_name": "Ⅲ①髙﨑∥Ａ～－~-".encode("cp932")},
        {"connect_code": "AB＃123".encode("shift_jis"), "user_id": b"a-Z09", "session_id": b"mode.ranked-1:2"},
        {"game_number": 3, "tiebreaker_number": 1, "major_scene": 8, "minor_scene": 1},
        {"type": 1, "cpu_level": 9},
    ],
    ids=lambda rows: ",".join(f"{name}={value}" for name, value in rows.items()),
)
def test_settings(rows: Mapping[str, Any], bytes_oracle: BytesOracle) -> None:
    data = built_with(rows)
    compare(bytes_oracle.ask(data), data)


TIME, GAME, RESOLVED, NO_CONTEST = 1, 2, 3, 7


class Ending(NamedTuple):
    """The end of a built game: (stocks, percent) and team of each player, and the fields of Game End."""

    players: Mapping[int, tuple[int, float]]
    method: int = GAME
    placements: tuple[int, int, int, int] = (-1, -1, -1, -1)
    initiator: int = -1
    teams: Mapping[int, int] | None = None
    version: tuple[int, int, int] = (3, 18, 0)

    def replay(self) -> bytes:
        game = Built(self.version, characters=dict.fromkeys(self.players, 2), is_teams=self.teams is not None)
        payload = bytearray(game.game_start)
        for player, team in (self.teams or {}).items():
            game_start_rows.set_field(payload, "team_id", team, player)
        game.parts[1] = bytes(payload)
        game.frames(-123, -121)
        posts = [post(-120, p, stocks_remaining=s, percent=percent) for p, (s, percent) in self.players.items()]
        game.add(start(-120), *[pre(-120, p) for p in self.players], *posts, bookend(-120))
        return game.end(self.method, lras_initiator=self.initiator, placements=self.placements).closed()


V3_12 = (3, 12, 0)
TWO, EVEN = {0: (2, 50.0), 1: (1, 10.0)}, {0: (1, 50.0), 1: (1, 50.0)}
FOUR = {0: (0, 0.0), 1: (2, 9.0), 2: (0, 0.0), 3: (1, 80.0)}

AGREED = {
    "game": Ending(TWO, placements=(0, 1, -1, -1)),
    "game, placements against stocks": Ending(TWO, placements=(1, 0, -1, -1)),
    "game, ports 2 and 4": Ending({1: (0, 0.0), 3: (1, 3.0)}, placements=(-1, 1, -1, 0)),
    "game, no placements": Ending(TWO),
    "resolved": Ending(TWO, RESOLVED, (0, 1, -1, -1)),
    "unknown method": Ending(TWO, 6, (0, 1, -1, -1)),
    "game, no stocks left": Ending({0: (0, 0.0), 1: (0, 0.0)}, placements=(0, 1, -1, -1)),
    "free for all": Ending(FOUR, placements=(2, 0, 3, 1)),
    "teams": Ending(FOUR, placements=(2, 0, 3, 1), teams={0: 0, 1: 1, 2: 0, 3: 1}),
    "teams, the first place is the second member": Ending(
        FOUR, placements=(1, 2, 0, 3), teams={0: 0, 1: 1, 2: 0, 3: 1}
    ),
    "no contest by the first": Ending(TWO, NO_CONTEST, (0, 1, -1, -1), initiator=0),
    "no contest by the second": Ending(TWO, NO_CONTEST, (0, 1, -1, -1), initiator=1),
    "no contest of four": Ending(FOUR, NO_CONTEST, initiator=1),
    "no contest, 3.12": Ending(TWO, NO_CONTEST, initiator=0, version=V3_12),
    "no contest, 1.7": Ending(TWO, NO_CONTEST, version=(1, 7, 1)),
    "unresolved, 1.7": Ending(TWO, 0, version=(1, 7, 1)),
    "timeout, stocks": Ending({0: (1, 0.0), 1: (2, 99.0)}, TIME, (1, 0, -1, -1)),
    "timeout, percent": Ending({0: (1, 51.0), 1: (1, 50.0)}, TIME, (1, 0, -1, -1)),
    "timeout, percent, 3.12": Ending({0: (1, 50.0), 1: (1, 51.5)}, TIME, version=V3_12),
    "timeout, no stocks left": Ending({0: (0, 0.0), 1: (0, 0.0)}, TIME),
}

NO_INITIATOR = "without an initiator there is no winner; slippi-js has the first player"
SUDDEN_DEATH = "the game compares whole percents, and a tie leads to sudden death; slippi-js compares fractions"
DISAGREED: Mapping[str, tuple[Ending, list[int], list[int], str]] = {
    "no contest without initiator": (Ending(TWO, NO_CONTEST), [0], [], NO_INITIATOR),
    "no contest by an absent player": (Ending(TWO, NO_CONTEST, initiator=3), [0], [], NO_INITIATOR),
    "unresolved": (Ending(TWO, 0), [0], [], NO_INITIATOR),
    "game, 3.12": (Ending(TWO, version=V3_12), [], [0], NO_PLACEMENTS),
    "game, equal stocks, 3.12": (Ending({0: (1, 9.0), 1: (1, 3.0)}, version=V3_12), [], [1], NO_PLACEMENTS),
    "teams, 3.12": (Ending(FOUR, teams={0: 0, 1: 1, 2: 0, 3: 1}, version=V3_12), [], [1, 3], NO_PLACEMENTS),
    "no contest in teams": (
        Ending(FOUR, NO_CONTEST, initiator=2, teams={0: 0, 1: 1, 2: 0, 3: 1}),
        [],
        [1, 3],
        TEAM_QUIT,
    ),
    "timeout, even": (Ending(EVEN, TIME, (0, 0, -1, -1)), [0, 1], [], SUDDEN_DEATH),
    "timeout, even in whole percent": (Ending({0: (1, 50.9), 1: (1, 50.1)}, TIME), [1], [], SUDDEN_DEATH),
}
"""Built ending, winners of slippi-js, our winners, and the reason."""


@pytest.mark.parametrize("ending", AGREED.values(), ids=AGREED)
def test_winners(ending: Ending, bytes_oracle: BytesOracle) -> None:
    data = ending.replay()
    compare(bytes_oracle.ask(data), data)


@pytest.mark.parametrize(("ending", "theirs", "ours", "why"), DISAGREED.values(), ids=DISAGREED)
def test_winners_that_slippi_js_gets_wrong(
    ending: Ending, theirs: list[int], ours: list[int], why: str, bytes_oracle: BytesOracle
) -> None:
    data = ending.replay()
    compare(bytes_oracle.ask(data), data, winners=(theirs, ours))
