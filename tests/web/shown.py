"""Compare an overlay, read from its DOM, with the log of the game.

The page writes the number of the displayed frame into `data-frame`, so that each reading of the page is compared with
exactly that frame.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from slpstream.api import messages
from slpstream.formats.slippi import names
from tests.daemons.simulated import simulate
from tests.formats.slippi import name_lookups
from tests.replays import SLP
from tests.synthetic.match import synthetic_match

SECONDS = 30.0
TEAMS = ("red", "blue", "green")

READ_PAGE = """() => {
  const text = (root, selector) => root.querySelector(selector)?.textContent;
  const list = document.querySelector(".players");
  return {
    frame: list.dataset.frame,
    stage: text(document, ".stage"),
    clock: text(document, ".clock"),
    combos: [...list.querySelectorAll(".combo")].map((tag) => tag.classList.contains("shown")
      ? [Number(tag.dataset.hits), text(tag, ".damage")] : null),
    players: [...list.children].map((card) => ({
      port: Number(card.dataset.port),
      colour: card.dataset.colour,
      name: text(card, ".name"),
      character: text(card, ".fighter"),
      costume: text(card, ".costume"),
      stocks: text(card, ".stocks .text"),
      icons: card.querySelectorAll(".icon:not(.lost)").length,
      lost: card.querySelectorAll(".icon.lost").length,
      percent: text(card, ".percent"),
    })),
  };
}"""

RECORD_DISPLAY = f"""() => {{
  const read = {READ_PAGE};
  window.shown = [];
  const observer = new MutationObserver(() => window.shown.push(read()));
  const everything = {{attributes: true, childList: true, characterData: true, subtree: true}};
  observer.observe(document.querySelector(".overlay"), everything);
}}"""
"""A script that records the displayed values after every change of the page."""


class Log:
    """The log of a game by frame number, with all revisions of a frame."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.frames: dict[int, list[dict[str, Any]]] = {}
        self.ended = False
        self._combos: list[dict[str, Any]] = []

    def take(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "game_start":
            self.settings = message["settings"]
        elif message["type"] == "frame":
            self.frames.setdefault(message["frame"]["frame"], []).append(message["frame"])
        elif message["type"] == "event" and "combo" in message:
            self._combos.append(dict(message))
        elif message["type"] == "game_end":
            self.ended = True

    def pages(self, number: int) -> list[dict[str, Any]]:
        """The values that are valid for this frame: one for each revision."""
        return [self._page(number, entry) for entry in self.frames.get(number, ())]

    def combos(self, attacker: int) -> list[tuple[int, tuple[int, str] | None]]:
        """The combos of a player as (frame, text displayed from that frame). Single hits are not displayed."""
        changes = []
        for event in self._combos:
            moves = event["combo"]["moves"]
            if moves and moves[0]["playerIndex"] == attacker:
                hits = sum(move["hitCount"] for move in moves)
                damage = f"{math.floor(sum(move['damage'] for move in moves))}%"
                changes.append((event["frame"], (hits, damage) if hits > 1 else None))
        return changes

    def _page(self, number: int, entry: Mapping[str, Any]) -> dict[str, Any]:
        players = entry["players"]
        seconds = max(0.0, self.settings["startingTimerSeconds"] - max(0, number) / 60)
        return {
            "frame": str(number),
            "stage": names.stage_name(self.settings["stageId"]),
            "clock": f"{int(seconds) // 60}:{int(seconds) % 60:02}",
            "players": [self._player(p, players[str(p["playerIndex"])]["post"]) for p in self.settings["players"]],
        }

    def _player(self, setup: Mapping[str, Any], post: Mapping[str, Any]) -> dict[str, Any]:
        character_id = names.internal_characters()[post["internalCharacterId"]].external_id
        stocks = post["stocksRemaining"]
        ports = ("red", "blue", "yellow", "green")
        return {
            "port": setup["port"],
            "colour": TEAMS[setup["teamId"]] if self.settings["isTeams"] else ports[setup["port"] - 1],
            "name": setup["displayName"] or setup["nametag"] or f"P{setup['port']}",
            "character": names.character_name(character_id),
            "costume": name_lookups.costume_name(character_id, setup["characterColor"]),
            "stocks": "1 stock" if stocks == 1 else f"{stocks} stocks",
            "icons": stocks,
            "lost": setup["startStocks"] - stocks,
            "percent": f"{math.floor(post['percent'])}%",
        }


def log_of(replay: Path) -> Log:
    """The log of a replay on disk."""
    log = Log()
    for message in messages(replay, topics=("game", "frame", "event")):
        log.take(json.loads(message.json()))
    return log


@contextmanager
def written_live(replay: Path, into: Path, speed: float) -> Iterator[subprocess.Popen[bytes]]:
    """Write the replay in a separate process, so that the game continues without the daemon."""
    process = simulate(replay, into, writer="frame", speed=speed)
    try:
        yield process
    finally:
        process.kill()
        process.wait(SECONDS)


def shown(page: Page) -> dict[str, Any]:
    """The values that the page shows now."""
    read: dict[str, Any] = page.evaluate(READ_PAGE)
    return read


def shows_a_frame(page: Page, after: int = -124) -> None:
    page.wait_for_function(
        "after => ((shown) => shown !== '' && Number(shown) > after)(document.querySelector('.players').dataset.frame)",
        arg=after,
    )


def values(read: Mapping[str, Any]) -> dict[str, Any]:
    """The displayed values that depend on the frame."""
    return {key: read[key] for key in ("frame", "stage", "clock", "players")}


def check(read: Mapping[str, Any], log: Log) -> None:
    """Check that the displayed values are those of the displayed frame."""
    may_show = log.pages(int(read["frame"]))
    assert values(read) in may_show, f"{values(read)} is not in {may_show}"


def game_file(name: str, into: Path, *, frames: int = 940, **match: Any) -> Path:
    """A real replay, or a synthetic one with this number of frames if real ones are missing."""
    real = SLP / f"{name}.slp"
    if real.exists():
        return real
    path = into / f"Game_{name}.slp"
    path.write_bytes(synthetic_match(seed=2, frames=frames, **match))
    return path
