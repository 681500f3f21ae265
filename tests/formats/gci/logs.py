"""The events of a replay, and synthetic replays made by the project's own writer."""

from __future__ import annotations

import random
from typing import Any

from slpstream.formats.gci.body import Checkpoint, InputRun, Racer
from slpstream.formats.gci.container import CHECKSUM_AT, checksum
from slpstream.formats.gci.custom import CustomMachine, Emblem
from slpstream.formats.gci.reader import GciReader
from slpstream.formats.gci.settings import Replay
from slpstream.model.events import Event
from tests.formats.gci.writer import as_pattern, new_replay, place, write_emblems
from tests.formats.logs import log_of


def events_of(data: bytes, *, strict: bool = False) -> list[Event]:
    """All events of a file."""
    return log_of(GciReader(strict=strict), data)


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


def of_array_type(array_type: int) -> Replay:
    """A replay with a human and a CPU, whose racers have the fields of this type of their array."""
    fields: dict[str, Any] = {"ai": 3 if array_type >= 4 else None, "slider": 20 if array_type >= 3 else None}
    human = Racer(color=2, old_slider=77 if array_type <= 1 else None, **fields)
    return new_replay(runs(30), racers=[human, Racer(human=0, machine=9, **fields)], array_type=array_type)
