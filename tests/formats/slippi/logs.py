"""The two logs of a replay, from its bytes split in any way, and their first difference.

The logs must not depend on how the bytes are split. Most tests of the decoding path check this property.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest

import msgspec

from slpstream.formats.slippi.commands import FRAME_START, PRE_FRAME
from slpstream.formats.slippi.container import HEADER_BYTES, header
from slpstream.formats.slippi.framing import read_event_payloads, walk_events
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.log_writer import Batch
from slpstream.game.pipeline import Pipeline
from slpstream.model.events import Event
from slpstream.model.messages import LogMessage

Log = list[LogMessage]
BYTEWISE_BYTES = 8_000
"""How far around a place of a large replay its bytes come one by one: at least ten frames."""
FIRST_OF_FRAME = {PRE_FRAME.command, FRAME_START.command}
"""The events that begin a frame, in some version."""


def pipeline() -> Pipeline:
    """A pipeline that writes both logs."""
    return Pipeline(SlippiReader(), ("live", "finalized"))


class Logs:
    """Both logs of one game from a pipeline."""

    def __init__(self) -> None:
        self.live: Log = []
        self.finalized: Log = []

    def take(self, batch: Batch) -> None:
        """Append the messages of a batch."""
        self.live += batch.messages("live")
        self.finalized += batch.messages("finalized")

    def lines(self) -> tuple[list[bytes], list[bytes]]:
        """The message lines of the live and of the finalized log, without line ends."""
        return [m.json() for m in self.live], [m.json() for m in self.finalized]

    def of_type(self, kind: str) -> list[dict[str, object]]:
        """The decoded messages of one type in the live log."""
        return [msgspec.json.decode(m.json()) for m in self.live if m.type == kind]


def logs_of(pieces: Iterable[bytes], *, finish: bool = True) -> Logs:
    """The logs of a replay read in `pieces`."""
    pipe, logs = pipeline(), Logs()
    for piece in pieces:
        logs.take(pipe.feed(piece))
    if finish:
        logs.take(pipe.finish())
    return logs


def events_of(data: bytes, piece_bytes: int = 0) -> list[Event]:
    """The events of the reader, from the whole replay or from pieces of this size."""
    reader, step = SlippiReader(), piece_bytes or max(1, len(data))
    events = [event for at in range(0, len(data), step) for event in reader.feed(data[at : at + step])]
    return [*events, *reader.finish()]


def bytewise(data: bytes) -> Iterator[bytes]:
    """The bytes one by one."""
    return (data[at : at + 1] for at in range(len(data)))


def nearly_bytewise(data: bytes) -> list[bytes]:
    """The bytes of a large replay: one by one where something new happens, and in random pieces between these places.

    New are both ends, the first and the last event of each kind, and the first frame that is sent again.
    """
    boundaries = event_boundaries(data)[1:-1]
    firsts, lasts = ({data[at]: at for at in order} for order in (reversed(boundaries), boundaries))
    starts = [
        (int.from_bytes(data[at + 1 : at + 5], signed=True), at) for at in boundaries if data[at] in FIRST_OF_FRAME
    ]
    again = [later for (number, _), (other, later) in pairwise(starts) if other < number]
    cuts = set(random_cuts(len(data), len(data)))
    for at in (0, len(data), *firsts.values(), *lasts.values(), *again[:1]):
        cuts |= set(range(max(1, at - BYTEWISE_BYTES), min(len(data), at + BYTEWISE_BYTES)))
    return cut_at(data, sorted(cuts))


def cut_at(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """The pieces between the sorted offsets in `cuts`."""
    return [data[a:b] for a, b in pairwise((0, *cuts, len(data)))]


def random_cuts(length: int, seed: int) -> list[int]:
    """Offsets to cut at: a mix of a few bytes, events, blocks and large pieces, determined by the seed."""
    rng, at = random.Random(seed), 0
    cuts: list[int] = []
    while True:
        at += rng.choice((rng.randint(1, 8), rng.randint(1, 700), 4096, rng.randint(1, 50_000)))
        if at >= length:
            return cuts
        cuts.append(at)


def as_live(data: bytes, cuts: Iterable[int]) -> Logs:
    """The logs while a game writes `data`: raw length 0 at first, the rest in pieces, the real header at the end."""
    growing = header(0) + data[HEADER_BYTES:]
    pipe, logs = pipeline(), Logs()
    for piece in cut_at(growing, cuts):
        logs.take(pipe.feed(piece))
    logs.take(pipe.rewrite(data[:HEADER_BYTES]))
    logs.take(pipe.finish())
    return logs


def event_boundaries(data: bytes) -> list[int]:
    """File offsets of the events of a well-formed replay, Event Payloads first, and of the end of the last one."""
    first = HEADER_BYTES + 1 + data[HEADER_BYTES + 1]
    payloads = read_event_payloads(data[HEADER_BYTES:first])
    limit = data.find(b"U\x08metadata", first)
    limit = len(data) if limit < 0 else limit
    return [HEADER_BYTES, first, *(end for _, _, end in walk_events(data, first, limit, payloads.widths))]


def first_difference(expected: Sequence[bytes], seen: Sequence[bytes]) -> str | None:
    """A description of the first difference between two lists of message lines; `None` when they are equal."""
    if expected == seen:
        return None
    for index, (a, b) in enumerate(zip_longest(expected, seen)):
        if a != b:
            return f"message {index} ({_name(a)}, {_name(b)}):\n  expected {_text(a)}\n  seen     {_text(b)}"
    return None


def _name(line: bytes | None) -> str:
    if line is None:
        return "nothing"
    message = msgspec.json.decode(line)
    frame = message.get("frame")
    return f"frame {frame['frame']}" if isinstance(frame, dict) else str(message["type"])


def _text(line: bytes | None) -> str:
    return "nothing" if line is None else line[:2000].decode()
