"""The settings of a ghost in the form in which messages contain them.

Ids have names, and the only personal data is the name of the player.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from slpstream.formats.mk8 import names
from slpstream.formats.mk8.file_name import FileName
from slpstream.formats.mk8.header import Driver, Header, OuterHeader
from slpstream.formats.mk8.sections import ReplayInfo

CUBIC_CENTIMETRES: Mapping[int, int] = {0: 50, 1: 100, 2: 150, 3: 200}
"""Engine size by engine class."""
_FOUR_WHEEL_SUBSECTIONS = 17


class Named(msgspec.Struct, frozen=True, omit_defaults=True):
    """An id, and its name if it is known."""

    id: int
    name: str | None = None


class Version(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Versions of a ghost.

    `body` is the version of the body as four hex digits. A file with an outer header also has `game`, the version of
    the game as eight hex digits, and `game_name`, its usual name if it is known.
    """

    body: str
    game: str | None = None
    game_name: str | None = None


class Vehicle(msgspec.Struct, frozen=True):
    """The parts of a vehicle."""

    kart: Named
    wheels: Named
    glider: Named


class DriverSettings(Vehicle, frozen=True, rename="camel"):
    """A driver slot in use. `index` 0 is the ghost itself; `cpu` 3 is the ghost that it drove against."""

    index: int
    character: Named
    variant: int
    mii_weight: Named
    cpu: Named
    team: Named


class Player(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The player who drove. `region`, `mii` (hex), `mii_name` and `profile_id` are present only on request."""

    name: str
    country: Named
    region: int | None = None
    mii_name: str | None = None
    mii: str | None = None
    profile_id: str | None = None


class NameSettings(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The data in the file name, which overrides the content in the game's menus. Times are in milliseconds."""

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
    """The replay part: the numbers of its sections, subsections in each section, and blocks.

    `subsection_names` are known only for vehicles with 17 subsections; in these, `null` is a subsection of unknown
    purpose.
    """

    sections: int
    subsections: int
    blocks: int
    data_bytes: int
    subsection_names: Sequence[str | None] | None = None


class Mk8Settings(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The settings of a ghost.

    Unknown values are left out: `kind` without a ghost's file name, `cc` for an unknown class, `recorded_at` when it is
    not a valid date, `replay` when that part is missing or damaged.
    """

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
    """Put the parts of a ghost together.

    If `outer`, `file_name` or `replay` is absent or can't be read, pass `None`.
    """
    kind = file_name.kind if file_name else None
    return Mk8Settings(
        kind=kind,
        kind_name=names.kinds().get(kind) if kind else None,
        version=_version(header, outer),
        track=_named(header.track, names.tracks()),
        cc=CUBIC_CENTIMETRES.get(header.cc),
        cc_class=header.cc,
        mirror=bool(header.mirror),
        mode=_named(header.mode, names.modes()),
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
    return Version(header.version_raw, outer.version, names.game_versions().get(outer.version))


def _vehicle(source: Driver | FileName) -> Vehicle:
    return Vehicle(
        _named(source.kart, names.karts()),
        _named(source.wheels, names.wheels()),
        _named(source.glider, names.gliders()),
    )


def _driver(index: int, driver: Driver) -> DriverSettings:
    vehicle = _vehicle(driver)
    return DriverSettings(
        vehicle.kart,
        vehicle.wheels,
        vehicle.glider,
        index,
        _named(driver.character, names.characters()),
        driver.variant,
        _named(driver.mii_weight, names.weights()),
        _named(driver.cpu, names.cpu()),
        _named(driver.team, names.teams()),
    )


def _player(header: Header) -> Player:
    name, country = header.player_name or header.mii_name, _named(header.country, names.countries())
    if header.mii is None or header.profile is None:
        return Player(name, country)
    return Player(name, country, header.region, header.mii_name, header.mii.hex(), header.profile.hex())


def _name(file_name: FileName) -> NameSettings:
    return NameSettings(
        kind=file_name.kind,
        number=file_name.number,
        track=_named(file_name.track, names.tracks()),
        character=_named(file_name.character, names.characters()),
        variant=file_name.variant,
        mii_weight=_named(file_name.mii_weight, names.weights()),
        vehicle=_vehicle(file_name),
        total_milliseconds=file_name.total.total_milliseconds,
        laps=[lap.total_milliseconds for lap in file_name.driven_laps],
        player_name=file_name.player_name,
        country=_named(file_name.country, names.countries()),
        motion=bool(file_name.motion),
    )


def _replay(info: ReplayInfo) -> ReplaySettings:
    return ReplaySettings(
        info.sections,
        info.subsections,
        info.blocks,
        info.image_end - info.first,
        names.subsections() if info.subsections == _FOUR_WHEEL_SUBSECTIONS else None,
    )
