"""The tables of names on the pages: served unchanged, and read by the scripts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from slpstream.formats.registry import name_folders
from slpstream.formats.slippi import names
from tests.formats.slippi import name_lookups
from tests.project import ROOT
from tests.web.javascript import needs_node, run
from tests.web.served import served

FILES = [(name, file.name) for name, folder in name_folders().items() for file in sorted(folder.glob("*.json"))]


def test_overlay_page_lists_the_files_of_slippi() -> None:
    page = (ROOT / "docs" / "howto" / "overlay.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `slippi/(\w+\.json)` \|", page, re.MULTILINE)
    assert sorted(listed) == [file for name, file in FILES if name == "slippi"]


LOAD_FROM_DISK = """
    const { readFile } = await import("node:fs/promises");
    globalThis.fetch = async (url) => ({ status: 200, json: async () => JSON.parse(await readFile(url, "utf8")) });
"""


def load(script: str, given: Any) -> Any:
    """Run a script in node, where `fetch` reads the tables from the disk, and return its result."""
    return run(LOAD_FROM_DISK + script, given)


@pytest.mark.trio
async def test_name_files_of_all_formats_are_served() -> None:
    async with served(name_folders=name_folders()) as server:
        for name, file in FILES:
            answer = await server.ask(f"/static/names/{name}/{file}")
            assert answer.status == 200
            assert answer.body == (name_folders()[name] / file).read_bytes()
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["cache-control"] == "no-cache"
            assert answer.headers["access-control-allow-origin"] == "*"
            again = await server.ask(f"/static/names/{name}/{file}", if_none_match=answer.headers["etag"])
            assert again.status == 304
        for path in (
            "slippi/__init__.py",
            "slippi/nothing.json",
            "slippi/",
            "nothing/stages.json",
            "slippi/../gci/parts.py",
        ):
            assert (await server.ask(f"/static/names/{path}")).status == 404, "no other files are served"


@pytest.mark.trio
async def test_names_of_a_third_party_format_are_served(tmp_path: Path) -> None:
    (tmp_path / "buttons.json").write_text('{"rows": {"1": {"name": "the button"}}}')
    async with served(name_folders={"tap": tmp_path}) as server:
        answer = await server.ask("/static/names/tap/buttons.json")
        assert answer.json["rows"]["1"]["name"] == "the button"


@needs_node
def test_pages_show_the_names_of_the_daemon() -> None:
    ids = list(range(100))
    shown = load(
        """
        const { gamePlayers, loadNames, stageOf } = await import("./slippi.js");
        const { attackName, loadAttackNames } = await import("./attacks.js");
        const player = (internalCharacterId, characterId = -1) => {
          const setup = { playerIndex: 0, port: 1, characterId, characterColor: 1 };
          const post = internalCharacterId === null ? {} : { internalCharacterId };
          const game = { settings: { players: [setup] }, players: new Map([[0, { post }]]) };
          const [{ character, costume }] = gamePlayers(game);
          return [character, costume];
        };
        const before = [stageOf(31), attackName(13), player(null, 2)[0]];
        const { onArrival } = await import("./late.js");
        let loaded = 0;
        onArrival(() => loaded++);
        await loadNames();
        await loadAttackNames();
        return {
          before,
          loaded,
          stages: given.map((id) => stageOf(id)),
          attacks: given.map((id) => attackName(id)),
          characters: given.map((id) => player(null, id)),
          fighters: given.map((id) => player(id)),
        };
        """,
        ids,
    )
    assert shown["before"] == ["Stage 31", "Attack 13", "Character 2"]
    assert shown["loaded"] == 2
    assert shown["stages"] == [names.stage_name(number) or f"Stage {number}" for number in ids]
    assert shown["attacks"] == ["no attack", *(names.move_name(number) or f"Attack {number}" for number in ids[1:])]

    def character(external_id: int) -> list[str]:
        name = names.character_name(external_id) or f"Character {external_id}"
        return [name, name_lookups.costume_name(external_id, 1) or ""]

    fighters = names.internal_characters()
    assert shown["characters"] == [character(number) for number in ids]
    assert shown["fighters"] == [character(fighters[n].external_id if n in fighters else -1) for n in ids]


@needs_node
def test_swatches_have_the_colours_of_the_table() -> None:
    swatches = load(
        """
        const { swatch } = await import("./costumes.js");
        const before = swatch(2, "Default");
        await (await import("./slippi.js")).loadNames();
        return { before, after: given.map(([character, costume]) => swatch(character, costume)) };
        """,
        [[2, "Default"], [2, "Blue"], [6, ""], [99, "Default"], [99, "Red"]],
    )
    unknown = {"letters": "?", "colour": "#8791a5", "ink": "#ffffff"}
    assert swatches["before"] == unknown
    assert swatches["after"] == [
        {"letters": "Fx", "colour": "#d98b3a", "ink": "#10131a"},
        {"letters": "Fx", "colour": "#3f7fe8", "ink": "#ffffff"},
        {"letters": "Lk", "colour": "#4f9d4a", "ink": "#ffffff"},
        unknown,
        {"letters": "?", "colour": "#e2403b", "ink": "#ffffff"},
    ]


@needs_node
def test_replay_has_the_heights_of_moving_platforms() -> None:
    """The newest height of each side platform on Fountain of Dreams; other stages have no such platforms."""
    heights = load(
        """
        globalThis.HTMLElement ??= class {};
        const { loadNames } = await import("./slippi.js");
        const { Replay } = await import("./replay.js");
        await loadNames();
        const stageEvents = (frame) => given.events.filter((event) => event.frame === frame);
        const get = async (path) => {
          const [from, to] = [/from=(-?[0-9]+)/, /to=(-?[0-9]+)/].map((part) => Number(part.exec(path)?.[1]));
          const frames = [];
          for (let frame = from; frame <= to; frame++) {
            frames.push({ frame, players: {}, stageEvents: stageEvents(frame) });
          }
          return { status: 200, body: { frames } };
        };
        const found = [];
        for (const stageId of given.stages) {
          const game = { gameId: "g", rate: [60, 1], settings: { stageId, players: [] } };
          const options = { get, game: () => game, last: () => 60, onChange() {}, onEnd() {}, shown: null };
          const replay = new Replay(options, given.at);
          while (replay.waiting) {
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
          found.push([...replay.platformHeights].sort());
        }
        return found;
        """,
        {
            "events": [
                {"frame": 3, "kind": "fod_platform", "platform": 0, "height": 20.5},
                {"frame": 5, "kind": "fod_platform", "platform": 0, "height": 21.5},
                {"frame": 6, "kind": "fod_platform", "platform": 1, "height": 10.0},
                {"frame": 50, "kind": "fod_platform", "platform": 1, "height": 0.0},
            ],
            "stages": [2, 31],
            "at": 40,
        },
    )
    assert heights == [[[0, 21.5], [1, 10]], []]


@needs_node
def test_pages_count_time_from_the_first_frame() -> None:
    """Both in Slo-Mo Melee, whose stats count the frames in which players have control, and in an ordinary game."""
    found = run(
        """
        const { clock, timerStart } = await import("./slippi.js");
        const settings = { timerType: 2, startingTimerSeconds: 480 };
        return {
          starts: given.map((stats) => timerStart(stats)),
          clocks: [-123, 600, 28_800, 262_433].map((frame) => clock({ settings, frame })),
        };
        """,
        [{"lastFrame": 263_696, "playableFrameCount": 1179}, {"lastFrame": 1140, "playableFrameCount": 1179}, None],
    )
    assert found == {"starts": [262_556, 0, 0], "clocks": ["8:00", "7:50", "0:00", ""]}


@needs_node
def test_names_of_a_set_take_precedence_over_those_of_a_game() -> None:
    """The daemon's names may be outdated. A game of an earlier set keeps the names from the daemon."""
    found = run(
        """
        const { gamePlayers } = await import("./slippi.js");
        const { summaryPlayers } = await import("./summary.js");
        const players = [{ playerIndex: 0, port: 1 }];
        const game = {
          format: "slippi", settings: { players }, summary: { players: [{ index: 0 }] },
          players: new Map(), scores: null, names: new Map([[0, "Mika"]]),
        };
        const sets = [null, { players }, { players: [{ ...players[0], name: "Juno" }] }];
        return sets.map((set) => [gamePlayers(game, set)[0].name, summaryPlayers(game, set)[0].name]);
        """,
        None,
    )
    assert found == [["Mika", "Mika"], ["P1", "P1"], ["Juno", "Juno"]]
