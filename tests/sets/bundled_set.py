"""A set of five games between Vixen and Altea, the bundled matches, which Altea wins 3-2."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from slpstream.formats.slippi.edited import as_another_game
from slpstream.parts.demo.bundled import bundled_match
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.synthetic.match import synthetic_match

GAMES = 5
STAGES = ["Battlefield", "Fountain of Dreams", "Pokémon Stadium", "Final Destination", "Dream Land N64"]
WINNERS = ["Vixen", "Altea", "Vixen", "Altea", "Altea"]
SCORES = ["1–0", "1–1", "2–1", "2–2", "2–3"]
DECISIVE = "Altea: Forward Smash at 129% on Dream Land N64"
_SHORT = ((47, 31), (37, 2), (46, 3), (21, 32), (40, 28))
"""Seeds and stages of the short games."""


@cache
def recorded(play: int) -> bytes:
    """A game of the set, played long ago. Unpacking takes long; changing the start time does not."""
    return bundled_match(play, started_at=datetime(2001, 11, 21, tzinfo=UTC))


def game_of_the_set(play: int) -> tuple[bytes, datetime]:
    """A finished game and its start time, such that the whole set ends now."""
    return as_another_game(recorded(play), random_seed=play, started_at=_start_of(play)), _start_of(play)


def short_game_of_the_set(play: int) -> bytes:
    """A finished game of one stock with the same stage and the same winner, for tests that need few frames."""
    seed, stage_id = _SHORT[play - 1]
    match = synthetic_match(seed=seed, stage_id=stage_id, stocks=1)
    return as_another_game(match, random_seed=play, started_at=_start_of(play))


def _start_of(play: int) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5 * (GAMES - play + 1))


def add_game(folder: Path, play: int) -> None:
    """Put a finished game into the folder of the station."""
    data, started_at = game_of_the_set(play)
    staged = folder.parent / "game.part"
    staged.write_bytes(data)
    os.utime(staged, (started_at.timestamp(), started_at.timestamp()))
    staged.replace(folder / f"Game_{play}.slp")


@contextmanager
def best_of_five(folder: Path) -> Iterator[tuple[DaemonProcess, Path]]:
    """A daemon with best-of-five sets, and the folder of its station `station`."""
    station = folder / "station"
    station.mkdir()
    with running(station, arguments=configuration(folder, "[sets]\nbest_of = 5\n")) as daemon:
        daemon.wait_ready()
        yield daemon, station
