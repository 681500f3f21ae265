"""Scenes over a fake picture of a game, fed by the test: messages over the page's websocket, responses over HTTP.

The game's own display is painted where Melee draws it, so that a screenshot shows which parts a scene covers.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Page, WebSocketRoute

from tests.daemons.process import DaemonProcess

GAME = "0123456789abcdef0123456789abcdef"
SIZES = ((1920, 1080), (1280, 720), (300, 360))
ASPECTS: Mapping[str, float] = {"4:3": 4 / 3, "73:60": 73 / 60, "16:9": 16 / 9}
OF_ALL = ("ticker", "director")
"""The scenes without a station in their address."""
THEMES = ("dark", "light", "neon", "varsity")
LAYOUTS = ("sides", "top", "bottom", "hud")
CELLS = {"few": (("dark", SIZES[0]), ("light", SIZES[2])), "all": tuple(product(THEMES, SIZES))}
"""The grid of themes and sizes; the gate looks at a few cells."""
FIGURES = (0.0, 0.74, 1.0, 0.215)
TIMER = (0.34, 0.0, 0.32, 0.12)
"""Left, top, width and height of the game's own display, as shares of its picture; see `game_area.js`."""

CHARACTERS = ((2, 1), (9, 0), (20, 2), (0, 5))

NAMES = (
    "Zain", "Cody Schwab", "aMSa", "Mang0", "Hungrybox", "Jmook", "Plup", "moky", "Joshman", "Axe",
    "Golden Guardians | Zain", "Team Liquid | Hungrybox", "VGBootCamp | Hax$", "Panda Global | Plup",
    "Beastcoast x Shopify Rebellion | KoDoRiN", "Counter Logic Gaming | PewPewU", "Evil Geniuses | PPMD",
    "あかさたなはまやらわ", "ズバリ", "アマサ | よっしー使い", "超絶最強伝説的大乱闘選手権覇者", "侍ソウル",
    "김치찌개", "海鮮炒飯大盛り一丁", "Ӝуравлёв Константин", "Ελλάδα Παίκτης",
    "🔥🔥🔥 Firefox 🔥🔥🔥", "👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦", "🏳️‍🌈 Ally 🏳️‍⚧️", "🇲🇽 La Leyenda 🇲🇽",
    "محمد عبد الرحمن", "שלום עולם הגדול", "Team العربية | لاعب", "\u202eevil", "Z͑ͫ̓a̴l͒g̚o̸",
    "WWWWWWWWWWWWWWWWWWWW", "MMMMMMMMMM", "日本スマブラ協会 | あぷこ・ザ・キャプテン",
    "Sir Reginald of Long Winding Road", "a", "i" * 40, "ThisNameHasNoSpacesAndIsVeryVeryLongIndeed",
    "<b>bold</b> & \"quoted\"", "<script>alert(1)</script>",
)  # fmt: skip
"""44 names: real ones with long sponsors, Japanese, Korean, Cyrillic, emoji, right-to-left, combining marks, markup."""


def game_picture(width: int, height: int, aspect: float = 4 / 3, *, players: int = 4) -> str:
    """A CSS background: a stage with two fighters, and the game's percents, stocks and timer where Melee shows them."""
    game_width = min(width, height * aspect)
    game_height = game_width / aspect
    left, top = (width - game_width) / 2, (height - game_height) / 2

    def x(share: float) -> float:
        return left + share * game_width

    def y(share: float) -> float:
        return top + share * game_height

    figures = "".join(
        f'<circle cx="{x(share):.1f}" cy="{y(0.845):.1f}" r="{0.075 * game_height:.1f}" fill="#ffffff22"/>'
        f'<text x="{x(share):.1f}" y="{y(0.925):.1f}" font-size="{0.12 * game_height:.1f}">{percent}%</text>'
        + "".join(
            f'<circle cx="{x(share - 0.05 + 0.03 * stock):.1f}" cy="{y(0.785):.1f}" r="{0.012 * game_height:.1f}"/>'
            for stock in range(4)
        )
        for share, percent in (
            ((0.17, 134), (0.41, 27), (0.65, 88), (0.88, 0)) if players == 4 else ((0.3, 47), (0.66, 88))
        )
    )
    fighters = "".join(
        f'<g fill="{colour}" transform="translate({x(share):.1f} {y(top_share):.1f}) scale({game_height / 1000:.3f})">'
        '<circle cy="-104" r="22"/><path d="M-24-78h48l10 46-18 32h14v10h-26l-4-30-4 30h-26v-10h14l-18-32z"/></g>'
        for share, top_share, colour in ((0.4, 0.58, "#d8433c"), (0.69, 0.42, "#3a67d8"))
    )
    platforms = "".join(
        f'<rect x="{x(left_share):.1f}" y="{y(top_share):.1f}" width="{0.18 * game_width:.1f}" '
        f'height="{0.015 * game_height:.1f}" fill="#dfe8ff"/>'
        for left_share, top_share in ((0.22, 0.42), (0.6, 0.42), (0.41, 0.28))
    )
    hills = "".join(
        f'<path d="M{x(0):.1f} {y(top_share):.1f}Q{x(bend):.1f} {y(top_share - 0.2):.1f} {x(1):.1f} {y(top_share):.1f}'
        f'V{y(1):.1f}H{x(0):.1f}Z" fill="{colour}"/>'
        for top_share, bend, colour in ((0.6, 0.3, "#6f88b8"), (0.68, 0.75, "#4a7a6d"), (0.78, 0.4, "#8fae9c"))
    )
    svg = f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">
      <defs><linearGradient id="sky" x2="0" y2="1"><stop stop-color="#4f8fd8"/><stop offset=".6" stop-color="#f6e7b4"/>
      </linearGradient><linearGradient id="rock" x2="0" y2="1"><stop stop-color="#6b7690"/>
      <stop offset="1" stop-color="#252c3f"/></linearGradient></defs>
      <rect width="100%" height="100%"/>
      <rect x="{left}" y="{top}" width="{game_width}" height="{game_height}" fill="url(#sky)"/>
      <circle cx="{x(0.76)}" cy="{y(0.3)}" r="{0.07 * game_height}" fill="#fff6d8"/>{hills}
      <path d="M{x(0.14)} {y(0.58)}H{x(0.86)}L{x(0.8)} {y(0.63)}L{x(0.66)} {y(0.71)}H{x(0.34)}L{x(0.2)} {y(0.63)}Z"
        fill="url(#rock)"/>
      <path d="M{x(0.14)} {y(0.58)}H{x(0.86)}L{x(0.85)} {y(0.592)}H{x(0.15)}Z" fill="#c9d6c0"/>{platforms}{fighters}
      <g fill="#fff" stroke="#000" stroke-width="{0.003 * game_height}" text-anchor="middle" font-weight="900"
        font-family="Arial">{figures}
      <text x="{x(0.5)}" y="{y(0.085)}" font-size="{0.075 * game_height}">5:43:21</text></g></svg>"""
    return f'url("data:image/svg+xml,{quote(svg)}")'


def scene_address(daemon: DaemonProcess, scene: str, query: str = "") -> str:
    """The address of a scene of the station `station`. `query` begins with a question mark or a hash."""
    return f"{daemon.url}/scenes/{scene}{'' if scene in OF_ALL else '/station'}{query}"


def person(index: int, name: str, *, team: int = 0) -> dict[str, Any]:
    """A player of the settings."""
    character, colour = CHARACTERS[index]
    return {
        "playerIndex": index,
        "port": index + 1,
        "characterId": character,
        "characterColor": colour,
        "startStocks": 4,
        "teamId": team,
        "displayName": name,
        "nametag": "",
        "connectCode": f"CODE#{index}",
    }


class Messages(ABC):
    """The messages of a daemon about one station."""

    @abstractmethod
    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message, or keep it for later."""

    def station(self, state: str, game: str = "", name: str = "station") -> None:
        self.send({"type": "station", "station": name, "state": state, **({"gameId": game} if game else {})})

    def log(self, type: str, offset: int, game: str = GAME, **payload: Any) -> None:
        self.send({"type": type, "station": "station", "gameId": game, "cursor": f"{game}/l{offset}.0", **payload})

    def start(self, *names: str, teams: bool = False, stage: int = 31, game: str = GAME, **values: Any) -> None:
        players = [person(i, name, team=i % 2) for i, name in enumerate(names)]
        settings = {"stageId": stage, "inGameMode": 32, "timerType": 2, "startingTimerSeconds": 480, "isTeams": teams}
        given = settings | {"players": players}
        self.log("game_start", 0, game, format="slippi", rate=[60, 1], settings=given, **values)

    def frame(self, number: int, *percents: float, stocks: Sequence[int] = (4, 4, 4, 4), game: str = GAME) -> None:
        players = {
            str(i): {
                "pre": {"joystickX": 0.7, "joystickY": -0.3, "physicalButtons": 0x100},
                "post": {"percent": percent, "stocksRemaining": stocks[i]},
            }
            for i, percent in enumerate(percents)
        }
        self.log("frame", number + 200, game, frame={"frame": number, "revision": 0, "players": players})

    def event(self, kind: str, frame: int, player: int, **payload: Any) -> None:
        self.log("event", frame + 201, kind=kind, frame=frame, playerIndex=player, **payload)

    def odds(self, frame: int, odds: float, game: str = GAME) -> None:
        message = {"type": "odds", "station": "station", "gameId": game, "frame": frame, "players": [0, 1]}
        self.send(message | {"odds": odds, "stocks": [2, 3]})

    def matchup(self, names: Sequence[str], opponents: Sequence[str] = ("aMSa", "Plup"), **values: Any) -> None:
        """What is known about two players. With no `opponents`, nothing is known about the second one."""
        battlefield = {"kind": "stage", "id": 31, "name": "Battlefield"}
        dream_land = {"kind": "stage", "id": 28, "name": "Dream Land N64"}
        known = {
            "games": 24, "averageSeconds": 187.3, "openingsPerKill": 5.81,
            "results": [{"opponent": name, "score": [i, 2], "won": i > 2} for i, name in enumerate(opponents, 1)],
            "stages": [{"stage": battlefield, "games": 9, "won": 6}, {"stage": dream_land, "games": 8, "won": 1}],
            "worked": {"character": {"kind": "character", "id": 2, "name": "Fox"}, "stage": dream_land}
            | {"games": 5, "won": 4},
        }  # fmt: skip
        nothing = {"games": 0, "results": [], "stages": []}
        players = [{"name": names[0], **known}, {"name": names[1], **(known if opponents else nothing)}]
        head_to_head = {"sets": [3, 1], "games": [8, 5], "last": {"at": "2026-11-12T20:15:00Z", "score": [2, 1]}}
        message = {"type": "matchup", "station": "station", "players": players, "headToHead": head_to_head}
        self.send(message | values)

    def combo(self, frame: int, *damages: float, kind: str = "combo_extended") -> None:
        """An event about a combo of player 0 on player 1."""
        moves = [{"playerIndex": 0, "frame": frame, "moveId": 2, "hitCount": 1, "damage": damage} for damage in damages]
        self.event(kind, frame, 1, combo={"playerIndex": 1, "moves": moves})

    def ko(self, frame: int, by: int, victim: int, percent: float) -> None:
        """A stock that one player takes from another."""
        move = {"playerIndex": by, "frame": frame, "moveId": 12, "hitCount": 1, "damage": 15}
        conversion = {"playerIndex": victim, "lastHitBy": by, "didKill": True, "moves": [move], "endPercent": percent}
        self.event("conversion_ended", frame, victim, conversion=conversion)
        self.event("stock_lost", frame, victim, stocksRemaining=3, stock={"endPercent": percent})

    def end(self, *winners: int, game: str = GAME, seconds: float = 151.2) -> None:
        won = [{"playerIndex": index, "position": 0} for index in winners]
        self.log(
            "game_end", 100_000, game, reason="game_end", winners=won, gameEnd={"gameEndMethod": 2},
            durationSeconds=seconds,
        )  # fmt: skip

    def set(self, names: Sequence[str], score: Sequence[int] = (0, 0), **values: Any) -> None:
        """A set of singles; with four names, of teams of two."""
        per_side = len(names) // 2
        players = [
            {"playerIndex": i, "port": i + 1, "side": i % 2 if per_side == 2 else i, "name": name,
             "score": score[i % 2 if per_side == 2 else i], "characterId": CHARACTERS[i][0],
             "characterColor": CHARACTERS[i][1], **({"team": i % 2} if per_side == 2 else {})}
            for i, name in enumerate(names)
        ]  # fmt: skip
        for index, details in values.pop("details", {}).items():
            players[index].update(details)
        sides = [
            {"name": " & ".join(names[i] for i in range(side, len(names), 2)), "score": score[side], "won": score[side],
             "players": list(range(side, len(names), 2))}
            for side in (0, 1)
        ]  # fmt: skip
        message = {
            "type": "set", "station": "station", "state": "running", "bestOf": 5, "winsNeeded": 3, "players": players,
            "score": [player["score"] for player in players], "sides": sides, "games": [],
        }  # fmt: skip
        self.send(message | values)


class Station(Messages):
    """The daemon's end of a page's websocket, for one station. It can feed several pages in turn."""

    def __init__(self, page: Page, state: str = "playing") -> None:
        self.routes: list[WebSocketRoute] = []
        self._page = page
        self._state = state
        page.route_web_socket("**/v1/stream**", self._connected)

    def _connected(self, route: WebSocketRoute) -> None:
        self.routes.append(route)
        self.send({"type": "hello", "protocol": 1, "version": "0", "stations": ["station"]})
        self.station(self._state, GAME if self._state == "playing" else "")

    def send(self, message: Mapping[str, Any]) -> None:
        self.routes[-1].send(json.dumps(message))

    def lose_connection(self) -> None:
        self.routes[-1].close(code=1001)


def opened(page: Page, address: str, state: str = "playing") -> Station:
    """Open a scene or an overlay that gets its messages from the test, and wait until it is connected."""
    station = Station(page, state)
    page.goto(address)
    page.locator("[data-phase]").first.wait_for(state="attached")
    return station


def announce(station: Station, page: Page, *names: str, **values: Any) -> None:
    """Announce a set, with sets of other stations."""
    details = {0: {"pronouns": "they/them", "seed": 1}, 1: {"seed": 3}}
    given = {"state": "upcoming", "round": "Grand Final", "event": "The Big Field 12", "details": details} | values
    station.set(names, **given)
    for i in range(3 if "up-next" in page.url or "ticker" in page.url else 0):
        station.set(("aMSa", "Golden Guardians | Hungrybox"), (1, i), station=f"setup{i + 1}", round="Losers Semis")


OVERLAPS = """([left, top, width, height]) => {
  const area = (name) => parseFloat(getComputedStyle(document.documentElement).getPropertyValue(`--game-${name}`));
  const region = {
    left: area("left") + left * area("width"), top: area("top") + top * area("height"),
    right: area("left") + (left + width) * area("width"), bottom: area("top") + (top + height) * area("height"),
  };
  const drawn = [...document.querySelectorAll("body *")].filter((element) => {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const paints = element.matches("canvas, svg, img") || style.backgroundImage !== "none" ||
      style.backgroundColor !== "rgba(0, 0, 0, 0)" || parseFloat(style.borderTopWidth) > 0 ||
      [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    return paints && style.visibility === "visible" && style.opacity !== "0" && box.width > 0 && box.height > 0;
  });
  return drawn.map((element) => [element.className, element.getBoundingClientRect()])
    .filter(([, box]) => box.left < region.right - 0.5 && box.right > region.left + 0.5
      && box.top < region.bottom - 0.5 && box.bottom > region.top + 0.5)
    .map(([name, box]) => `${name} ${[box.left, box.top, box.right, box.bottom].map(Math.round)}`);
}"""
"""The elements that draw something in a region of the game's picture."""

CUT = """() => [...document.querySelectorAll(".name, .sponsor, .extra, .percent, .score")].flatMap((box) => {
  if (box.getClientRects().length === 0) return [];
  const outer = box.getBoundingClientRect();
  const page = document.documentElement;
  return [...(box.children.length ? box.children : [box])].flatMap((content) => {
    if (content.getClientRects().length === 0) return [];
    const inner = content.getBoundingClientRect();
    const outside = inner.left < outer.left - 1.5 || inner.right > outer.right + 1.5;
    const offPage = inner.left < -0.5 || inner.right > page.clientWidth + 0.5;
    const wide = content.scrollWidth > Math.ceil(inner.width) + 1.5 && getComputedStyle(content).display !== "inline";
    return outside || offPage || wide ? [`${box.className}: ${content.textContent}`] : [];
  });
})"""
"""Texts that do not fit into their boxes, or are outside the page."""

TEXTS = """
const texts = (() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    const style = getComputedStyle(element);
    let opacity = 1;
    for (let each = element; each !== null; each = each.parentElement) {
      opacity *= Number(getComputedStyle(each).opacity);
    }
    const forEyes = element.closest(".stocks .text, [aria-hidden=true] .station ~ *") === null;
    if (node.data.trim() === "" || opacity === 0 || style.visibility !== "visible" || !forEyes) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = [...range.getClientRects()].filter(({ width, height }) => width > 1 && height > 1)
      .map(({ left, right, top, bottom, height }) =>
        ({ left, right, top: top + 0.2 * height, bottom: bottom - 0.16 * height }));
    const name = element.getAttribute("class") || element.tagName.toLowerCase();
    if (lines.length > 0) found.push({ node, element, style, opacity, lines, name, words: node.data.trim() });
  }
  return found;
})();
const paints = (element) => {
  const { backgroundColor, backgroundImage, borderTopWidth } = getComputedStyle(element);
  return backgroundColor !== "rgba(0, 0, 0, 0)" || backgroundImage !== "none" || parseFloat(borderTopWidth) > 0;
};
const clips = (element) => {
  const boxes = [];
  for (let each = element; each !== document.documentElement; each = each.parentElement) {
    if (!["visible", ""].includes(getComputedStyle(each).overflowX)) boxes.push(each.getBoundingClientRect());
  }
  boxes.push({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });
  return boxes;
};
"""
"""Every visible text: where its letters are, line by line; the boxes that clip it; which elements paint a box."""

CROWDED = f"""() => {{
  {TEXTS}
  const problems = [];
  const drawn = [];
  for (const {{ element, lines, name, words }} of texts) {{
    if (element.closest(".window:not(.still)") !== null) continue;  // it moves across the picture
    const boxes = clips(element);
    for (const line of lines) {{
      const outside = ([by]) => boxes.some((box) => line.left < box.left - by || line.right > box.right + by
        || line.top < box.top - by || line.bottom > box.bottom + by);
      const gone = boxes.some((box) => line.left >= box.right || line.top >= box.bottom);
      if (gone && element.closest(".seed, .still, .info") !== null) continue;  // omitted as a whole
      const shortened = getComputedStyle(element).textOverflow === "ellipsis";
      if (shortened) {{
        const {{ left, right }} = element.getBoundingClientRect();
        line.left = Math.max(line.left, left);
        line.right = Math.min(line.right, right);
      }}
      if (outside([1.5])) problems.push(`cut: ${{name}}: ${{words}}`);
      const middle = (line.top + line.bottom) / 2;
      for (const x of [line.left + 1, (line.left + line.right) / 2, line.right - 1]) {{
        for (const y of [line.top + 1, middle, line.bottom - 1]) {{
          const stack = document.elementsFromPoint(x, y);
          const above = stack.slice(0, stack.findIndex((each) => each.contains(element) || element.contains(each)));
          // The lines of other texts may touch the edges.
          const draws = (each) => paints(each) || each.matches("canvas, img, svg");
          const cover = y === middle ? above[0] : above.find(draws);
          if (cover !== undefined) problems.push(`covered: ${{name}}: ${{words}} by ${{cover.className}}`);
        }}
      }}
      drawn.push({{ ...line, element, name, words }});
    }}
  }}
  drawn.forEach((one, i) => drawn.slice(i + 1).forEach((other) => {{
    const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (one.element !== other.element && wide > 1 && high > 1) {{
      problems.push(`${{one.name}}: ${{one.words}} over ${{other.name}}: ${{other.words}}`);
    }}
  }}));
  return [...new Set(problems)];
}}"""
"""Texts that are cut by a box or the page, covered by another element, or overlapping."""

LEFT_THEIR_BOX = f"""() => {{
  {TEXTS}
  const problems = [];
  for (const {{ element, lines, name, words }} of texts) {{
    let box = element;
    while (box !== null && !paints(box)) box = box.parentElement;
    if (box === null || box === document.documentElement || element.closest(".window") !== null) continue;
    const {{ left, right, top, bottom }} = box.getBoundingClientRect();
    const shown = getComputedStyle(element).textOverflow === "ellipsis" ? element.getBoundingClientRect() : null;
    for (const line of lines) {{
      if (clips(element).some((clip) => line.top >= clip.bottom - 1.5)) continue;  // not shown
      if (shown === null ? line.left < left - 1.5 || line.right > right + 1.5 : shown.right > right + 1.5) {{
        problems.push(`beside its box ${{box.className}}: ${{name}}: ${{words}}`);
      }} else if (line.top < top - 1.5 || line.bottom > bottom + 1.5) {{
        problems.push(`above or below its box ${{box.className}}: ${{name}}: ${{words}}`);
      }}
    }}
  }}
  return [...new Set(problems)];
}}"""
"""Texts that leave the nearest element around them that has a background or a border."""

_STRIPES = "repeating-linear-gradient(90deg, #000 0 6px, #fff 6px 12px)"
_HIDE_TEXTS = f"""() => {{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* {{ animation: none !important; transition: none !important; }}");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  {TEXTS}
  window.shownTexts = texts.map((each) => ({{ ...each, clips: clips(each.element) }}));
  sheet.insertRule("* {{ -webkit-text-fill-color: transparent !important; text-shadow: none !important; }}");
  sheet.insertRule("svg text {{ fill-opacity: 0 !important; }}");
  const root = document.documentElement.style;
  const before = root.background;
  root.background = "{_STRIPES}";
  return before;
}}"""
_SHOW_TEXTS = """before => {
  document.adoptedStyleSheets = document.adoptedStyleSheets.slice(0, -1);
  document.documentElement.style.background = before;
}"""
_CONTRASTS = """async (png) => {
  const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  if (window.shownTexts.some(({ element }) => !element.isConnected)) return null;  // redrawn since it was hidden
  const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  const luminance = (colour) => {
    const linear = (share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = colour.map((channel) => linear(channel / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const results = [];
  for (const { element, style, opacity, lines, name, words, clips } of window.shownTexts) {
    const ofSvg = element.namespaceURI.endsWith("svg");
    const [red, green, blue, alpha = 1] = (ofSvg ? style.fill : style.color).match(/[\\d.]+/g).map(Number);
    const scale = ofSvg ? element.getScreenCTM().a : 1;
    const size = parseFloat(style.fontSize) * scale;
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const below = new Set();
    for (const line of lines) {
      const boxes = [...clips, line];
      const [left, top] = ["left", "top"].map((side) => Math.ceil(Math.max(...boxes.map((box) => box[side]))));
      const [right, bottom] = ["right", "bottom"].map((side) => Math.floor(Math.min(...boxes.map((box) => box[side]))));
      if (right <= left || bottom <= top) continue;
      const { data } = context.getImageData(left, top, right - left, bottom - top);
      new Uint32Array(data.buffer).forEach((pixel) => below.add(pixel));
    }
    const values = [...below].map((pixel) => {
      const ground = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
      const share = alpha * opacity;
      const ink = [red, green, blue].map((channel, i) => channel * share + ground[i] * (1 - share));
      return contrast(ink, ground);
    });
    if (values.length > 0) results.push([name, words, Math.min(...values), large ? 3 : 4.5]);
  }
  return results;
}"""


_PICTURES = 10
"""The maximum number of attempts to take a picture of a page without a redraw in between."""


def settle(page: Page) -> None:
    """Wait until the fonts of the shown texts are loaded, and texts have been fitted with them."""
    page.evaluate(
        "async () => { await document.fonts.ready;"
        " for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame); }"
    )


def contrasts(page: Page) -> list[Any]:
    """Class, text, contrast, and the contrast that it needs, of every text on the page.

    It is the lowest contrast between the text's colour and a background pixel under its letters, over a video of black
    and white stripes. Before that, we wait for the fonts, because texts move when these arrive.
    """
    settle(page)
    devtools = page.context.new_cdp_session(page)  # takes a picture in much less time than Playwright
    for _ in range(_PICTURES):
        before = page.evaluate(_HIDE_TEXTS)
        picture = devtools.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})["data"]
        page.evaluate(_SHOW_TEXTS, before)
        found: list[Any] | None = page.evaluate(_CONTRASTS, picture)
        if found is not None:
            assert found, "the page shows no text"
            return found
    raise AssertionError(f"texts of the page were replaced while each of {_PICTURES} pictures was taken")


def poor_contrasts(page: Page) -> list[Any]:
    """Texts whose contrast is too low."""
    return [each for each in contrasts(page) if each[2] < each[3]]
