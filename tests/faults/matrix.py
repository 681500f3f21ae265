"""The table of faults: each with what it does to the daemon, what is said, how it heals, and how it is played.

`times` is how often the long form does it, `short` the form that is a test.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.faults import files, machine, many, processes
from tests.faults.injector import compiler
from tests.faults.scene import Outcome
from tests.project import ROOT

PAGE = ROOT / "deploy" / "docs" / "faults.md"


class Fault(NamedTuple):
    """One row."""

    name: str
    play: Callable[[Path, int], Outcome]
    times: int
    short: int
    happens: str
    said: str
    heals: str
    needs: str = ""
    """`injector` or `root`: what it cannot be played without."""

    def run(self, times: int) -> Outcome:
        """Plays it in an empty folder, which is gone afterwards."""
        folder = Path(tempfile.mkdtemp(prefix="slpstream-fault-"))
        try:
            return self.play(folder, times)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def cannot(self) -> str | None:
        """Why it cannot be played here."""
        if self.needs == "injector" and compiler() is None:
            return "there is no C compiler"
        return "it takes root" if self.needs == "root" and not machine.as_root() else None


_GOES_ON = "the log goes on where it was"
_NEXT = "the next game is streamed like any other"

FAULTS: Sequence[Fault] = (
    Fault(
        "killed (SIGKILL) at random points of a game",
        processes.killed,
        200,
        5,
        "connections end; the next daemon reads the file again and makes the same messages",
        "nothing: it had no time to",
        "subscribers come back with their cursors",
    ),
    Fault(
        "suspended (SIGSTOP, SIGCONT)",
        processes.suspended,
        50,
        2,
        "bytes wait in the file",
        "`slpstream_tail_lag_seconds` grows",
        "reads what was written meanwhile",
    ),
    Fault(
        "a subscriber's connection is cut",
        processes.cut_off,
        200,
        8,
        "nothing to the daemon",
        "`slpstream_websockets` falls",
        "the subscriber comes back with its cursor",
    ),
    Fault(
        "file truncated, another game written into it",
        files.truncated,
        50,
        2,
        "the game is lost: its log ends where it was, without a `game_end`",
        "`file lost`, station `idle` with the reason",
        "what is written into it is a new game",
    ),
    Fault(
        "file replaced by another (rename)",
        files.replaced,
        50,
        2,
        "the game is lost; what is there now is read",
        "`file lost`, station `idle` with the reason",
        "the other file is a new game",
    ),
    Fault(
        "file renamed in its folder", files.renamed, 50, 2, "it is followed on", "nothing: nothing is wrong", _GOES_ON
    ),
    Fault(
        "file moved within the station",
        files.moved_within,
        50,
        2,
        "it is followed on",
        "nothing: nothing is wrong",
        _GOES_ON,
    ),
    Fault(
        "file moved away, written on, moved back",
        files.moved_out,
        20,
        1,
        "the game is lost, and known again by its file when it is back",
        "`file lost`, then station `playing`",
        _GOES_ON,
    ),
    Fault("file deleted", files.deleted, 50, 2, "the game is lost", "`file lost`, station `idle`", _NEXT),
    Fault(
        "folder may not be read for a while",
        machine.permission,
        20,
        1,
        "open games go on; new ones are not seen",
        "`file refused`, station `offline`: the folder cannot be read",
        "looked at again every few seconds; " + _GOES_ON,
    ),
    Fault(
        "file may not be opened for a while",
        machine.file_permission,
        20,
        1,
        "the next daemon cannot open it",
        "`file refused` with the reason, a `diagnostic` to subscribers",
        "tried again at each scan; " + _GOES_ON,
    ),
    Fault(
        "disk of the state folder full",
        machine.disk_full,
        20,
        1,
        "the index of games misses games; streaming does not notice",
        "`game index` with the error, `slpstream_index_errors_total`",
        "the index goes on when there is room; `slpstream reindex` fills what is missing",
        "root",
    ),
    Fault(
        "read error (EIO)",
        machine.read_error,
        20,
        2,
        "the file is let go, and opened again at a later scan",
        "`file lost` with the error, `slpstream_source_errors_total`",
        _GOES_ON,
        "injector",
    ),
    Fault(
        "the clock jumps: an hour on, a day back, a month on, home",
        machine.clock,
        40,
        2,
        "nothing: only status messages and figures of lag have the wall clock",
        "wrong times, until it is right again",
        "nothing needs to",
        "injector",
    ),
    Fault(
        "folder unmounted and mounted",
        machine.unmounted,
        20,
        1,
        "the folder is another one: what was followed in the old one is lost",
        "station `offline`, or a new scan",
        _NEXT,
    ),
    Fault(
        "inotify watches used up",
        machine.no_watches,
        10,
        2,
        "growth is found by polling",
        "`degraded` in `/v1/stations`",
        "polling is enough",
        "injector",
    ),
    Fault(
        "inotify queue overflows",
        machine.overflow,
        40,
        2,
        "everything is looked at once",
        "nothing: nothing is lost",
        _GOES_ON,
        "injector",
    ),
    Fault(
        "so many finished games at once, with 128 descriptors",
        many.at_once,
        10_000,
        400,
        "they are opened, streamed and closed a few at a time",
        "`game start` and `game end` of each",
        "nothing needs to",
    ),
    Fault(
        "file names that are not UTF-8, have line feeds, are too long",
        many.names,
        50,
        5,
        "they are read like others",
        "names are shown with what cannot be shown replaced",
        "nothing needs to",
    ),
)

HEAD = """# Faults

Each was done on purpose to a real daemon, while games were written and a subscriber counted its messages: the fault,
how often it was done, the messages that the subscriber had to get, those that it did not get, and those that it got
twice. A message counts as right only byte for byte and in order.

`uv run python -m tests.faults --table` does it all again and writes this page; the short forms are tests.
"""

TAIL = """
Real, where the machine gives the right to: kills, disks (a small one is mounted), permissions (the daemon runs without
root's power to read everything). A read error, the clock, the watches and the queue of inotify are faults that a
library loaded into the daemon makes at the system call; unmounting and mounting is a file system that comes over the
folder and goes, and where nothing may be mounted the folder is taken away and brought back. Disks that are full while
a console is recorded are on the page of consoles (`consoles.md`).
"""


def page(outcomes: Sequence[Outcome]) -> str:
    """The page with what was counted."""
    lines = [
        HEAD,
        "| fault | times | messages | lost | doubled | what happens | what is said | how it heals |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for fault, outcome in zip(FAULTS, outcomes, strict=True):
        counts = " | ".join(f"{count:,}" for count in outcome)
        lines.append(f"| {fault.name} | {counts} | {fault.happens} | {fault.said} | {fault.heals} |")
    return "\n".join(lines) + "\n" + TAIL
