"""Queries over an index of 100,000 games, over HTTP: the 99th percentile of a realistic mix."""

from __future__ import annotations

import http.client
import random
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlsplit

import msgspec

from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.store import FILE_NAME, Entry, open_database
from tests.bench.report import Figure, Form, quantile
from tests.bench.store import seconds_of
from tests.daemons.process import running
from tests.store import samples

TARGET_MILLISECONDS = 50.0
GAMES, SHORT_GAMES = 100_000, 300
_REQUESTS, _SHORT_REQUESTS = 20, 2
_GAMES_PER_TRANSACTION = 2000
_MINUTES_BETWEEN_GAMES = 7
_PADDING = "x" * 2000
"""Padding that makes settings as long as those of a real game."""

CHARACTERS = {
    "Fox": 22, "Falco": 18, "Marth": 13, "Sheik": 9, "Captain Falcon": 9, "Peach": 6, "Jigglypuff": 6,
    "Ice Climbers": 3, "Pikachu": 3, "Samus": 3, "Yoshi": 2, "Luigi": 2, "Ganondorf": 2, "Roy": 1, "Mewtwo": 1,
}  # fmt: skip
"""Names with weights, roughly as in public dumps of ranked games."""
STAGES = (
    "Battlefield", "Final Destination", "Dream Land N64", "Pokémon Stadium", "Fountain of Dreams", "Yoshi's Story",
)  # fmt: skip
QUERIES = {
    "common": (
        "char:fox", "fox>marth", "stage:fd duration:>3m", "is:ranked -char:falco", "@me", "duration:<2m char:puff",
    ),
    "few games": (
        "player417 player99", "winner:player31 stage:fod >roy", "code:P444#444 mewtwo>yoshi", "loser:@me char:roy",
    ),
    "no game": ("nosuchplayer", "date:<2001", "duration:>20m", "stage:hyrule char:fox", "tag:nobody winner:nobody"),
    "the past": ("date:2021-06", "date:<2021 char:peach", "date:2021..2021-03 fox>fox"),
}  # fmt: skip


def run(form: Form) -> list[Figure]:
    """Send each query repeatedly, in random order, on one connection."""
    games = SHORT_GAMES if form.short else GAMES
    taken: dict[str, list[float]] = {name: [] for name in ("all", *QUERIES)}
    with tempfile.TemporaryDirectory() as state, tempfile.TemporaryDirectory() as folder:
        config = Path(state) / "slpstream.toml"
        config.write_text('[search]\nme = ["P7#7"]\n', encoding="utf-8")
        fill(Path(state) / FILE_NAME, games)
        with running(Path(folder), state=Path(state), arguments=("--config", str(config))) as daemon:
            daemon.wait_ready()
            for number in range(1 if form.short else form.runs):
                times = _ask(daemon.url, _SHORT_REQUESTS if form.short else _REQUESTS, number)
                times["all"] = [each for values in times.values() for each in values]
                for name, values in times.items():
                    taken[name].append(1000 * quantile(sorted(values), 0.99))
    return [
        Figure(
            f"GET /v1/games?query= of {games:,}, {'the mix' if name == 'all' else name}, p99",
            values,
            "ms",
            TARGET_MILLISECONDS,
        )
        for name, values in taken.items()
    ]


def fill(path: Path, games: int) -> None:
    """Create an index of ranked games between 500 players."""
    chance = random.Random(1)
    first_ms = 1_600_000_000_000
    with closing(open_database(path)) as database:
        for first in range(0, games, _GAMES_PER_TRANSACTION):
            numbers = range(first, min(first + _GAMES_PER_TRANSACTION, games))
            database.games.add([_entry(n, first_ms + 60_000 * _MINUTES_BETWEEN_GAMES * n, chance) for n in numbers])


def _entry(number: int, began_ms: int, chance: random.Random) -> Entry:
    seconds = chance.gauss(170, 50)
    entry = samples.entry(number, at=began_ms // 1000 + int(seconds), path=f"/replays/Game_{began_ms}.slp")
    assert entry.record is not None
    names, weights = list(CHARACTERS), list(CHARACTERS.values())
    players = [
        PlayerSummary(
            index=index,
            name=f"Player{who}",
            code=f"P{who}#{who}",
            character=Thing(kind="character", id=index, name=chance.choices(names, weights)[0]),
        )
        for index, who in enumerate(chance.sample(range(500), 2))
    ]
    entry.record.summary = GameSummary(
        place=Thing(kind="stage", id=1, name=chance.choice(STAGES)),
        players=players,
        match_id="mode.ranked-1" if number % 2 else "",
        winners=[chance.randrange(2)],
        ending="finished",
        versus=True,
    )
    entry.record.said_at_ms = began_ms
    entry.record.duration_seconds = round(60 * min(480.0, max(20.0, seconds))) / 60
    settings = msgspec.json.decode(entry.record.settings)
    entry.record.settings = msgspec.json.encode({**settings, "padding": _PADDING})
    return entry


def _ask(url: str, count: int, seed: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in QUERIES}
    requests = [(name, query) for name, queries in QUERIES.items() for query in queries] * count
    random.Random(seed).shuffle(requests)
    with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)) as connection:
        for name, query in requests:
            times[name].append(seconds_of(connection, f"/v1/games?query={quote(query)}"))
    return times
