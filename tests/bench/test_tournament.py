"""The correctness of the tournament: fifty stations with lossless clients that reconnect, and no message is lost or
duplicated. CI sets `SLPSTREAM_TOURNAMENT_SECONDS` to 20: each station plays two games and a part of a third, and every
client reconnects about four times. Times are not checked.
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
def test_reconnecting_clients_neither_lose_nor_duplicate_messages() -> None:
    measured = measure(_SECONDS)
    assert measured.differences == []
    assert measured.messages > 50 * STATIONS * _SECONDS, "most messages are frames, sixty per second"
    assert measured.games > STATIONS
    assert measured.reconnects_per_second > RECONNECTS_PER_SECOND / 5
    assert len(measured.latencies) > 0.7 * 60 * STATIONS * _SECONDS


# The tests below show that differences would be noticed.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tournament") / "s00"
    folder.mkdir()
    for number in range(2):
        (folder / f"Game_{number}.slp").write_bytes(synthetic_match(seed=number, frames=300))
    return folder


def expected_lines(folder: Path, mode: str = "live") -> list[list[bytes]]:
    """The lines of each game that a client should receive."""
    return [[message.json("s00") for message in messages(path, frames=mode)] for path in sorted(folder.iterdir())]  # type: ignore[arg-type]


def client(games: list[list[bytes]], *faults: str) -> dict[str, Any]:
    """The results of a client that has received these lines."""
    summaries: dict[str, Any] = {}
    for lines in games:
        digests = GameLines()
        for line in lines:
            digests.add(line)
        begin = lines[0].index(b'"gameId":"') + 10
        summaries[lines[0][begin : begin + 32].decode()] = digests.summary()
    return {"faults": list(faults), "games": summaries}


def test_complete_lines_have_no_difference(folder: Path) -> None:
    assert list(differences(folder, 0, client(expected_lines(folder)))) == []
    assert mode_of(4) == "finalized"
    assert list(differences(folder, 4, client(expected_lines(folder, "finalized")))) == []


@pytest.mark.parametrize("index", [1, BLOCK_LINES - 1, BLOCK_LINES, -1])
@pytest.mark.parametrize("fault", ["lost", "duplicated", "swapped", "altered"])
def test_one_wrong_line_is_a_difference(fault: str, index: int, folder: Path) -> None:
    games = expected_lines(folder)
    lines = games[1]
    if fault == "lost":
        del lines[index]
    elif fault == "duplicated":
        lines.insert(index, lines[index])
    elif fault == "swapped":
        lines[index], lines[index - 1] = lines[index - 1], lines[index]
    else:
        lines[index] = lines[index].replace(b"0", b"1", 1)
    found = list(differences(folder, 0, client(games)))
    assert found
    assert all(line.startswith("Game_1.slp: ") for line in found)


def test_games_and_faults_are_differences(folder: Path) -> None:
    games = expected_lines(folder)
    assert next(iter(differences(folder, 0, client(games[:1])))) == "Game_1.slp: no line was received"
    assert "the games were received as" in next(differences(folder, 0, client(games[::-1])))
    assert list(differences(folder, 0, client(games, "closed"))) == ["closed"]


def test_blocks_are_digests_of_lines() -> None:
    digests = GameLines()
    for number in range(BLOCK_LINES + 1):
        digests.add(b"%d" % number)
    [first, second] = digests.summary()["blocks"]
    assert second == hashlib.sha256(b"%d\n" % BLOCK_LINES).hexdigest()
    assert first == hashlib.sha256(b"".join(b"%d\n" % number for number in range(BLOCK_LINES))).hexdigest()
