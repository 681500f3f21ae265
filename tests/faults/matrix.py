"""The table of faults: the effect of each on the daemon, the report, the recovery, and the injecting function."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.faults import files, machine, many, processes
from tests.faults.blast_radius import section
from tests.faults.injector import compiler
from tests.faults.scene import Outcome
from tests.project import ROOT

PAGE = ROOT / "docs" / "reference" / "faults.md"


class Fault(NamedTuple):
    """One fault. The long form injects it `times` times, the test `short` times."""

    name: str
    inject: Callable[[Path, int], Outcome]
    times: int
    short: int
    effect: str
    report: str
    recovery: str
    needs: str = ""
    """A requirement of the fault: `injector`, `root` or an empty text."""

    def run(self, times: int) -> Outcome:
        """Inject the fault in a temporary folder."""
        folder = Path(tempfile.mkdtemp(prefix="slpstream-fault-"))
        try:
            return self.inject(folder, times)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def unavailable(self) -> str | None:
        """The reason why the fault cannot be injected here; `None` if it can."""
        if self.needs == "injector" and compiler() is None:
            return "a C compiler is missing"
        return "it needs root" if self.needs == "root" and not machine.as_root() else None


_CONTINUES = "the log continues"
_NEXT = "the next game is streamed like any other"

FAULTS: Sequence[Fault] = (
    Fault(
        "killed (SIGKILL) at random points of a game",
        processes.killed,
        200,
        5,
        "connections end; the next daemon reads the file again and produces the same messages",
        "nothing",
        "subscribers reconnect with their cursors",
    ),
    Fault(
        "suspended (SIGSTOP, SIGCONT)",
        processes.suspended,
        50,
        2,
        "bytes wait in the file",
        "`slpstream_tail_lag_seconds` grows",
        "the daemon reads the bytes written meanwhile",
    ),
    Fault(
        "connection of a subscriber cut",
        processes.cut_off,
        200,
        8,
        "none on the daemon",
        "`slpstream_websockets` falls",
        "the subscriber reconnects with its cursor",
    ),
    Fault(
        "file truncated, another game written into it",
        files.truncated,
        50,
        2,
        "the game is lost: its log ends there, without a `game_end`",
        "`file lost`, station `idle` with the reason",
        "the other game is a new game",
    ),
    Fault(
        "file replaced by another (rename)",
        files.replaced,
        50,
        2,
        "the game is lost; the other file is read",
        "`file lost`, station `idle` with the reason",
        "the other file is a new game",
    ),
    Fault(
        "file renamed in its folder",
        files.renamed,
        50,
        2,
        "the file is still followed",
        "nothing",
        _CONTINUES,
    ),
    Fault(
        "file moved within the station",
        files.moved_within,
        50,
        2,
        "the file is still followed",
        "nothing",
        _CONTINUES,
    ),
    Fault(
        "file moved away, continued there, moved back",
        files.moved_out,
        20,
        1,
        "the game is lost, but recognised when its file returns",
        "`file lost`, then station `playing`",
        _CONTINUES,
    ),
    Fault("file deleted", files.deleted, 50, 2, "the game is lost", "`file lost`, station `idle`", _NEXT),
    Fault(
        "folder unreadable for a while",
        machine.permission,
        20,
        1,
        "open games continue; new ones are not found",
        "`file refused`, station `offline`: the folder cannot be read",
        "the folder is scanned again every few seconds; " + _CONTINUES,
    ),
    Fault(
        "file unreadable for a while",
        machine.file_permission,
        20,
        1,
        "the next daemon cannot open it",
        "`file refused` with the reason, a `diagnostic` to subscribers",
        "each scan tries again; " + _CONTINUES,
    ),
    Fault(
        "disk of the state folder full",
        machine.disk_full,
        20,
        1,
        "the index lacks games, and corrections of sets are refused; streaming is not affected",
        "`game index failed` with the error, `/readyz`, `slpstream_index_errors_total`",
        "the index works again once there is room; `slpstream reindex` adds the missing games",
        "root",
    ),
    Fault(
        "read error (EIO)",
        machine.read_error,
        20,
        2,
        "the file is closed, and opened again by a later scan",
        "`file lost` with the error, `slpstream_source_errors_total`",
        _CONTINUES,
        "injector",
    ),
    Fault(
        "clock jumps: an hour ahead, a day back, a month ahead, back to normal",
        machine.clock,
        40,
        2,
        "none on the log; only status messages and lag metrics use the wall clock",
        "wrong times until the clock is correct again",
        "not needed",
        "injector",
    ),
    Fault(
        "folder unmounted and mounted",
        machine.unmounted,
        20,
        1,
        "the folder is a different one: games in the old one are lost",
        "station `offline`, or a new scan",
        _NEXT,
        "root",
    ),
    Fault(
        "inotify watches exhausted",
        machine.no_watches,
        10,
        2,
        "growth is found by polling",
        "`degraded` in `/v1/stations`",
        "not needed",
        "injector",
    ),
    Fault(
        "inotify queue overflows",
        machine.overflow,
        40,
        2,
        "all files are checked for changes once",
        "nothing",
        _CONTINUES,
        "injector",
    ),
    Fault(
        "many finished games at once, with 128 file descriptors",
        many.at_once,
        10_000,
        400,
        "the files are opened, streamed and closed a few at a time",
        "`game start` and `game end` for each",
        "not needed",
    ),
    Fault(
        "file names that are not UTF-8, contain line feeds, or have the maximum length",
        many.names,
        50,
        5,
        "the files are read like others",
        "unprintable bytes of names are replaced",
        "not needed",
    ),
)

HEAD = """# Faults

This page shows operators and programmers what happens when something breaks. Each fault was injected into a real daemon
while games were written and a subscriber received their messages, which are compared byte for byte and in order.
`uv run python -m tests.faults --table` does it again and writes this page. Short forms of them run as tests.
"""

TAIL = """
Kills, full disks and permissions are real. Read errors, clock jumps and inotify faults are injected at the system call.
For unmounting, a file system is mounted over the folder. For a full disk while a console is recorded, see [Consoles on
the network](../howto/consoles.md); for the broker, see [More than one machine](../../slpstream/parts/fanout/docs.md).
"""

MUTATED_FILES = """
## Damaged files

`uv run python -m tests.hostile.fuzz` puts 10,000 mutated files of every format into the folder of a running daemon, and
requests everything that it lists about them. The run fails if the daemon ends, logs an error, fails a request or keeps
growing, or if the subscriber of another station misses a message. A short form runs as a test.
"""


def page(outcomes: Sequence[Outcome]) -> str:
    """The page with the counts of the outcomes."""
    lines = [
        HEAD,
        "| fault | times | messages | lost | duplicated | effect | report | recovery |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for fault, outcome in zip(FAULTS, outcomes, strict=True):
        counts = " | ".join(f"{count:,}" for count in outcome)
        lines.append(f"| {fault.name} | {counts} | {fault.effect} | {fault.report} | {fault.recovery} |")
    return "\n".join(lines) + "\n" + TAIL + "\n" + section() + MUTATED_FILES
