"""Random actions on a folder, checked against a model of it.

The rules do to files what games, people and copy programs do: append, rewrite the header, truncate, write again in
place, replace, rename, move away, delete. They also act as a consumer: release, restart. In between, the tail takes
steps. The model knows the contents of each file. After each step, the delivered bytes must equal the file's; and when
nothing changes any more, every file is either followed to its last byte or listed and unchanged since.

Undetectable changes are left out: bytes that replace others differ from them, within the prefix that is compared.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from slpstream.model.errors import Replaced, Truncated, Vanished
from slpstream.sources.tail.events import Grew, Opened, Rewritten
from slpstream.sources.tail.notifications import Notifications
from tests.project import IN_CI
from tests.sources.tail.driver import REWRITABLE, WALL_CLOCK, Driver, Record

EXAMPLES = int(os.environ.get("SLPSTREAM_EXAMPLES", "600" if IN_CI else "200"))
NAMES = ("a.slp", "b.slp", "c.SLP", "sub/d.slp", "sub/deep/e.slp")
IDLE_SECONDS = 60
# A file system in memory is fast, and every read goes through a thread; on a disk, reads run in the event loop.
MEMORY = ("/dev/shm",) if Path("/dev/shm").is_dir() else ()

names = st.sampled_from(NAMES)
# Sizes around the header and around a chunk (64 bytes), and one beyond the prefix that is compared.
sizes = st.sampled_from((0, 1, 7, 14, 15, 16, 40, 63, 64, 65, 127, 128, 200, 700))


class ModelFile:
    """The contents of one inode."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.truncations = 0
        self.linked = True


class Listing:
    """A file that the tail has listed, as it was at that moment."""

    def __init__(self, model: ModelFile, size: int, delivered: bytes | None, inode: int) -> None:
        self.inode = inode
        self.model = model
        self.size = size
        self.delivered = delivered

    def has_changed(self) -> bool:
        content = self.model.content
        return len(content) != self.size or (self.delivered is not None and not content.startswith(self.delivered))


def has_files(machine: FolderMachine) -> bool:
    return bool(machine.world)


class FolderMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world: dict[str, ModelFile] = {}
        self.models: dict[Record, ModelFile] = {}
        self.truncations: dict[Record, int] = {}
        self.listings: list[Listing] = []
        self.never_read: set[tuple[int, int]] = set()
        self.writes = 0
        self.driver: Driver | None = None
        self.now = 0.0

    @initialize(
        polled=st.booleans(),
        parent=st.sampled_from((*MEMORY, *MEMORY, None)),
        present=st.lists(st.tuples(names, sizes, st.booleans()), max_size=3),
    )
    def begin(self, polled: bool, parent: str | None, present: list[tuple[str, int, bool]]) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="slpstream-model-", dir=parent))
        self.root = self.base / "root"
        (self.root / "sub" / "deep").mkdir(parents=True)
        self.polled = polled
        for name, size, old in present:
            self._write(name, size, age=1000 if old else 0)
        self._start()

    def teardown(self) -> None:
        if self.driver is not None:
            self._check_final_state()
            self.driver.close()
            assert not self.driver.tail.active
            shutil.rmtree(self.base)

    # Actions on files.

    @rule(name=names, size=sizes)
    def append(self, name: str, size: int) -> None:
        self._write(name, size)

    @precondition(has_files)
    @rule(name=names)
    def rewrite_header(self, name: str) -> None:
        name = self._existing(name)
        content = self.world[name].content
        header = self._bytes(min(REWRITABLE, len(content)))
        content[: len(header)] = header
        with (self.root / name).open("r+b", buffering=0) as file:
            file.write(header)
        self._date(name)

    @precondition(has_files)
    @rule(name=names, size=sizes)
    def append_and_rewrite_header(self, name: str, size: int) -> None:
        name = self._existing(name)
        self._write(name, size)
        self.rewrite_header(name)

    @precondition(has_files)
    @rule(name=names, size=st.integers(0, 400))
    def truncate(self, name: str, size: int) -> None:
        name = self._existing(name)
        self._truncate(name, min(size, len(self.world[name].content)))

    @precondition(has_files)
    @rule(name=names, size=st.integers(0, 400), more=sizes)
    def truncate_and_write(self, name: str, size: int, more: int) -> None:
        name = self._existing(name)
        self._truncate(name, min(size, len(self.world[name].content)))
        self._write(name, more)

    @rule(name=names, size=sizes)
    def replace(self, name: str, size: int) -> None:
        new = self.root / "new.tmp"
        model = ModelFile()
        model.content += self._bytes(size)
        new.write_bytes(model.content)
        new.replace(self.root / name)
        self._unlink(name)
        self.world[name] = model
        self._date(name)

    @precondition(has_files)
    @rule(name=names, other=names)
    def rename(self, name: str, other: str) -> None:
        name = self._existing(name)
        if name == other:
            return
        (self.root / name).replace(self.root / other)
        self._unlink(other)
        self.world[other] = self.world.pop(name)
        self._notify(name, other)

    @precondition(has_files)
    @rule(name=names)
    def move_away(self, name: str) -> None:
        name = self._existing(name)
        (self.root / name).replace(self.base / "away")
        self._unlink(name)
        self._notify(name)

    @precondition(has_files)
    @rule(name=names)
    def delete(self, name: str) -> None:
        name = self._existing(name)
        (self.root / name).unlink()
        self._unlink(name)
        self._notify(name)

    @rule()
    def delete_folder(self) -> None:
        shutil.rmtree(self.root / "sub")
        for name in [name for name in self.world if "/" in name]:
            self._unlink(name)
        (self.root / "sub" / "deep").mkdir(parents=True)
        self._notify_overflow()

    # Actions of the consumer.

    @rule(seconds=st.sampled_from((0.0, 0.1, 0.1, 2.5, 6.0)))
    def step(self, seconds: float) -> None:
        self._step(seconds)

    @rule(which=st.integers(0, 4))
    def release(self, which: int) -> None:
        assert self.driver is not None
        records = [record for record in self.driver.live().values() if record.caught_up]
        if not records:
            return
        record = records[which % len(records)]
        self.driver.tail.release(record.file)
        assert record.file not in self.driver.tail.active
        del self.driver.records[record.file]
        model = self.models.pop(record)
        if model.linked:
            file = record.file
            self.listings.append(Listing(model, file.size_bytes, bytes(record.data), file.identity.inode))

    @rule(later=st.sampled_from((0.1, IDLE_SECONDS * 2)))
    def restart(self, later: float) -> None:
        assert self.driver is not None
        self.driver.close()
        self.now = self.driver.now + later
        self._start()

    # The model.

    def _existing(self, name: str) -> str:
        return name if name in self.world else next(iter(self.world))

    def _bytes(self, size: int) -> bytes:
        self.writes += 1
        return bytes([self.writes % 251]) * size

    def _write(self, name: str, size: int, age: float = 0) -> None:
        model = self.world.setdefault(name, ModelFile())
        data = self._bytes(size)
        model.content += data
        with (self.root / name).open("ab", buffering=0) as file:
            file.write(data)
        self._date(name, age)

    def _truncate(self, name: str, size: int) -> None:
        model = self.world[name]
        del model.content[size:]
        model.truncations += 1
        os.truncate(self.root / name, size)
        self._date(name)

    def _date(self, name: str, age: float = 0) -> None:
        """Give the file a new modification time, even if the clock of the file system has not advanced."""
        now = self.driver.now if self.driver is not None else self.now
        mtime_ns = int((WALL_CLOCK + now - age) * 1e9) + self.writes * 1000
        os.utime(self.root / name, ns=(mtime_ns, mtime_ns))
        self._notify(name)

    def _unlink(self, name: str) -> None:
        model = self.world.pop(name, None)
        if model is not None:
            model.linked = False
            for listing in self.listings:
                if listing.model is model and listing.delivered is None:
                    self.never_read.add((listing.inode, listing.size))
            self.listings = [listing for listing in self.listings if listing.model is not model]

    def _notify(self, *names: str) -> None:
        """Send notifications for some of the actions, and none for others."""
        if self.driver is not None and not self.polled and self.writes % 3:
            for name in names:
                self.notifications.grew(str(self.root / name))

    def _notify_overflow(self) -> None:
        if self.driver is not None and not self.polled and self.writes % 3:
            self.notifications.tree_changed()

    # The checks.

    def _start(self) -> None:
        self.notifications = Notifications("asked for" if self.polled else None)
        self.driver = Driver(self.root, notifications=self.notifications, read_bytes=64, now=self.now)
        self.models.clear()
        self.listings.clear()
        limit_ns = (WALL_CLOCK + self.now - IDLE_SECONDS) * 1e9
        old = {name for name in self.world if (self.root / name).stat().st_mtime_ns < limit_ns}
        events = self._step(0.0)
        (scanned,) = self.driver.scanned
        assert events[0] is scanned
        assert {str(file.path.relative_to(self.root)) for file in scanned.files} == old
        for name in old:
            model = self.world[name]
            self.listings.append(Listing(model, len(model.content), None, (self.root / name).stat().st_ino))
        opened = [event.file for event in events if isinstance(event, Opened)]
        assert {str(file.path.relative_to(self.root)) for file in opened} == self.world.keys() - old
        assert [file.mtime_ns for file in opened] == sorted(file.mtime_ns for file in opened)
        assert all(self.driver.records[file].existed for file in opened)

    def _step(self, seconds: float) -> list[object]:
        assert self.driver is not None
        events: list[object] = list(self.driver.step(seconds))
        for event in events:
            if isinstance(event, Opened):
                record = self.driver.records[event.file]
                model = self.world[str(event.file.path.relative_to(self.root))]
                self.models[record] = model
                self.truncations[record] = model.truncations
                self.listings = [listing for listing in self.listings if listing.model is not model]
            elif isinstance(event, Grew):
                content = self.models[self.driver.records[event.file]].content
                assert event.data == content[event.offset : event.offset + len(event.data)]
            elif isinstance(event, Rewritten):
                content = self.models[self.driver.records[event.file]].content
                assert event.data == content[: len(event.data)]
        for record, model in list(self.models.items()):
            if record.error is not None:
                was_truncated = model.truncations != self.truncations[record]
                if isinstance(record.error, Vanished | Replaced) and not model.linked:
                    assert was_truncated or record.data == model.content, "read to its end before it is lost"
                else:
                    assert isinstance(record.error, Truncated | Replaced)
                    assert was_truncated
                del self.models[record]
        return events

    def _check_final_state(self) -> None:
        assert self.driver is not None
        quiet = 0
        while quiet < 4:
            quiet = 0 if self._step(2.6) else quiet + 1
        live = {str(path.relative_to(self.root)): record for path, record in self.driver.live().items()}
        listed = {id(listing.model) for listing in self.listings if not listing.has_changed()}
        for name, model in self.world.items():
            record = live.pop(name, None)
            if record is None:
                # A listed file that was never read cannot be distinguished from another of the same size and inode.
                twin = ((self.root / name).stat().st_ino, len(model.content)) in self.never_read
                assert twin or id(model) in listed, f"{name} is neither followed nor listed"
            else:
                assert self.models[record] is model
                assert record.data == model.content
                assert record.caught_up
                assert record.file.size_bytes == len(model.content)
        assert not live, "every followed file exists"
        assert len(self.driver.tail.listed) == len(self.world) - len(self.driver.tail.active)
        assert self.driver.settled == 1


def test_random_actions_on_a_folder() -> None:
    run_state_machine_as_test(
        FolderMachine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=14,
            suppress_health_check=list(HealthCheck),
        ),
    )
