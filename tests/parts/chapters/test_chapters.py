"""Chapters and cut lists of a daemon's games."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

from tests.daemons.process import running
from tests.sets.games import ANN_AND_BOB, DAY, Folder, Seat, replay

CAROL_AND_DAVE = {0: Seat("Carol", "CAR#3"), 1: Seat("Dave", "DAV#4")}


def at(minute: float) -> str:
    """A minute of the day, formatted as in the address of a page."""
    return datetime.fromtimestamp(DAY + 60 * minute, UTC).isoformat().replace("+00:00", "Z")


def test_stream_as_chapters_and_cuts(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "main")
    for minute, seats in ((5, ANN_AND_BOB), (8, ANN_AND_BOB), (20, CAROL_AND_DAVE), (23, CAROL_AND_DAVE)):
        folder.add(minute, replay(seats, {0: 2, 1: 0}, seconds=60, minute=minute))
    with running(folder.path, state=tmp_path / "state") as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 4)
        stream = f"from={at(3)}&to={at(60)}"
        assert daemon.text(f"/v1/chapters/youtube.txt?{stream}") == (
            "0:00 Start\n2:00 Ann vs Bob, game 1\n5:00 Ann vs Bob, game 2\n"
            "17:00 Carol vs Dave, game 1\n20:00 Carol vs Dave, game 2\n"
        )
        found = daemon.get(f"/v1/chapters?{stream}&per=set&station=main")
        assert [each["title"] for each in found["chapters"]] == ["Start", "Ann vs Bob", "Carol vs Dave"]
        assert found["description"].startswith("0:00 Start\n2:00 Ann vs Bob\n")
        assert [(each["inSeconds"], each["startedAt"][:19]) for each in found["cuts"]] == [
            (120.0, at(5)[:19]), (1020.0, at(20)[:19]),
        ]  # fmt: skip
        assert "reason" not in found
        rows = list(csv.DictReader(daemon.text(f"/v1/chapters/cuts.csv?{stream}&padding=0").splitlines()))
        assert [(row["title"], row["in"]) for row in rows] == [
            ("Ann vs Bob", "00:02:00.000"), ("Carol vs Dave", "00:17:00.000"),
        ]  # fmt: skip
        assert "001  AX       B     C        00:01:55:00 " in daemon.text(f"/v1/chapters/cuts.edl?{stream}&rate=30")
        assert daemon.get(f"/v1/chapters?from={at(21)}")["reason"].startswith("YouTube wants at least 3")
        assert daemon.status(f"/v1/chapters/youtube.txt?from={at(21)}") == 409
        assert daemon.get(f"/v1/chapters?from={at(21)}&station=nobody")["chapters"] == []
        assert daemon.status("/v1/chapters?from=noon") == 422
        assert daemon.status("/v1/chapters") == 422
