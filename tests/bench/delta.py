"""The delta subprotocol: sizes of all real replays as JSON, as MessagePack and as deltas, and the time per frame.

Sizes are the payloads of the websocket messages of a lossless subscriber, for all topics and for frames only. The share
of JSON must be at most a quarter; the goal is a fifth. Times are CPU times per frame, from the payload as it is stored
to the bytes of the message, compared with encoding the decoded frame as JSON and the line as MessagePack.
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
from slpstream.model.messages import LogMessage, to_messagepack
from slpstream.model.topics import TOPICS
from slpstream.stream.delta_bases import DeltaBase, DeltaBases, predecessor
from tests.bench.report import Figure, Form
from tests.replays import SLP
from tests.synthetic.match import synthetic_match

MUST, GOAL = 0.25, 0.2
_STATION = "main"
_NO_GAMES = {"not_slp_text", "corrupt"}
"""A file that is not a replay, and a game without frames."""
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
        """Size of the deltas as a share of the JSON."""
        return self.delta / self.json


class Measured(NamedTuple):
    """One replay: its sizes, and microseconds per frame."""

    name: str
    all_topics: Sizes
    frames: Sizes
    microseconds: Sequence[float]
    """As JSON, as MessagePack and as deltas."""


def run(form: Form) -> list[Figure]:
    """Print a table of all replays, and return the worst shares and the median times."""
    rounds = 1 if form.short else form.runs
    paths = [path for path in sorted(SLP.glob("*.slp")) if path.stem not in _NO_GAMES]
    if form.short:
        paths = [path for path in paths if path.stem in _SHORT]
    logs: list[tuple[str, Callable[[], list[LogMessage]]]] = [(p.stem, _reader_of(p)) for p in paths]
    if not logs:
        logs = [
            (
                "synthetic",
                lambda: Pipeline(SlippiReader()).feed(synthetic_match(seed=1, rollbacks=True)).messages("live"),
            )
        ]
    measured = [_measure(name, read(), rounds) for name, read in logs]
    print(table(measured))
    worst = max(measured, key=lambda one: one.all_topics.share)
    worst_frames = max(measured, key=lambda one: one.frames.share)
    costs = [sorted(one.microseconds[i] for one in measured) for i in range(3)]
    return [
        Figure("deltas, all topics, the worst replay: must", [worst.all_topics.share], "of JSON", MUST, worst.name),
        Figure("deltas, all topics, the worst replay: goal", [worst.all_topics.share], "of JSON", GOAL, worst.name),
        Figure(
            "deltas, frames only, the worst replay: must",
            [worst_frames.frames.share],
            "of JSON",
            MUST,
            worst_frames.name,
        ),
        Figure(
            "deltas, frames only, the worst replay: goal",
            [worst_frames.frames.share],
            "of JSON",
            GOAL,
            worst_frames.name,
        ),
        Figure("deltas, a frame as JSON", costs[0], "us"),
        Figure("deltas, a frame as MessagePack, from JSON", costs[1], "us"),
        Figure("deltas, a frame as a delta, from JSON", costs[2], "us"),
    ]


def table(measured: Sequence[Measured]) -> str:
    """A Markdown table with a row for each replay."""
    lines = [
        "| replay | JSON kB | MsgPack kB | delta kB | of JSON | frames | met | JSON us | MessagePack us | delta us |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in measured:
        worst = max(one.all_topics.share, one.frames.share)
        met = "ok" if worst <= GOAL else "quarter" if worst <= MUST else "MISS"
        sizes = [f"{size / 1e3:.0f}" for size in one.all_topics]
        shares = [f"{share:.3f}" for share in (one.all_topics.share, one.frames.share)]
        costs = [f"{cost:.0f}" for cost in one.microseconds]
        lines.append("| " + " | ".join([one.name, *sizes, *shares, met, *costs]) + " |")
    return "\n".join(lines)


def _reader_of(path: Path) -> Callable[[], list[LogMessage]]:
    return lambda: list(messages(path, topics=TOPICS))


def _measure(name: str, log: list[LogMessage], rounds: int) -> Measured:
    known: DeltaBases = {}
    sizes = {True: [0, 0, 0], False: [0, 0, 0]}
    for message in log:
        line = message.json(_STATION)
        packed = to_messagepack(line)
        base, before = DeltaBase(message, None), predecessor(known, message)
        data = packed if before is None or message.type not in DELTA_TYPES else _delta(base, before)
        known[message.type] = base
        totals = sizes[message.type == "frame"]
        for i, size in enumerate((len(line), len(packed), len(data))):
            totals[i] += size
    all_topics = Sizes(*[a + b for a, b in zip(sizes[True], sizes[False], strict=True)])
    frames = [message for message in log if message.type == "frame"][:_TIMED_FRAMES]
    encoders = (_as_json, _as_messagepack, _as_deltas)
    times = [min(encode(frames) for _ in range(rounds)) for encode in encoders]
    return Measured(name, all_topics, Sizes(*sizes[True]), times)


def _delta(base: DeltaBase, before: DeltaBase) -> bytes:
    changes, base.image = before.image.change(base.payload())
    message = base.message
    return delta_message(message.type, _STATION, message.offset - before.message.offset, message.count, changes)


def _as_json(frames: Sequence[LogMessage]) -> float:
    values = [msgspec.json.decode(message.entry()) for message in frames]
    return _microseconds(_encode, values)


def _as_messagepack(frames: Sequence[LogMessage]) -> float:
    return _microseconds(lambda message: to_messagepack(message.json(_STATION)), frames)


def _as_deltas(frames: Sequence[LogMessage]) -> float:
    bases = [DeltaBase(message, None) for message in frames]
    assert bases[0].image
    return _microseconds(lambda pair: _delta(*pair), list(zip(bases[1:], bases, strict=False)))


def _microseconds(encode: Callable[[Any], bytes], items: Sequence[Any]) -> float:
    """CPU time to encode one item, in microseconds."""
    began = time.process_time()
    for item in items:
        encode(item)
    return (time.process_time() - began) / len(items) * 1e6
