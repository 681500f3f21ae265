"""Random valid queries for situations, from the grammar of `docs/data/situations.md`."""

from __future__ import annotations

import random

from tests.search.situations.reference import LONG_NAMES, MOVES, PLACES, STATES

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

    def __init__(self, seed: int) -> None:
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
