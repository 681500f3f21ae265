"""A fleet of setups: replays in the form of a tournament's consoles, equal except for planted differences."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slpstream.formats.slippi import container
from tests.formats.slippi.built import post, pre, start
from tests.formats.slippi.gecko_lists import INSERT, code, hooks
from tests.formats.slippi.writer import PlayerSetup, ReplayWriter, game_start

UCF_0_8 = (0x800C9A44, 0x800998A4, 0x800908F4)
UCF_0_84 = (*UCF_0_8, 0x800D65EC, 0x8006B460, 0x8008E54C, 0x8009A0B8, 0x80093294)
WOBBLING = (0x800DB880, 0x800DBBD4, 0x8008F090)
PD = (0x801A4DA0, 0x801A4DB4, 0x80019860)
FROZEN_STADIUM = (0x801D45FC, 0x801D457C)
SAFETY = (0x8022F958, 0x80167F40)
PAL = (
    0x804DEC14, 0x80068F30, 0x800796E0, 0x8010FC44, 0x8010FB64, 0x803CE4D4, 0x802B7E54, 0x802B808C, 0x801239A8,
    0x80266978, 0x802F9A3C,
)  # fmt: skip
WIDE_SCREEN = (0x803BB05C, 0x8036A4A8, 0x804DDB58, 0x80086B24)
ITEMS_OFF, TEAM_ATTACK = 0xFF, 0x01
FRAMES = 40
SAID = "2026-05-13T{:02}:{:02}:00"
FIRST_GAME_AT = 1_778_666_400
"""Unix time of `SAID` at 10:00, UTC."""


class Console(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one setup."""

    version: tuple[int, int, int] = (3, 18, 0)
    hooked: tuple[tuple[int, ...], ...] = (UCF_0_84, WOBBLING, PD, SAFETY)
    fixes: tuple[tuple[int, int], ...] = ((1, 1), (1, 1), (1, 1), (1, 1))
    """Dashback and shield-drop fix of each port."""
    rows: Mapping[str, Any] = msgspec.field(default_factory=lambda: {"is_frozen_ps": True})
    """Rows of Game Start."""
    stocks: int = 4
    player_bitfield: int = 0xC0
    platform: str = "nintendont"
    clock_minutes: int = 0
    """How far its clock is ahead."""


class Planted(NamedTuple):
    """A planted difference, and its finding."""

    console: Console
    name: str
    text: str
    port: int | None = None


def fixes(port: int, dashback: int, shield_drop: int) -> tuple[tuple[int, int], ...]:
    """UCF on all ports except one."""
    return tuple((dashback, shield_drop) if number == port else (1, 1) for number in (1, 2, 3, 4))


USUAL = Console()
TWENTY = (
    Planted(Console(version=(3, 17, 0)), "version", "3.17.0"),
    Planted(Console(hooked=(UCF_0_8, WOBBLING, PD, SAFETY)), "codes_ucf", "UCF 0.8"),
    Planted(Console(hooked=(WOBBLING, PD, SAFETY)), "codes_ucf", "none"),
    Planted(Console(hooked=(UCF_0_84, PD, SAFETY)), "codes_wobbling", "none"),
    Planted(Console(hooked=(*USUAL.hooked, PAL)), "codes_pal", "PAL"),
    Planted(Console(hooked=(*USUAL.hooked, FROZEN_STADIUM)), "codes_frozen_stages", "Frozen Stadium"),
    Planted(Console(hooked=(*USUAL.hooked, WIDE_SCREEN)), "codes_wide_screen", "wide screen"),
    Planted(Console(hooked=(*USUAL.hooked, (0x80001234,))), "codes", "codes)"),
    Planted(Console(fixes=fixes(1, 0, 0)), "ucf", "off", 1),
    Planted(Console(fixes=fixes(3, 0, 0)), "ucf", "off", 3),
    Planted(Console(fixes=fixes(2, 1, 0)), "ucf", "dashback on, shield drop off", 2),
    Planted(Console(fixes=fixes(4, 2, 2)), "ucf", "Dween", 4),
    Planted(Console(rows={"is_frozen_ps": False}), "stadium", "transforms"),
    Planted(Console(rows={**USUAL.rows, "is_pal": True}), "region", "PAL"),
    Planted(Console(rows={**USUAL.rows, "language": 0}), "language", "Japanese"),
    Planted(Console(platform="dolphin"), "platform", "dolphin"),
    Planted(Console(stocks=3), "stocks", "3"),
    Planted(Console(rows={**USUAL.rows, "starting_timer_seconds": 420}), "timer", "7:00"),
    Planted(Console(rows={**USUAL.rows, "item_spawn_behavior": 2}), "items", "medium"),
    Planted(Console(rows={**USUAL.rows, "game_bitfield_2": 0}), "team_attack", "off"),
)
"""Twenty differences, one of each kind that a file shows."""


def code_list(console: Console, variable: int) -> bytes:
    """The Gecko list of a console. Codes keep variables, so the lists of two games differ."""
    lists = [hooks(addresses, value=variable) for addresses in console.hooked]
    return b"".join([code(0x8015EE98, value=variable), *lists, code(0x801A45B8, INSERT, 4, variable)])


def game(
    console: Console,
    number: int,
    *,
    ports: tuple[int, ...] = (1, 2),
    seconds: float = 0.0,
    quits: bool = False,
    **rows: Any,
) -> bytes:
    """The `number`th game of a console, finished or quit by the first player. Its last frame implies `seconds`."""
    chance = random.Random(repr((console, number, ports)))
    players = [
        PlayerSetup(
            index=port - 1,
            character_id=chance.randrange(26),
            start_stocks=console.stocks,
            player_bitfield=console.player_bitfield,
            team_id=port % 2,
            dashback_fix=console.fixes[port - 1][0],
            shield_drop_fix=console.fixes[port - 1][1],
        )
        for port in ports
    ]
    codes = code_list(console, chance.randrange(1 << 32))
    writer = ReplayWriter(console.version, gecko_list_bytes=len(codes))
    teams = len(ports) == 4
    head = game_start(
        console.version,
        players=players,
        stage_id=chance.choice((2, 3, 8, 28, 31, 32)),
        **{"random_seed": chance.randrange(1 << 32), "is_teams": teams, **console.rows, **rows},
    )
    parts = [writer.open(), writer.event(head), writer.gecko_list(codes)]
    numbers = range(-123, -123 + FRAMES) if not seconds else (-123, round(60 * seconds) - 124)
    indices = [port - 1 for port in ports]
    for frame in numbers:
        pres, posts = [pre(frame, i) for i in indices], [post(frame, i) for i in indices]
        parts.append(writer.frame(frame, start=start(frame), pres=pres, posts=posts))
    places = {port - 1: place for place, port in enumerate(ports)}
    method, quitter = (7, indices[0]) if quits else (2, -1)
    placements = tuple(places.get(i, -1) for i in range(4))
    parts.append(writer.end(method, lras_initiator=quitter, placements=placements))  # type: ignore[arg-type]
    hours, minutes = divmod(600 + 10 * number + console.clock_minutes, 60)
    said = SAID.format(hours, minutes)
    metadata = {"startAt": said, "lastFrame": numbers[-1], "playedOn": console.platform, "players": {}}
    body = b"".join(parts) + writer.close(metadata)
    return writer.header() + body[container.HEADER_BYTES :]


def write_setup(folder: Path, console: Console) -> None:
    """Write the games of one setup: doubles on all ports, then singles. No other setup has the same games."""
    folder.mkdir(parents=True)
    for number, ports in enumerate(((1, 2, 3, 4), (1, 2))):
        path = folder / f"Game_{number}.slp"
        seed = zlib.crc32(f"{folder.parent.name} {folder.name} {number}".encode())
        path.write_bytes(game(console, number, ports=ports, seconds=150.0, random_seed=seed))
        at = FIRST_GAME_AT + 600 * number
        os.utime(path, (at, at))


def name_of(number: int) -> str:
    """The name of a setup, from 1."""
    return f"{number:02}"


def write_fleet(folder: Path, size: int, planted: Mapping[int, Console]) -> None:
    """Write the games of setups with the usual settings, except for the planted ones, by number from 1."""
    for number in range(1, size + 1):
        write_setup(folder / name_of(number), planted.get(number, USUAL))
