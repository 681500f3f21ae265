"""The seats of all stations. Phones can claim them, the claims survive a restart, and you can see them in the sets.

If someone claims a seat, this becomes a correction of the station's set. This means that you see the claim wherever
the set is shown. Whenever a set changes, we compare it with its seats again.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import trio

from slpstream.model.bracket_facts import ExpectedPlayer
from slpstream.model.errors import ConfigError, StoreError
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.seats import claims, people, tokens
from slpstream.parts.seats.claims import Claim, Person, Seats, SetNow, Step
from slpstream.parts.seats.code_api import SeatCodes
from slpstream.parts.seats.key_file import KeyFile
from slpstream.parts.seats.offered_people import OfferedPeople
from slpstream.parts.seats.part import Seats as SeatsConfig
from slpstream.parts.seats.phone_api import SeatAct, SeatPort, SeatRefused, StationSeats, TooMany
from slpstream.parts.seats.rate_limit import RateLimit
from slpstream.parts.seats.station_codes import StationCodes
from slpstream.parts.services import ExpectedPlayers
from slpstream.sets import ImpossibleCorrection, SetPatch
from slpstream.system.logs import get_logger

POLL_SECONDS = 25.0
_CHECK_SECONDS = 60.0
_ATTEMPTS = 5
"""A claim is tried again if an operator corrects the set at the same time."""
_RETRY_SECONDS = 5
_ACTS_PER_MINUTE, _ACTS_BURST = 30, 20
_WRONG_PER_MINUTE, _WRONG_BURST = 20, 20


class StationNow(msgspec.Struct):
    """The seats of a station, together with the set that shows them."""

    seats: Seats
    payload: Mapping[str, Any]
    """The newest set."""
    version: int
    changed: trio.Event


class DaemonSeats(RunningPart):
    """The seats of one daemon."""

    def __init__(self, host: Host) -> None:
        """Raises `ConfigError` if you haven't installed the library for QR codes."""
        self._host = host
        self._config = host.config.section(SeatsConfig)
        if importlib.util.find_spec("segno") is None:
            raise ConfigError("configuration", "seats.on", "needs segno: install the extra, `slpstream[seats]`")
        self._known: dict[str, StationNow] = {}
        self._version = time.time_ns() // 1_000_000  # larger than all versions of earlier runs
        self._changing = trio.Lock()
        self._dirty: set[str] = set()
        self._work = trio.Event()
        self._acts = RateLimit(_ACTS_PER_MINUTE, _ACTS_BURST)
        self._wrong = RateLimit(_WRONG_PER_MINUTE, _WRONG_BURST)
        self._log = get_logger()

    def open(self) -> None:
        """Read the secret of the codes, and export the gauges."""
        host, address = self._host, self._config.address
        self._codes = StationCodes(
            address, KeyFile(host.state_folder), self.stations, lambda: (host.config.server.host, host.port)
        )
        self._people = OfferedPeople(host.index, self._expected)
        host.metrics.bind_each("slpstream_claimed_seats", self.claimed)
        host.metrics.bind("slpstream_seat_codes_kept", lambda: float(self.keys_are_kept))

    def stations(self) -> dict[str, str]:
        """Return the names of all stations that have seats, by id."""
        return {station.id: station.name or station.id for station in self._host.stations.lasting_stations}

    def _expected(self, station: str) -> Sequence[ExpectedPlayer]:
        bracket = self._host.find(ExpectedPlayers)
        return () if bracket is None else bracket.expected(station)

    def _count(self, outcome: str) -> None:
        self._host.metrics.counter("slpstream_seat_requests_total", outcome).inc()

    @property
    def keys_are_kept(self) -> bool:
        """Whether the codes survive a restart."""
        return self._codes.trouble is None

    def not_ready(self) -> list[str]:
        """Return the reason why the codes won't survive a restart. If they will, the list is empty."""
        return [] if self._codes.trouble is None else [f"seats: the codes cannot be kept: {self._codes.trouble}"]

    def claimed(self) -> dict[str, float]:
        """Return how many seats were claimed, by station."""
        return {station: float(len(known.seats.claims)) for station, known in list(self._known.items())}

    async def run(self) -> None:
        """Make sure that the seats and the sets always agree, until cancelled."""
        if not self._people.loaded:
            await self._people.load()
            address, address_from = self._codes.address()
            if address_from == "loopback":
                self._log.warning(
                    "phones cannot reach the address in the codes of seats",
                    address=address,
                    what="connect this machine to a network, or set server.host, or seats.address for a proxy",
                )
        while True:
            self._work = trio.Event()
            dirty, self._dirty = self._dirty, set()
            for station in sorted(dirty & self.stations().keys()):
                await self._follow(station)
            with trio.move_on_after(_CHECK_SECONDS) as waited:
                await self._work.wait()
            if waited.cancelled_caught:
                self._dirty |= self._known.keys()  # seats are freed after a while
                await self._codes.keep()

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Note which people are in the set, and that we have to compare it with its seats."""
        self._people.set_changed(station, payload)
        self._dirty.add(station)
        self._work.set()

    async def _follow(self, station: str) -> None:
        """Update the seats of a station from its set, and then the set from its seats."""

        def step(seats: Seats, now: SetNow) -> Step:
            freed = claims.expired(seats, now, _now_ms(), round(60_000 * self._config.free_minutes))
            return freed if freed.seats is not seats else Step(seats, claims.wanted(seats, now))

        try:
            await self._change(station, step, by="phone")
        except (StoreError, ImpossibleCorrection) as error:
            self._log.warning("names of seats cannot be shown", station=station, what=str(error))

    def admits(self, station: str, token: str, peer: str) -> bool:
        """Whether a token is the right one for the given station.

        If there were too many wrong ones from the same address, this raises `TooMany`.
        """
        if self._codes.is_token(station, token):
            return True
        if not self._wrong.allows(peer, trio.current_time()):
            self._count("limited")
            raise TooMany(_RETRY_SECONDS)
        self._count("refused")
        return False

    def is_known(self, station: str) -> bool:
        """Whether a station exists."""
        return station in self.stations()

    async def seats(self, station: str, phone: str, after: int) -> StationSeats:
        """Return the seats of the given station. As long as their version is still `after`, this waits for a while.

        Raises `StoreError` if we can't read the set.
        """
        known = self._known.get(station)
        if known is None:
            await self._change(station, lambda seats, now: Step(seats), by="")
            known = self._known[station]
        if known.version == after:
            with trio.move_on_after(POLL_SECONDS):
                await known.changed.wait()
        return self._described(station, phone)

    async def act(self, station: str, phone: str, peer: str, wanted: SeatAct) -> StationSeats:
        """Do what a phone asks for, and return the seats after that.

        Raises `SeatRefused`, `TooMany` and `StoreError`.
        """
        if not self._acts.allows(f"{peer} {station}", trio.current_time()):
            self._count("limited")
            raise TooMany(_RETRY_SECONDS)
        digest, at_ms = tokens.phone_digest(phone), _now_ms()
        step, by = self._step_of(station, digest, at_ms, wanted)
        try:
            await self._change(station, step, by=by)
        except (claims.SeatTaken, claims.NoSeat, ImpossibleCorrection) as error:
            self._count("taken")
            raise SeatRefused(str(error)) from None
        except StoreError:
            self._count("failed")
            raise
        self._count("done")
        return self._described(station, phone)

    def _step_of(
        self, station: str, phone: str, at_ms: int, wanted: SeatAct
    ) -> tuple[Callable[[Seats, SetNow], Step], str]:
        """Return the step that an act stands for, and who should be named as its author in the list of changes.

        Raises `SeatRefused` if the act isn't possible.
        """
        index = wanted.player_index
        if wanted.act == "claim":
            claim = Claim(phone, self._person(station, wanted.name), at_ms)
            return (
                lambda seats, now: claims.claimed(
                    seats, now, index, claim, take_over=wanted.take_over, stay=wanted.stay
                ),
                f"phone: {claim.person.name}",
            )
        known = self._known.get(station)
        seat = None if known is None else known.seats.seat_of(phone)
        by = "phone" if known is None or seat is None else f"phone: {known.seats.claims[seat].person.name}"
        if wanted.act == "swap":
            return lambda seats, now: claims.swapped(seats, now, index, phone, at_ms), by
        return lambda seats, now: claims.left(seats, now, phone, at_ms), by

    def _person(self, station: str, name: str) -> Person:
        """Return the person with a name that was offered or typed. Raises `SeatRefused` if the name isn't allowed."""
        person = self._people.find(station, name)
        if person is not None:
            return person
        if not self._config.typed_names:
            raise SeatRefused("tap a name: other names cannot be typed here")
        clean = people.clean_name(name)
        if not clean:
            raise SeatRefused("a name is required")
        return Person(clean)

    async def _change(self, station: str, act: Callable[[Seats, SetNow], Step], *, by: str) -> None:
        """Apply an act to the seats of the given station, and correct its set accordingly.

        Raises the errors of the act, `StoreError` and `ImpossibleCorrection`. In this case, nothing has changed.
        """
        async with self._changing:
            for _ in range(_ATTEMPTS):
                score = await self._host.sets.score(station)
                payload: Mapping[str, Any] = msgspec.to_builtins(score)
                now = claims.set_now(payload)
                before = claims.followed(await self._kept(station), now, _now_ms())
                step = act(before, now)
                seats = step.seats
                if step.patch is not None:
                    patch = msgspec.convert(step.patch, SetPatch)
                    corrected = await self._host.sets.correct(station, patch, lambda found: found == score, by=by)  # noqa: B023
                    if corrected is None:
                        continue  # an operator was faster
                    payload = msgspec.to_builtins(corrected)
                    seats = claims.followed(seats, claims.set_now(payload), _now_ms())
                self._keep(station, seats, payload)
                return
        raise StoreError("the set keeps changing")

    async def _kept(self, station: str) -> Seats:
        known = self._known.get(station)
        if known is not None:
            return known.seats
        return _decoded(await self._host.index.remembered(_key(station)))

    def _keep(self, station: str, seats: Seats, payload: Mapping[str, Any]) -> None:
        """Keep the seats, and wake all phones that are waiting for a change."""
        known = self._known.get(station)
        if known is not None and (known.seats, known.payload) == (seats, payload):
            return
        if known is None or known.seats != seats:
            self._host.index.remember(_key(station), msgspec.to_builtins(seats))
        self._version += 1
        self._known[station] = StationNow(seats, payload, self._version, trio.Event())
        if known is not None:
            known.changed.set()

    def _described(self, station: str, phone: str) -> StationSeats:
        known = self._known[station]
        now = claims.set_now(known.payload)
        digest = tokens.phone_digest(phone)
        players = {player["playerIndex"]: player for player in known.payload["players"]}
        return StationSeats(
            station=station,
            name=self.stations().get(station, station),
            version=known.version,
            state=now.state,
            playing=now.playing,
            ports=[
                _port(index, known.seats.claims.get(index), players.get(index, {}), now, digest)
                for index in range(claims.PORTS)
            ],
            people=self._people.at(station),
            typed_names=self._config.typed_names,
        )

    def codes(self) -> SeatCodes:
        """The codes of all stations."""
        return self._codes.listed()

    async def renew(self, station: str | None) -> bool:
        """Replace the token of the given station, or of all stations. Returns whether there's such a station."""
        if station is not None and not self.is_known(station):
            return False
        await self._codes.renew(station)
        for known in self._known.values():  # waiting phones learn that their code is no longer valid
            known.changed.set()
            known.changed = trio.Event()
        return True


def _port(index: int, claim: Claim | None, player: Mapping[str, Any], now: SetNow, phone: str) -> SeatPort:
    shown: str | None = player.get("name")
    details = player if claim is None else msgspec.to_builtins(claim.person)
    waits = claim is not None and not claim.shown
    overruled = claim is not None and claim.shown and player.get("namedByOperator") and shown != claim.person.name
    return SeatPort(
        port=index + 1,
        player_index=index,
        name=details.get("name"),
        operator_name=shown if overruled else None,
        sponsor=details.get("sponsor"),
        pronouns=details.get("pronouns"),
        claimed=claim is not None,
        yours=claim is not None and claim.phone == phone,
        waits=waits,
        character_id=None if waits or now.state == "upcoming" else player.get("characterId"),
        character_color=None if waits or now.state == "upcoming" else player.get("characterColor"),
    )


def _key(station: str) -> str:
    return f"seats.{station}"


def _decoded(kept: Any) -> Seats:
    try:
        return msgspec.convert(kept or {}, Seats, str_keys=True)
    except msgspec.ValidationError:  # written by another version
        return Seats()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
