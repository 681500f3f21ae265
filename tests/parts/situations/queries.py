"""Random valid queries for situations, from the grammar of `docs/data/situations.md` or from what happens in a game."""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

from tests.parts.situations.games import Game
from tests.parts.situations.reference import CHARACTERS, LONG_NAMES, MOVES, PLACES, STATES

_WORDS = [*MOVES, *LONG_NAMES, *STATES, *PLACES, "hit", "kill", "grab"]
_FREQUENT = [
    "hit",
    "kill",
    "grab",
    "hitstun",
    "shield",
    "ground",
    "air",
    "offstage",
    "aerial",
    "throw",
    "ledge",
    "landing",
]
_CHARACTERS = ["fox", "falco", "marth", "sheik", "puff", "captain-falcon", "g&w", "ics", "peach", "any"]
_STATES = ["Guard", "0xb2", "Wait", "SpecialLw", "AttackAirHi", "0x155", "LandingAirB"]
_HYPHENS = {"spotdodge": "spot-dodge", "missedtech": "missed-tech", "neutralb": "Neutral-B", "upair": "UP-Air"}


class Queries:
    """A stream of random queries for one seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def query(self) -> str:
        chance = self._random.random
        count = self._random.choices([1, 2, 3, 4], [4, 5, 2, 1])[0]
        text = self._space("->").join(self._step(first=not i) for i in range(count))
        return f"{self._who()}{text}" if chance() < 0.3 else text

    def _space(self, mark: str) -> str:
        return self._random.choice([mark, f" {mark} "]) if mark != "->" else f" {mark} "

    def _who(self) -> str:
        return self._random.choice([f"{self._names()}: ", f"{self._names()} vs {self._names()}: "])

    def _names(self) -> str:
        choose = self._random.choice
        together = [
            choose([choose(_CHARACTERS), choose(["port1", "P2", "p3"]), "any"]) for _ in range(choose([1, 1, 2]))
        ]
        if self._random.random() < 0.4:
            return f"{' '.join(together)} | {choose(_CHARACTERS)}"
        return " ".join(together)

    def _step(self, *, first: bool) -> str:
        parts = [self._condition(2) for _ in range(self._random.choice([1, 1, 2, 3]))]
        if self._random.random() < 0.25:
            parts.insert(self._random.randint(0, len(parts)), f"for:{self._random.choice([1, 2, 5, 20])}f")
        if not first and self._random.random() < 0.5:
            limit = self._random.choice(["any", "7f", "30f", "1.5s", "10s", "0.25s"])
            parts.insert(self._random.randint(0, len(parts)), f"within:{limit}")
        return self._space(",").join(parts)

    def _condition(self, depth: int) -> str:
        return self._space("|").join(self._factor(depth) for _ in range(self._random.choice([1, 1, 1, 2])))

    def _factor(self, depth: int) -> str:
        chance = self._random.random()
        if depth and chance < 0.12:
            return f"!{self._factor(depth - 1)}"
        if depth and chance < 0.24:
            return f"({', '.join(self._condition(depth - 1) for _ in range(self._random.choice([1, 2])))})"
        return self._term()

    def _term(self) -> str:
        choose = self._random.choice
        kind = self._random.random()
        subject = choose(["", "", "own.", "opponent."])
        if kind < 0.6:
            word = choose(_FREQUENT if self._random.random() < 0.5 else _WORDS)
            return subject + _HYPHENS.get(word, word)
        if kind < 0.7:
            return f"{subject}starts:{choose([*MOVES, *LONG_NAMES])}"
        if kind < 0.75:
            return f"{subject}state:{choose(_STATES)}"
        measure = choose(["percent", "stocks", "x", "y", "frame", "time"])
        if measure in ("frame", "time"):
            subject = ""
        low = {"percent": 50, "stocks": 2, "x": 0, "y": 5, "frame": 1500, "time": 25}[measure] + choose(
            [-20, -1, 0, 1, 30.25]
        )
        bound = choose([f"<{low}", f"<={low}", f">{low}", f">= {low}", f"{low}..{low + choose([1, 40, 0.5])}"])
        return f"{subject}{measure}:{bound}"


_HITS = ["hit", "kill", "grab", "throw", "aerial", "tilt", "smash", "special", "opponent.hitstun", "opponent.thrown"]
_COMMON = [
    *(f"{subject}{word}" for subject in ("", "own.", "opponent.") for word in _FREQUENT),
    *("idle", "dash", "fall", "jump", "attacking", "opponent.landing", "starts:aerial", "opponent.starts:jab"),
    *("percent:>20", "own.percent:30..60", "own.stocks:2..3", "x:<-10.5", "opponent.x:-20..20", "y:>=15", "frame:>300"),
    *("!air", "(hitstun | tumble)", "(!shield, ground)", "time:10..20"),
]
_RARE = [
    *(f"{subject}{word}" for subject in ("", "opponent.") for word in (*MOVES, *LONG_NAMES, *STATES, *PLACES)),
    *(f"starts:{word}" for word in (*MOVES, *LONG_NAMES)),
    *(f"state:{state}" for state in _STATES),
    *(f"{word}, for:{frames}f" for word in (*STATES, *PLACES) for frames in (2, 8, 20)),
]
_COMMON_STEPS, _RARE_STEPS = 8, 12
"""Maximum number of these that are collected in a game, in addition to the hits."""
_LIMITS = [(300, ""), (300, ""), (45, "within:45f"), (90, "within:1.5s"), (math.inf, "within:any")]


class _Happening(NamedTuple):
    """Something that happens in a game: the frame, and the words of the step."""

    number: int
    words: str


class OccurringQueries:
    """A stream of random queries that find something in a game, because their steps are drawn from what happens in it.

    Nearly all queries find something; a condition that is added to a step can hold before the step happens.
    """

    def __init__(self, game: Game) -> None:
        self._random = random.Random(game.name)
        self._players = {player.player_index: player for player in game.settings.players}
        self._frames = {frame.number: frame for frame in game.final_frames()}
        self._happenings: dict[tuple[int, int], list[_Happening]] = {}
        rare = self._random.sample(_RARE, _RARE_STEPS)
        sought = [*_HITS, *self._random.sample(_COMMON, _COMMON_STEPS), *rare]
        for words in sought:
            for found in game.replay.situations(words):
                pair = found.player_index, found.opponent_index
                self._happenings.setdefault(pair, []).append(_Happening(found.frames[0], words))

    def __bool__(self) -> bool:
        """Whether anything happens."""
        return bool(self._happenings)

    def query(self) -> str:
        choose = self._random.choice
        pair = choose(sorted(self._happenings))
        happenings = self._happenings[pair]
        count = self._random.choices([1, 2, 3, 4], [3, 5, 2, 1])[0]
        now = self._one_of(happenings)
        steps = [self._step(now, pair)]
        while len(steps) < count:
            frames, limit = choose(_LIMITS)
            later = [each for each in happenings if 0 < each.number - now.number <= frames]
            if not later:
                break
            now = self._one_of(later)
            parts = [self._step(now, pair), *([limit] if limit else [])]
            self._random.shuffle(parts)
            steps.append(", ".join(parts))
        text = " -> ".join(steps)
        return f"{self._who(pair)}: {text}" if self._random.random() < 0.4 else text

    def _one_of(self, happenings: list[_Happening]) -> _Happening:
        """Draw one: first the words, then the frame, so that rare events are drawn too."""
        words = self._random.choice(sorted({each.words for each in happenings}))
        return self._random.choice([each for each in happenings if each.words == words])

    def _step(self, now: _Happening, pair: tuple[int, int]) -> str:
        """The words of a step, often with further ones that are true in the same frame."""
        kind = self._random.random()
        if "for:" in now.words or kind < 0.4:
            return now.words
        if kind < 0.5:
            low, high = now.number - self._random.randint(1, 90), now.number + self._random.randint(0, 90)
            bound = f"time:{low / 60:.2f}..{high / 60 + 0.01:.2f}" if low > 0 else f"frame:{low}..{high}"
            return f"{bound}, {now.words}"
        if kind < 0.6:
            return f"{now.words} | {self._random.choice([*MOVES])}"
        if kind < 0.7:
            return f"({now.words}, !{self._random.choice([*MOVES])})"
        return f"{now.words}, {self._bound(now.number, pair)}"

    def _bound(self, number: int, pair: tuple[int, int]) -> str:
        """A bound of the player or of the opponent that holds in a frame."""
        choose = self._random.choice
        whose = choose([0, 1])
        post: Any = self._frames[number].entry.players[pair[whose]].post
        name = choose(["percent", "stocks", "x", "y"])
        value = {"percent": post.percent, "stocks": post.stocks_remaining, "x": post.position_x, "y": post.position_y}[
            name
        ]
        low, high = math.floor(value), math.ceil(value)
        bound = choose([f"{low}..{high}", f">={low}", f"<={high}", f">{low - 0.5}", f"<{high + 20}"])
        return f"{('own', 'opponent')[whose]}.{name}:{bound}"

    def _who(self, pair: tuple[int, int]) -> str:
        own, other = (self._name(self._players[index]) for index in pair)
        return self._random.choice([own, f"{own} vs {other}", f"any vs {other}", f"peach | {own} vs any"])

    def _name(self, player: Any) -> str:
        names = [f"port{player.port}", f"P{player.port}"]
        names += [name for name, number in CHARACTERS.items() if number == player.character_id and name.isalpha()]
        names += [f'"{name}"' for name in (player.display_name, player.nametag) if name.isascii() and name.isalnum()]
        return self._random.choice(names)
