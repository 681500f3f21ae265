"""The values of a replay, and the `settings` of `game_start` that are made from them.

If we don't know the name of an id, it is null. In messages, pictures are only identified by their SHA-256. If you need
the pixels, you find them in `Replay.pictures`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from slpstream.formats.gci import names
from slpstream.formats.gci.body import GRAND_PRIX, Body, Racer
from slpstream.formats.gci.container import BANNER_SIZE, ICON_SIZE, REGIONS, Entry
from slpstream.formats.gci.custom import EMBLEM_PIXELS, ORIGINAL, CustomMachine, Emblem


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """All values of a file."""

    entry: Entry = Entry()
    banner: bytes = bytes(2 * BANNER_SIZE[0] * BANNER_SIZE[1])
    icon: bytes = bytes(2 * ICON_SIZE[0] * ICON_SIZE[1])
    body: Body = Body()
    length_bytes: int = 0x4040
    """Length of the whole file."""

    @property
    def pictures(self) -> dict[str, Picture]:
        """All pictures by their SHA-256. These are the banner, the icon, and the emblems of custom machines."""
        pictures = [Picture(self.banner, *BANNER_SIZE), Picture(self.icon, *ICON_SIZE)]
        for racer in self.body.racers:
            if racer.custom is not None:
                pictures += (Picture(emblem.pixels, *EMBLEM_PIXELS) for emblem in racer.custom.emblems)
        return {hashlib.sha256(picture.pixels).hexdigest(): picture for picture in pictures}


class Picture(NamedTuple):
    """A picture. The pixels are RGB5A3, big-endian, in tiles of 4 by 4. Its size is in pixels."""

    pixels: bytes
    width: int
    height: int


class _Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of the objects in messages."""


class Named(_Wire, frozen=True, gc=False):
    """An id and its name, null when it is unknown."""

    id: int
    name: str | None


class PictureReference(_Wire, frozen=True, gc=False):
    """A picture by its hash, without the pixels."""

    width: int
    height: int
    sha256: str


class Part(_Wire, frozen=True, gc=False):
    """A part of a custom machine. `color` is red, green, blue from 0 to 255."""

    id: int
    name: str | None
    color: tuple[int, int, int]


class EmblemSettings(_Wire, frozen=True, gc=False):
    """An emblem slot. NaN and infinities in `base` and `size` are null; `raw` then has all four 32-bit patterns."""

    part: Named
    rotation_vertical: int
    rotation_horizontal: int
    base: tuple[float | None, float | None]
    size: tuple[float | None, float | None]
    pixels_sha256: str
    raw: tuple[str, ...] | UnsetType = UNSET


class CustomSettings(_Wire, frozen=True, gc=False):
    """A custom machine. `kind` is `original`, `pilot_exclusive` or null."""

    kind: str | None
    machine: Named
    pilot: Named
    body: Part
    cockpit: Part
    booster: Part
    slider: int
    color_swap: int
    emblem_count: int
    emblems: list[EmblemSettings]
    sha256: str


class RacerSettings(_Wire, frozen=True, gc=False):
    """A racer, by racer index."""

    index: int
    human: bool
    machine: Named
    ai: int | UnsetType = UNSET
    slider: int | UnsetType = UNSET
    color: int | UnsetType = UNSET
    custom: CustomSettings | UnsetType = UNSET


class Settings(_Wire, frozen=True, gc=False):
    """The `settings` of `game_start`. Times are console local time, without a zone, as ISO 8601."""

    game_code: str
    region: str
    maker: str
    file_name: str
    title: str
    comment: str
    saved_at: str
    modified_at: str
    course: Named
    mode: int
    mode_name: str | None
    difficulty: int
    difficulty_name: str | None
    """Null except in Grand Prix: Time Attack has no difficulty, and stores 0."""
    laps: int
    racers: list[RacerSettings]
    total_frames: int | UnsetType
    """From the start of the countdown to the finish line, 60 a second. GO is at 182."""
    checkpoint_count: int
    input_runs: int
    racer_array_type: int
    tick_low: int
    unknown_a: int
    unknown_b: int
    block_count: int
    checksum: str
    banner: PictureReference
    icon: PictureReference


def settings_of(replay: Replay) -> Settings:
    """Return the settings of a replay."""
    entry, body = replay.entry, replay.body
    game_code = entry.game_code.decode("ascii", errors="replace")
    return Settings(
        game_code=game_code,
        region=REGIONS[game_code],
        maker=entry.maker_text,
        file_name=entry.file_name_text,
        title=entry.title_text,
        comment=entry.comment_text,
        saved_at=entry.saved_at.isoformat(),
        modified_at=entry.modified_at.isoformat(),
        course=named(body.course, names.courses()),
        mode=body.mode,
        mode_name=names.modes().get(body.mode),
        difficulty=body.difficulty,
        difficulty_name=names.difficulties().get(body.difficulty) if body.mode == GRAND_PRIX else None,
        laps=body.laps,
        racers=[_racer(index, racer) for index, racer in enumerate(body.racers)],
        total_frames=UNSET if body.total_frames is None else body.total_frames,
        checkpoint_count=len(body.checkpoints),
        input_runs=len(body.inputs),
        racer_array_type=body.array_type,
        tick_low=body.tick_low,
        unknown_a=body.unknown_a,
        unknown_b=body.unknown_b,
        block_count=entry.block_count,
        checksum=f"{entry.checksum:04x}",
        banner=PictureReference(
            width=BANNER_SIZE[0], height=BANNER_SIZE[1], sha256=hashlib.sha256(replay.banner).hexdigest()
        ),
        icon=PictureReference(width=ICON_SIZE[0], height=ICON_SIZE[1], sha256=hashlib.sha256(replay.icon).hexdigest()),
    )


def named(number: int, table: Mapping[int, str]) -> Named:
    """Return an id with its name."""
    return Named(id=number, name=table.get(number))


def finite_or_none(value: float) -> float | None:
    """Replace NaN and infinities by `None`, because they don't exist in JSON."""
    return value if math.isfinite(value) else None


def _racer(index: int, racer: Racer) -> RacerSettings:
    return RacerSettings(
        index=index,
        human=bool(racer.human),
        machine=named(racer.machine, names.machines()),
        ai=_or_unset(racer.ai),
        slider=_or_unset(racer.slider if racer.old_slider is None else racer.old_slider),
        color=_or_unset(racer.color),
        custom=UNSET if racer.custom is None else _custom(racer.custom),
    )


def _or_unset(value: int | None) -> int | UnsetType:
    return UNSET if value is None else value


def _custom(machine: CustomMachine) -> CustomSettings:
    return CustomSettings(
        kind=machine.kind_name,
        machine=named(machine.machine, names.machines()),
        pilot=named(machine.pilot, names.pilots()),
        body=_part(machine, machine.body, machine.body_color, names.bodies()),
        cockpit=_part(machine, machine.cockpit, machine.cockpit_color, names.cockpits()),
        booster=_part(machine, machine.booster, machine.booster_color, names.boosters()),
        slider=machine.slider,
        color_swap=machine.color_swap,
        emblem_count=machine.emblem_count,
        emblems=[_emblem(emblem) for emblem in machine.emblems],
        sha256=machine.sha256,
    )


def _part(machine: CustomMachine, part: int, color: bytes, table: Mapping[int, str]) -> Part:
    # Other kinds of machines have no parts, and 0 in these fields, which is also the id of a body.
    name = table.get(part) if machine.kind == ORIGINAL else None
    return Part(id=part, name=name, color=(color[0], color[1], color[2]))


def _emblem(emblem: Emblem) -> EmblemSettings:
    (base_x, base_y), (width, height) = emblem.base, emblem.size
    finite = all(math.isfinite(value) for value in (base_x, base_y, width, height))
    patterns = (emblem.base_x, emblem.base_y, emblem.width, emblem.height)
    return EmblemSettings(
        part=named(emblem.part, names.emblem_parts()),
        rotation_vertical=emblem.rotation_vertical,
        rotation_horizontal=emblem.rotation_horizontal,
        base=(finite_or_none(base_x), finite_or_none(base_y)),
        size=(finite_or_none(width), finite_or_none(height)),
        pixels_sha256=emblem.pixels_sha256,
        raw=UNSET if finite else tuple(f"{pattern:08x}" for pattern in patterns),
    )
