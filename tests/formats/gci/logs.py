"""Reading the events of a replay in different ways, and synthetic replays made by the project's own writer."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import msgspec

from slpstream.formats.gci.body import Checkpoint, InputRun, Racer
from slpstream.formats.gci.container import CHECKSUM_AT, checksum
from slpstream.formats.gci.custom import CustomMachine, Emblem
from slpstream.formats.gci.reader import GciReader
from slpstream.formats.gci.settings import Replay
from slpstream.model.events import Diagnostic, Event, GameEvent
from slpstream.model.messages import body_of
from tests.formats.gci.writer import as_pattern, new_replay, place, write_emblems
from tests.project import IN_CI
from tests.replays import SHARED

GCI = SHARED / "gci"


def files(folder: Path = GCI) -> list[Path]:
    """The files of a data folder. Outside CI this may be empty, so that `parametrize` works without the data."""
    found = sorted(folder.glob("*.gci"))
    if not found and IN_CI:
        raise FileNotFoundError(f"no files in {folder}")
    return found


def read(data: bytes, *, strict: bool = False, pieces: Iterable[bytes] | None = None) -> GciReader:
    """A reader that was fed all of `data`, optionally in pieces, but not finished."""
    reader = GciReader(strict=strict)
    for piece in (data,) if pieces is None else pieces:
        assert reader.feed(piece) == []
    return reader


def events_of(
    data: bytes, *, strict: bool = False, pieces: Iterable[bytes] | None = None, step: int = 997
) -> list[Event]:
    """All events of a file. `step` is the number of frames to expand at a time."""
    reader = read(data, strict=strict, pieces=pieces)
    events = reader.finish()
    while reader.pending:
        events += reader.more(step)
    assert reader.closed
    return events


def codes(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Severity and code of the diagnostics."""
    return [(event.severity, event.code) for event in events if isinstance(event, Diagnostic)]


def of_kind(events: Iterable[Event], kind: str) -> list[GameEvent]:
    """The game events of a kind."""
    return [event for event in events if isinstance(event, GameEvent) and event.kind == kind]


def lines(events: Iterable[Event]) -> list[tuple[int, bytes]]:
    """Offset, type and body of each message."""
    made = []
    for event in events:
        kind, body, _ = body_of(event)
        made.append((event.end_offset, kind.encode() + b"{" + body))
    return made


def payload(event: Event) -> dict[str, object]:
    """The body of an event's message, decoded."""
    decoded: dict[str, object] = msgspec.json.decode(b"{" + body_of(event)[1])
    return decoded


def with_checksum(data: bytes) -> bytes:
    """The same bytes with the correct checksum."""
    return data[:CHECKSUM_AT] + checksum(data).to_bytes(2, "big") + data[CHECKSUM_AT + 2 :]


def custom_machine() -> CustomMachine:
    """An original machine with two emblems."""
    pixels = bytes(range(256)) * 32
    first = Emblem(part=0, rotation_vertical=0x3FFF, width=as_pattern(0.35), height=as_pattern(0.2), pixels=pixels)
    second = Emblem(part=1, rotation_horizontal=0xE06E, position_3=as_pattern(5.0), pixels=pixels[::-1])
    return CustomMachine(
        emblem_count=2,
        slider=64,
        emblem_blocks=write_emblems(first, second),
        pilot=37,
        body=12,
        body_color=b"\xff\x0a\x14\x01",
        cockpit=40,
        booster=73,
    )


def runs(count: int, seed: int = 1) -> list[InputRun]:
    """Random runs of inputs in the game's range."""
    dice = random.Random(seed)
    return [
        InputRun(
            buttons=dice.choice((0x04, 0x44, 0x84, 0x24, 0x14)),
            strafe=dice.randint(-100, 100),
            accel=dice.randint(0, 100),
            brake=dice.randint(0, 100),
            frames=dice.randint(1, 9),
            steer_x=dice.randint(-100, 100),
            steer_y=dice.randint(-100, 100),
        )
        for _ in range(count)
    ]


def equal_checkpoints(count: int) -> list[Checkpoint]:
    """Checkpoints at the same position, one each second."""
    places = (place(1.0, 2.0, 3.0),) * 4
    return [Checkpoint(frame1=182 + 60 * index, frame2=182 + 60 * index, places=places) for index in range(count)]


def time_attack(count: int = 120) -> Replay:
    """A Time Attack with one racer."""
    return new_replay(runs(count))


def grand_prix() -> Replay:
    """A Grand Prix with a human and 29 CPUs, whose checkpoints are not laps."""
    racers = [Racer(color=1, ai=1), *(Racer(human=0, machine=index, ai=index, slider=0) for index in range(1, 30))]
    return new_replay(runs(150), racers=racers, mode=1, difficulty=3, course=17)


def with_custom() -> Replay:
    """A Time Attack with a custom machine."""
    return new_replay(runs(150), racers=[Racer(machine=50, color=0, custom=custom_machine())])
