"""A set of five games between Vixen and Altea, the bundled matches, which Altea wins 3-2."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from slpstream.formats.slippi.another_game import as_another_game
from slpstream.parts.demo.bundled import bundled_match
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running

GAMES = 5
STAGES = ["Battlefield", "Fountain of Dreams", "Pokémon Stadium", "Final Destination", "Dream Land N64"]
WINNERS = ["Vixen", "Altea", "Vixen", "Altea", "Altea"]
SCORES = ["1–0", "1–1", "2–1", "2–2", "2–3"]
DECISIVE = "Altea: Forward Smash at 129% on Dream Land N64"


@cache
def recorded(play: int) -> bytes:
    """A game of the set, played long ago. Unpacking takes long; changing the start time does not."""
    return bundled_match(play, started_at=datetime(2001, 11, 21, tzinfo=UTC))


def game_of_the_set(play: int) -> tuple[bytes, datetime]:
    """A finished game and its start time, such that the whole set ends now."""
    started_at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5 * (GAMES - play + 1))
    return as_another_game(recorded(play), random_seed=play, started_at=started_at), started_at


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
