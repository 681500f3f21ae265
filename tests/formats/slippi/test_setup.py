"""The setup that a Melee game reveals, by the fields of its Game Start, its codes and its metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from slpstream.api import open_replay
from slpstream.formats.registry import describe_setup
from slpstream.formats.slippi.game_start import GameStartPayload
from slpstream.formats.slippi.gecko import code_list
from slpstream.model.setup import CodeList, RevealedSetup
from tests.formats.games import games as other_games
from tests.formats.slippi.gecko_lists import hooks
from tests.formats.slippi.writer import PlayerSetup, game_start
from tests.replays import existing, replay_path

FOX, FALCO = 2, 20
NO_ITEMS = {f"item_spawn_bitfield_{i}": 0 for i in range(1, 6)}


def revealed(
    *players: PlayerSetup,
    version: tuple[int, int, int] = (3, 18, 0),
    codes: CodeList | None = None,
    metadata: dict[str, Any] | None = None,
    **rows: Any,
) -> RevealedSetup:
    """The setup of a game of these players, by default Fox on port 1 and Falco on port 4."""
    players = players or (PlayerSetup(index=0, character_id=FOX), PlayerSetup(index=3, character_id=FALCO))
    event = game_start(version, players=players, stage_id=31, **rows)
    settings = msgspec.to_builtins(GameStartPayload(event).settings())
    return describe_setup("slippi", settings, codes, metadata)


def texts(setup: RevealedSetup) -> dict[str, str]:
    """The values in words, by name and port."""
    return {f"{each.name}{each.port or ''}": each.text for each in setup.values}


def test_usual_game() -> None:
    setup = revealed(metadata={"playedOn": "nintendont"}, is_frozen_ps=True)
    assert setup.incomparable == ""
    assert texts(setup) == {
        "version": "3.18.0",
        "platform": "nintendont",
        "region": "NTSC",
        "language": "English",
        "stadium": "frozen",
        "ucf1": "on",
        "ucf4": "on",
        "mode": "stock",
        "timer": "8:00",
        "stocks": "4",
        "items": "off",
        "damage_ratio": "1.0",
    }
    rules = {each.name for each in setup.values if each.kind == "rules"}
    assert rules == {"mode", "timer", "stocks", "items", "damage_ratio"}


@pytest.mark.parametrize(
    ("rows", "name", "text"),
    [
        ({"is_pal": True}, "region", "PAL"),
        ({"language": 0}, "language", "Japanese"),
        ({"game_bitfield_1": 0x12}, "mode", "time"),
        ({"game_bitfield_1": 0x30}, "timer", "none"),
        ({"game_bitfield_1": 0x33}, "timer", "8:00 counting up"),
        ({"starting_timer_seconds": 125}, "timer", "2:05"),
        ({"item_spawn_behavior": 4, **NO_ITEMS, "item_spawn_bitfield_1": 0x03}, "items", "very high, 2 kinds (3)"),
        ({"item_spawn_behavior": 9, **NO_ITEMS, "item_spawn_bitfield_2": 1}, "items", "rate 9, 1 kinds (100)"),
        ({"item_spawn_behavior": 2, **NO_ITEMS}, "items", "off"),
        ({"is_teams": True}, "team_attack", "on"),
        ({"is_teams": True, "game_bitfield_2": 0}, "team_attack", "off"),
        ({"damage_ratio": 0.5}, "damage_ratio", "0.5"),
    ],
)
def test_rows(rows: dict[str, Any], name: str, text: str) -> None:
    assert texts(revealed(**rows))[name] == text


def test_stamina_and_stocks() -> None:
    found = texts(
        revealed(
            PlayerSetup(index=0, character_id=FOX, start_stocks=3, player_bitfield=0xC1),
            PlayerSetup(index=1, character_id=FALCO, start_stocks=4),
        )
    )
    assert (found["mode"], found["stocks"]) == ("stamina", "3 and 4")


@pytest.mark.parametrize(
    ("dashback", "shield_drop", "text"),
    [(1, 1, "on"), (0, 0, "off"), (2, 2, "Dween"), (1, 0, "dashback on, shield drop off"), (7, 7, "unknown fix 7")],
)
def test_controller_fix(dashback: int, shield_drop: int, text: str) -> None:
    player = PlayerSetup(index=2, character_id=FOX, dashback_fix=dashback, shield_drop_fix=shield_drop)
    assert texts(revealed(player))["ucf3"] == text


def test_computers_have_no_controller() -> None:
    found = texts(revealed(PlayerSetup(index=0, character_id=FOX, type=1), PlayerSetup(index=1, character_id=FALCO)))
    assert "ucf1" not in found
    assert found["ucf2"] == "on"


def test_old_versions_show_less() -> None:
    assert texts(revealed(version=(0, 1, 0))).keys() == {
        "version", "mode", "timer", "stocks", "items", "damage_ratio",
    }  # fmt: skip


def test_codes() -> None:
    codes = code_list(hooks([0x800C9A44, 0x800998A4, 0x800908F4]))
    found = texts(revealed(codes=codes))
    assert found["codes"] == f"{codes.fingerprint[:8]} (3 codes)"
    assert {name: text for name, text in found.items() if name.startswith("codes_") and text != "none"} == {
        "codes_ucf": "UCF 0.8"
    }


@pytest.mark.parametrize(("scene", "why"), [(8, "played online"), (15, "no versus game"), (32, "no versus game")])
def test_incomparable_games(scene: int, why: str) -> None:
    assert revealed(major_scene=scene) == RevealedSetup(incomparable=why)


def test_settings_that_are_not_understood() -> None:
    assert describe_setup("slippi", {"players": 7}).incomparable == "the settings are of another version"
    assert describe_setup("tapes", {}).incomparable == "tapes replays do not show their setup"


def test_other_formats(tmp_path: Path) -> None:
    for name, data in other_games().items():
        path = tmp_path / name
        path.write_bytes(data)
        replay = open_replay(path)
        assert replay.codes is None
        if replay.format != "slippi":
            settings = msgspec.to_builtins(replay.settings)
            assert describe_setup(replay.format, settings).incomparable.startswith(replay.format)


def test_replays() -> None:
    def of(name: str) -> RevealedSetup:
        replay = open_replay(replay_path(name))
        return describe_setup("slippi", msgspec.to_builtins(replay.settings), replay.codes, replay.metadata)

    for name in ("rollbacks_3.18", *existing("FodPlatforms")):
        assert of(name).incomparable == "played online"
    for name in ("home_run_3.18", *existing("BTTDK")):
        assert of(name).incomparable == "no versus game"
    for name in ("pal_1.5", *existing("pal")):
        assert texts(of(name))["region"] == "PAL"
    for name in ("doubles_3.18", *existing("teams_p1p2_blueVSp4_green_winner_green")):
        assert texts(of(name))["team_attack"] == "on"
    for name in existing("nintendont"):
        console = texts(of(name))
        assert (console["platform"], console["version"]) == ("nintendont", "1.7.1")
        assert {text for key, text in console.items() if key.startswith("ucf")} == {"on"}
