"""The drawing of fighters: all movement follows from the frames alone, and the pictures show who is where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browsers.pages import open_page
from tests.web import javascript
from tests.web.javascript import needs_node
from tests.web.static_site import BASE, serve_static

STAND, LAND, FLY, DYING, REBORN, SHIELD = 0x0E, 0x2A, 0x58, 0x01, 0x0C, 0xB3
FOX, ICE_CLIMBERS, UNKNOWN = 2, 14, 99

MOTION = """
const { motionOf } = await import("./fighters.js");
return given.map(([frames, number]) => {
  const entries = frames.map(([frame, post]) => [frame, { frame, players: { 0: { post } } }]);
  const byNumber = new Map(entries);
  return motionOf(byNumber.get(number) ?? { frame: number, players: {} }, byNumber, 0);
});
"""
DRAWING = """async () => {
    const { loadNames } = await import("/static/slippi.js");
    await loadNames();
    const { drawFighters } = await import("/static/fighters.js");
    const { characterShape } = await import("/static/icons/glyphs.js");
    const { onArrival } = await import("/static/late.js");
    const colours = { red: "#ff0000", blue: "#0000ff", yellow: "#ffff00", sky: "#000000", quiet: "#888888" };
    const loaded = (id) => new Promise((done) => {
        const look = () => characterShape(id) !== null && done();
        onArrival(look);
        look();
    });
    await Promise.all([2, 9, 32].map(loaded));
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [200, 100];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    globalThis.picture = ({ frames, number, characters = [2, 9], still = false }) => {
        const fighters = characters.map((characterId, index) =>
            ({ index, characterId, costumeIndex: 0, colour: ["red", "blue"][index], hasStocks: true }));
        context.clearRect(0, 0, 200, 100);
        drawFighters(context, {
            frame: frames.find(({ frame }) => frame === number),
            frames: new Map(frames.map((frame) => [frame.frame, frame])), fighters, colours, still, minHigh: 10,
            camera: { left: -50, top: 40, scale: 2, ratio: 1 }, size: { width: 200, height: 100 },
        });
        const { data } = context.getImageData(0, 0, 200, 100);
        const pixel = (x, y) => data.slice(4 * (200 * y + x), 4 * (200 * y + x) + 4).join();
        return [...Array(100).keys()].map((y) => [...Array(200).keys()].map((x) => pixel(x, y)));
    };
}"""
"""Defines `picture`: the rows of pixels of a drawing of 100 by 50 game units, of which y = 0 is the row 80."""

Picture = list[list[str]]


def post(
    x: float = 0, y: float = 0, state: int = STAND, percent: float = 0, facing: int = 1, **fields: Any
) -> dict[str, Any]:
    return {
        "positionX": x, "positionY": y, "actionStateId": state, "percent": percent, "facingDirection": facing,
        "stocksRemaining": 4, "shieldSize": 60, **fields,
    }  # fmt: skip


def frame(number: int, *posts: dict[str, Any], follower: dict[str, Any] | None = None) -> dict[str, Any]:
    followers = {} if follower is None else {"0": {"post": follower}}
    return {
        "frame": number,
        "players": {str(i): {"post": each} for i, each in enumerate(posts)},
        "followers": followers,
    }


def flight(speed: float, step: int = 1) -> list[tuple[int, dict[str, Any]]]:
    """A hit of 12 % in frame 100, and the way of the fighter until frame 110."""
    before = [(i, post()) for i in range(90, 100)]
    after = [(i, post((i - 100) * speed, state=FLY, percent=12)) for i in range(100, 111)]
    return [each for each in before + after if each[0] % step == 110 % step]


@needs_node
def test_motion_follows_from_the_frames() -> None:
    landed = [[9, post(state=0x1D)], *([i, post(state=LAND)] for i in range(10, 20))]
    respawned = [[i, post(0, -150, DYING, 90) if i < 50 else post(0, 80, REBORN)] for i in range(20, 60)]
    (just, later, alone, slow, fast, sparse, repeated, seen_late, glass, reborn) = javascript.run(
        MOTION,
        [
            (landed, 10), (landed, 13), (landed[1:], 10), (flight(0.8), 110), (flight(3.5), 110), (flight(3.5, 4), 110),
            (flight(3.5)[::-1], 110), (flight(3.5), 125),
            ([[1, post(percent=30)], [2, post(percent=31)]], 2), (respawned, 55),
        ],
    )  # fmt: skip
    assert just["squash"] == 1
    assert 0 < later["squash"] < 1
    assert alone["squash"] == 0
    assert 0 < slow["trailFrames"] < fast["trailFrames"] == sparse["trailFrames"]
    assert (fast["damage"], fast["hitFrame"]) == (12, 100)
    assert abs(sparse["hitFrame"] - 100) < 4
    assert repeated == fast
    assert seen_late == {**seen_late, "hit": 0, "trailFrames": 0}, "the frame is missing"
    assert glass["hit"] == 0
    assert (reborn["hit"], reborn["trailFrames"], reborn["dyingFrames"]) == (0, 0, 0)


@pytest.fixture(scope="module")
def drawn(browser: Browser) -> Iterator[Page]:
    with open_page(browser, viewport={"width": 400, "height": 300}) as watched:
        serve_static(watched.page, "")
        watched.page.evaluate(DRAWING)
        yield watched.page
        watched.check(BASE)


def picture(page: Page, *frames: dict[str, Any], **options: Any) -> Picture:
    rows: Picture = page.evaluate(
        "options => picture(options)", {"frames": frames, "number": frames[-1]["frame"], **options}
    )
    return rows


def painted(rows: Picture) -> set[tuple[int, int]]:
    """Pixels that are not empty, as column and row."""
    return {(x, y) for y, row in enumerate(rows) for x, pixel in enumerate(row) if not pixel.endswith(",0")}


def test_fighter_is_its_glyph_and_faces_left_or_right(drawn: Page) -> None:
    right, left, unclear = (painted(picture(drawn, frame(1, post(facing=facing)))) for facing in (1, -1, 0))
    assert max(x for x, _ in right) - 100 > 100 - min(x for x, _ in right), "it points to the right"
    assert {(199 - x, y) for x, y in right} == left
    assert len(unclear) < len(right)
    fox, marth, unknown, other = (picture(drawn, frame(1, post()), characters=[id]) for id in (FOX, 9, UNKNOWN, 1234))
    assert unknown == other
    assert len({str(each) for each in (fox, marth, unknown)}) == 3


def test_two_climbers(drawn: Page) -> None:
    both = painted(picture(drawn, frame(1, post(-20), follower=post(20)), characters=[ICE_CLIMBERS]))
    columns = {x for x, _ in both}
    assert {60, 140} <= columns
    assert 100 not in columns
    leader, follower = ({x for x in columns if (x < 100) is first} for first in (True, False))
    assert len(follower) < len(leader)


def test_what_moves_is_absent_without_motion(drawn: Page) -> None:
    frames = [
        frame(i, post((i - 105) * 3 if i > 100 else -15, 10, FLY if i > 100 else STAND, 12 if i > 100 else 0))
        for i in range(95, 108)
    ]
    moving = picture(drawn, *frames)
    still = picture(drawn, *frames, still=True)
    assert painted(still) < painted(moving)
    assert still == picture(drawn, frames[-1]), "one frame without others is drawn without motion"
    assert moving == picture(drawn, *frames[::-1], number=107), "frames that come again give the same picture"
    landing = [frame(1, post(state=0x1D)), frame(2, post(state=LAND))]
    heights = [min(y for _, y in painted(picture(drawn, *landing, still=still))) for still in (False, True)]
    assert heights[0] > heights[1], "it is squashed"


def test_shield_and_lost_stock(drawn: Page) -> None:
    bare, small, full = (
        painted(picture(drawn, frame(1, post(state=state, shieldSize=size))))
        for state, size in ((STAND, 60), (SHIELD, 20), (SHIELD, 60))
    )
    assert bare < small < full
    dying = [frame(i, post(-60, 10, DYING if i > 5 else FLY)) for i in range(1, 12)]
    assert painted(picture(drawn, *dying, still=True)) < painted(picture(drawn, *dying))
    assert painted(picture(drawn, frame(1, post(stocksRemaining=0)))) == set()


def test_words_at_the_fighters(drawn: Page) -> None:
    """The stage view writes percent, and the hits of a combo that the opponent still feels."""
    words = drawn.evaluate(
        """async ([frames, settings]) => {
            await import("/static/stage_view.js");
            const view = document.createElement("stage-view");
            document.body.append(view);
            view.style.cssText = "display: block";
            view.querySelector("canvas").style.cssText = "width: 380px; height: 200px";
            const written = [];
            const write = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (words, ...place) {
                written.push(words);
                write.call(this, words, ...place);
            };
            const start = { gameId: "1", format: "slippi", rate: [60, 1], settings, end: null, scores: null };
            const all = [];
            for (const frame of frames) {
                written.length = 0;
                const game = { ...start, frame: frame.frame, players: new Map() };
                const frames = new Map([[frame.frame, frame]]);
                view.match = { game, frames, platformHeights: new Map(), play: () => frame };
                while (view.dataset.frame !== String(frame.frame)) await new Promise(requestAnimationFrame);
                all.push([...written]);
            }
            CanvasRenderingContext2D.prototype.fillText = write;
            view.remove();
            return all;
        }""",
        [
            [
                frame(1, post(-20, currentComboCount=3), post(20, state=FLY, percent=41.7, lastHitBy=0)),
                frame(2, post(-20, currentComboCount=3), post(20, percent=41.7, lastHitBy=0)),
                frame(3, post(-20), post(20, stocksRemaining=9)),
            ],
            {
                "stageId": 31,
                "players": [
                    {"playerIndex": i, "port": i + 1, "characterId": FOX, "startStocks": 4, "displayName": name}
                    for i, name in enumerate(("Aki", "W" * 60))
                ],
            },
        ],
    )
    assert [sorted({re.sub("W+…", "W…W", word) for word in each}) for each in words] == [
        ["3 hits", "Aki 0%", "W…W 41%"], ["Aki 0%", "W…W 41%"], ["Aki 0%", "W…W 0% ×9"],
    ]  # fmt: skip
