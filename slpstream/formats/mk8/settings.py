"""A ghost's settings as they are on the wire: ids with names, nothing personal but the player's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from slpstream.formats.mk8 import names
from slpstream.formats.mk8.file_name import FileName
from slpstream.formats.mk8.header import Driver, Header, OuterHeader
from slpstream.formats.mk8.sections import ReplayInfo

_WHEEL_SUBSECTIONS = len(names.SUBSECTIONS)


class Named(msgspec.Struct, frozen=True, omit_defaults=True):
    """An id, and its name where there is one."""

    id: int
    name: str | None = None


class Version(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`body` is the version of the body as four hex digits; `game` that of the game as eight, when there is an outer
    header, and `game_name` what people call it."""

    body: str
    game: str | None = None
    game_name: str | None = None


class Vehicle(msgspec.Struct, frozen=True):
    """What somebody drives."""

    kart: Named
    wheels: Named
    glider: Named


class DriverSettings(Vehicle, frozen=True, rename="camel"):
    """A driver slot that is not empty. `index` 0 is the ghost itself; `cpu` 3 is the ghost it drove against."""

    index: int
    character: Named
    variant: int
    mii_weight: Named
    cpu: Named
    team: Named


class Player(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Whose ghost it is. `region`, `mii` (hex), `mii_name` and `profile_id` are there only when they were asked for."""

    name: str
    country: Named
    region: int | None = None
    mii_name: str | None = None
    mii: str | None = None
    profile_id: str | None = None


class NameSettings(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What the file name says; in the game's menus it overrides the content. Times are in milliseconds."""

    kind: str
    number: int
    track: Named
    character: Named
    variant: int
    mii_weight: Named
    vehicle: Vehicle
    total_milliseconds: int
    laps: Sequence[int]
    player_name: str
    country: Named
    motion: bool


class ReplaySettings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The replay part: how many sections and subsections there are. What the subsections are for is known where there
    are 17 (`null` for those of which nothing is known)."""

    sections: int
    subsections: int
    blocks: int
    data_bytes: int
    subsection_names: Sequence[str | None] | None = None


class Mk8Settings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The settings of a ghost. What is not known is left out: `kind` without a file name, `cc` of an unknown class,
    `recorded_at` when it is no date, `replay` when that part is missing or damaged."""

    kind: str | None = None
    kind_name: str | None = None
    version: Version
    track: Named
    cc: int | None = None
    cc_class: int
    mirror: bool
    mode: Named
    online: bool
    drivers: Sequence[DriverSettings]
    player: Player
    recorded_at: str | None = None
    vehicle: Vehicle
    file_name: NameSettings | None = None
    replay: ReplaySettings | None = None


def settings_of(
    header: Header, outer: OuterHeader | None, file_name: FileName | None, replay: ReplayInfo | None
) -> Mk8Settings:
    """Everything that was read, put together."""
    kind = file_name.kind if file_name else None
    return Mk8Settings(
        kind=kind,
        kind_name=names.KINDS.get(kind) if kind else None,
        version=_version(header, outer),
        track=_named(header.track, names.TRACKS),
        cc=names.CC.get(header.cc),
        cc_class=header.cc,
        mirror=bool(header.mirror),
        mode=_named(header.mode, names.MODES),
        online=bool(header.online),
        drivers=[_driver(index, driver) for index, driver in enumerate(header.drivers) if not driver.empty],
        player=_player(header),
        recorded_at=header.recorded_at,
        vehicle=_vehicle(header.drivers[0]),
        file_name=_name(file_name) if file_name else None,
        replay=_replay(replay) if replay else None,
    )


def _named(number: int, table: Mapping[int, str]) -> Named:
    return Named(number, table.get(number))


def _version(header: Header, outer: OuterHeader | None) -> Version:
    if outer is None:
        return Version(header.version_raw)
    return Version(header.version_raw, outer.version, names.GAME_VERSIONS.get(outer.version))


def _vehicle(source: Driver | FileName) -> Vehicle:
    return Vehicle(
        _named(source.kart, names.KARTS), _named(source.wheels, names.WHEELS), _named(source.glider, names.GLIDERS)
    )


def _driver(index: int, driver: Driver) -> DriverSettings:
    vehicle = _vehicle(driver)
    return DriverSettings(
        vehicle.kart,
        vehicle.wheels,
        vehicle.glider,
        index,
        _named(driver.character, names.CHARACTERS),
        driver.variant,
        _named(driver.mii_weight, names.WEIGHTS),
        _named(driver.cpu, names.CPU),
        _named(driver.team, names.TEAMS),
    )


def _player(header: Header) -> Player:
    name, country = header.player_name or header.mii_name, _named(header.country, names.COUNTRIES)
    if header.mii is None or header.profile is None:
        return Player(name, country)
    return Player(name, country, header.region, header.mii_name, header.mii.hex(), header.profile.hex())


def _name(file_name: FileName) -> NameSettings:
    return NameSettings(
        kind=file_name.kind,
        number=file_name.number,
        track=_named(file_name.track, names.TRACKS),
        character=_named(file_name.character, names.CHARACTERS),
        variant=file_name.variant,
        mii_weight=_named(file_name.mii_weight, names.WEIGHTS),
        vehicle=_vehicle(file_name),
        total_milliseconds=file_name.total.total_milliseconds,
        laps=[lap.total_milliseconds for lap in file_name.driven_laps],
        player_name=file_name.player_name,
        country=_named(file_name.country, names.COUNTRIES),
        motion=bool(file_name.motion),
    )


def _replay(info: ReplayInfo) -> ReplaySettings:
    return ReplaySettings(
        info.sections,
        info.subsections,
        info.blocks,
        info.image_end - info.first,
        names.SUBSECTIONS if info.subsections == _WHEEL_SUBSECTIONS else None,
    )
