"""The tournament, for correctness alone: fifty stations, lossless clients that lose their connections, nothing lost and
nothing doubled. `SLPSTREAM_TOURNAMENT_SECONDS=60` is the form of a minute; time is not judged.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from slpstream.api import messages
from tests.bench.resuming import BLOCK_LINES, GameLines, mode_of
from tests.bench.tournament import RECONNECTS_PER_SECOND, STATIONS, differences, measure
from tests.synthetic.match import synthetic_match

_SECONDS = float(os.environ.get("SLPSTREAM_TOURNAMENT_SECONDS", "8"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the benchmarks read /proc")
def test_nothing_is_lost_and_nothing_is_doubled() -> None:
    measured = measure(_SECONDS)
    assert measured.differences == []
    assert measured.messages > 50 * STATIONS * _SECONDS, "most of them are frames, sixty a second"
    assert measured.games > STATIONS
    assert measured.reconnects_per_second > RECONNECTS_PER_SECOND / 5
    assert len(measured.latencies) > 0.7 * 60 * STATIONS * _SECONDS


# -- that it would be noticed -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tournament") / "s00"
    folder.mkdir()
    for number in range(2):
        (folder / f"Game_{number}.slp").write_bytes(synthetic_match(seed=number, frames=300))
    return folder


def heard(folder: Path, mode: str = "live") -> list[list[bytes]]:
    """The lines of each game, as a client gets them."""
    return [[message.json("s00") for message in messages(path, frames=mode)] for path in sorted(folder.iterdir())]  # type: ignore[arg-type]


def client(games: list[list[bytes]], *faults: str) -> dict[str, Any]:
    """What a client says that has got these lines."""
    summaries: dict[str, Any] = {}
    for lines in games:
        kept = GameLines()
        for line in lines:
            kept.add(line)
        begin = lines[0].index(b'"gameId":"') + 10
        summaries[lines[0][begin : begin + 32].decode()] = kept.summary()
    return {"faults": list(faults), "games": summaries}


def test_all_that_there_is_is_no_difference(folder: Path) -> None:
    assert list(differences(folder, 0, client(heard(folder)))) == []
    assert mode_of(4) == "finalized"
    assert list(differences(folder, 4, client(heard(folder, "finalized")))) == []


@pytest.mark.parametrize("at", [1, BLOCK_LINES - 1, BLOCK_LINES, -1])
@pytest.mark.parametrize("how", ["lost", "doubled", "swapped", "altered"])
def test_one_line_is_a_difference(how: str, at: int, folder: Path) -> None:
    games = heard(folder)
    lines = games[1]
    if how == "lost":
        del lines[at]
    elif how == "doubled":
        lines.insert(at, lines[at])
    elif how == "swapped":
        lines[at], lines[at - 1] = lines[at - 1], lines[at]
    else:
        lines[at] = lines[at].replace(b"0", b"1", 1)
    said = list(differences(folder, 0, client(games)))
    assert said
    assert all(line.startswith("Game_1.slp: ") for line in said)


def test_games_and_faults_are_differences(folder: Path) -> None:
    games = heard(folder)
    assert next(iter(differences(folder, 0, client(games[:1])))) == "Game_1.slp: nothing of it came"
    assert "the games came as" in next(differences(folder, 0, client(games[::-1])))
    assert list(differences(folder, 0, client(games, "closed"))) == ["closed"]


def test_blocks_are_digests_of_lines() -> None:
    kept = GameLines()
    for number in range(BLOCK_LINES + 1):
        kept.add(b"%d" % number)
    [first, second] = kept.summary()["blocks"]
    assert second == hashlib.sha256(b"%d\n" % BLOCK_LINES).hexdigest()
    assert first == hashlib.sha256(b"".join(b"%d\n" % number for number in range(BLOCK_LINES))).hexdigest()
