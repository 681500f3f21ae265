"""The delta subprotocol: sizes of all real replays as JSON and as deltas.

Sizes are the payloads of the websocket messages of a lossless subscriber, for all topics and for frames only. The share
of JSON must be at most a quarter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from slpstream.api import messages
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.pipeline import Pipeline
from slpstream.model.delta import DELTA_TYPES, delta_message
from slpstream.model.messages import LogMessage, to_messagepack
from slpstream.model.topics import TOPICS
from slpstream.stream.view import DeltaBase, DeltaBases
from tests.bench.report import Figure, Form
from tests.replays import SLP
from tests.synthetic.match import synthetic_match

TARGET = 0.25
_STATION = "main"
_NO_GAMES = {"not_slp_text", "corrupt"}
"""A file that is not a replay, and a game without frames."""
_SHORT = {"game", "v3.18"}


class Sizes(NamedTuple):
    """Bytes of one game, or of its frames."""

    name: str
    json: int
    delta: int

    @property
    def share(self) -> float:
        """Size of the deltas as a share of the JSON."""
        return self.delta / self.json


def run(form: Form) -> list[Figure]:
    """The worst shares of all topics and of frames only."""
    every = [path for path in sorted(SLP.glob("*.slp")) if path.stem not in _NO_GAMES]
    paths = [path for path in every if path.stem in _SHORT] if form.short else every
    if paths:
        measured = [_measure(path.stem, messages(path, topics=TOPICS)) for path in paths]
    else:
        log = Pipeline(SlippiReader()).feed(synthetic_match(seed=1, rollbacks=True)).messages("live")
        measured = [_measure("synthetic", log)]
    figures = []
    for title, sizes in zip(("all topics", "frames only"), zip(*measured, strict=True), strict=True):
        worst = max(sizes, key=lambda one: one.share)
        figures.append(Figure(f"deltas, {title}, the worst replay", [worst.share], "of JSON", TARGET, worst.name))
    return figures


def _measure(name: str, log: Iterable[LogMessage]) -> tuple[Sizes, Sizes]:
    """The sizes of all messages and those of frames."""
    known: DeltaBases = {}
    every, frames = [0, 0], [0, 0]
    for message in log:
        line = message.json(_STATION)
        base, before = DeltaBase(message, None), known.get(message.type)
        if before is None or message.type not in DELTA_TYPES:
            size = len(to_messagepack(line))
        else:
            size = len(_delta(base, before))
        known[message.type] = base
        for totals in (every, frames) if message.type == "frame" else (every,):
            totals[0] += len(line)
            totals[1] += size
    return Sizes(name, *every), Sizes(name, *frames)


def _delta(base: DeltaBase, before: DeltaBase) -> bytes:
    changes, base.image = before.image.change(base.payload())
    message = base.message
    return delta_message(message.type, _STATION, message.offset - before.message.offset, message.count, changes)
