"""The delta subprotocol: bytes of every real replay as JSON, as MessagePack and as deltas, and what a frame costs.

Bytes are the payloads of the websocket messages of a subscriber who misses nothing: all topics, and frames only. The
shares have the target that must hold, a quarter of JSON, and the goal, a fifth. Time is CPU time a frame, from the
payload as it is kept to the bytes of the message, beside the JSON of the decoded frame and the MessagePack of the line.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slpstream.api import messages
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.pipeline import Pipeline
from slpstream.model.delta import DELTA_TYPES, delta_message
from slpstream.model.messages import TOPICS, LogMessage, to_messagepack
from slpstream.stream.delta_bases import DeltaBase, DeltaBases, predecessor
from tests.bench.report import Figure, Form
from tests.shared_data import SLP
from tests.synthetic.match import synthetic_match

MUST, GOAL = 0.25, 0.2
_STATION = "main"
_NO_GAMES = {"not_slp_text", "corrupt"}
"""No replay; a game without a frame."""
_TIMED_FRAMES = 2000
_SHORT = ("game", "v3.18")
_encode = msgspec.json.Encoder().encode


class Sizes(NamedTuple):
    """Bytes of one game."""

    json: int
    messagepack: int
    delta: int

    @property
    def share(self) -> float:
        """Of JSON."""
        return self.delta / self.json


class Measured(NamedTuple):
    """One replay: its sizes, and microseconds a frame."""

    name: str
    every: Sizes
    frames: Sizes
    microseconds: Sequence[float]
    """JSON, MessagePack, delta."""


def run(form: Form) -> list[Figure]:
    """Prints the table, and gives the worst shares and the medians of time."""
    rounds = 1 if form.short else form.runs
    paths = [path for path in sorted(SLP.glob("*.slp")) if path.stem not in _NO_GAMES]
    if form.short:
        paths = [path for path in paths if path.stem in _SHORT]
    logs: list[tuple[str, Callable[[], list[LogMessage]]]] = [(p.stem, _reading(p)) for p in paths]
    if not logs:
        logs = [
            (
                "synthetic",
                lambda: Pipeline(SlippiReader()).feed(synthetic_match(seed=1, rollbacks=True)).messages("live"),
            )
        ]
    measured = [_measure(name, read(), rounds) for name, read in logs]
    print(table(measured))
    every = max(measured, key=lambda one: one.every.share)
    frames = max(measured, key=lambda one: one.frames.share)
    costs = [sorted(one.microseconds[way] for one in measured) for way in range(3)]
    return [
        Figure("deltas, all topics, the worst replay: must", [every.every.share], "of JSON", MUST, every.name),
        Figure("deltas, all topics, the worst replay: goal", [every.every.share], "of JSON", GOAL, every.name),
        Figure("deltas, frames only, the worst replay: must", [frames.frames.share], "of JSON", MUST, frames.name),
        Figure("deltas, frames only, the worst replay: goal", [frames.frames.share], "of JSON", GOAL, frames.name),
        Figure("deltas, a frame as JSON", costs[0], "us"),
        Figure("deltas, a frame as MessagePack, from JSON", costs[1], "us"),
        Figure("deltas, a frame as a delta, from JSON", costs[2], "us"),
    ]


def table(measured: Sequence[Measured]) -> str:
    """Every replay as a row of a Markdown table."""
    lines = [
        "| replay | JSON kB | MsgPack kB | delta kB | of JSON | frames | met | JSON us | MessagePack us | delta us |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in measured:
        worst = max(one.every.share, one.frames.share)
        met = "ok" if worst <= GOAL else "quarter" if worst <= MUST else "MISS"
        sizes = [f"{size / 1e3:.0f}" for size in one.every]
        shares = [f"{share:.3f}" for share in (one.every.share, one.frames.share)]
        costs = [f"{cost:.0f}" for cost in one.microseconds]
        lines.append("| " + " | ".join([one.name, *sizes, *shares, met, *costs]) + " |")
    return "\n".join(lines)


def _reading(path: Path) -> Callable[[], list[LogMessage]]:
    return lambda: list(messages(path, topics=TOPICS))


def _measure(name: str, log: list[LogMessage], rounds: int) -> Measured:
    known: DeltaBases = {}
    sizes = {True: [0, 0, 0], False: [0, 0, 0]}
    for message in log:
        line = message.json(_STATION)
        packed = to_messagepack(line)
        link, before = DeltaBase(message, None), predecessor(known, message)
        data = packed if before is None or message.type not in DELTA_TYPES else _delta(link, before)
        known[message.type] = link
        of = sizes[message.type == "frame"]
        for i, size in enumerate((len(line), len(packed), len(data))):
            of[i] += size
    every = Sizes(*[a + b for a, b in zip(sizes[True], sizes[False], strict=True)])
    frames = [message for message in log if message.type == "frame"][:_TIMED_FRAMES]
    ways = (_as_json, _as_messagepack, _as_deltas)
    return Measured(name, every, Sizes(*sizes[True]), [min(way(frames) for _ in range(rounds)) for way in ways])


def _delta(link: DeltaBase, before: DeltaBase) -> bytes:
    changes, link.image = before.image.change(link.payload())
    message = link.message
    return delta_message(message.type, _STATION, message.offset - before.message.offset, message.count, changes)


def _as_json(frames: Sequence[LogMessage]) -> float:
    values = [msgspec.json.decode(message.entry()) for message in frames]
    return _each(_encode, values)


def _as_messagepack(frames: Sequence[LogMessage]) -> float:
    return _each(lambda message: to_messagepack(message.json(_STATION)), frames)


def _as_deltas(frames: Sequence[LogMessage]) -> float:
    links = [DeltaBase(message, None) for message in frames]
    assert links[0].image
    return _each(lambda pair: _delta(*pair), list(zip(links[1:], links, strict=False)))


def _each(work: Callable[[Any], bytes], of: Sequence[Any]) -> float:
    """Microseconds for one of them."""
    began = time.process_time()
    for one in of:
        work(one)
    return (time.process_time() - began) / len(of) * 1e6
