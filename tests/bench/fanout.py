"""Ingest, broker and gateway: messages per second and core of each, and the latency of a frame from file to subscriber.

The processes are those of a real setup: `redis-server` (without persistence), `slpstream serve`, `slpstream gateway`, a
writer of games, and clients that only read. *Through the ingest*: the writer stays slightly ahead of the broker, so
that the daemon decodes and sends without pause and never reads back from files. Messages of both frames modes count
once the broker has accepted them. *Out of the gateway*: one station at its real pace, with enough subscribers to meet
the target. On a machine with few cores all processes share them, so each figure also has messages per second of CPU
time.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import trio

from slpstream.parts.fanout.connection import Client, address_of, connected
from slpstream.parts.fanout.streams import MODES, StationKeys
from tests.bench import how_far, live, machine
from tests.bench.game_writer import FILE_NAME
from tests.bench.games import EndlessGame
from tests.bench.report import Figure, Form
from tests.bench.scenarios import ABOUT_ONE_KILOBYTE
from tests.daemons.process import DaemonProcess
from tests.parts.fanout.redis_process import RedisProcess, redis

EVENT = "bench"
_STATIONS = 8
_FRAMES = 4_000
_LEAD_FRAMES = 150
_FRAMES_PER_WRITE = 10
_SUBSCRIBERS = 900
_MESSAGES_PER_READ = 256


class Sent(NamedTuple):
    """One run from the folders into the broker."""

    messages: int
    seconds: float
    ingest_seconds: float
    """CPU time of the daemon."""
    broker_seconds: float
    gateway_seconds: float
    """CPU time of a gateway that reads all messages meanwhile; 0 without a gateway."""
    gateway_messages: int
    bytes_each: float
    """Memory of the broker per message."""
    read_seconds: float
    """CPU time of the broker when all messages are read once."""


def run(form: Form) -> list[Figure]:
    """Run all parts. Afterwards `how_far.last` has the figures for the page."""
    frames = 200 if form.short else _FRAMES
    with_gateway = [_send(frames, gateway=True) for _ in range(form.times)]
    alone = with_gateway if form.short else [_send(frames, gateway=False) for _ in range(form.times)]
    subscribers = 60 if form.short else _SUBSCRIBERS
    load = live.Load(
        1,
        1 if form.short else 12,
        subscribers=subscribers,
        query=f"topics=frame&{ABOUT_ONE_KILOBYTE}",
        sample_every=max(1, subscribers // 50),
    )
    out = [_serve(load) for _ in range(form.times)]
    figures = [
        Figure(
            "through one ingest into the broker",
            [s.messages / s.seconds for s in alone],
            "messages/s",
            20_000,
            f"per second of a core: ingest {median(s.messages / s.ingest_seconds for s in alone):,.0f}, "
            f"broker {median(s.messages / s.broker_seconds for s in alone):,.0f}; "
            f"{median(s.bytes_each for s in alone):,.0f} B per message in the broker",
            at_least=True,
        ),
        Figure(
            "from the broker into a gateway",
            [s.gateway_messages / s.gateway_seconds for s in with_gateway],
            "messages/s of a core",
            None,
            f"the broker sends {median(s.messages / s.read_seconds for s in alone):,.0f} per second of a core",
        ),
        Figure(
            "out of one gateway",
            [m.messages_per_second for m in out],
            "messages/s",
            100_000,
            f"{subscribers:,} subscribers, {median(m.daemon_cpu for m in out):.0f} % of a core, "
            f"{median(m.bytes_per_frame for m in out):,.0f} B per frame with its `finalized`, "
            f"lagged {sum(m.lagged for m in out)}, other processes {median(m.others_cpu for m in out):.0f} %",
            at_least=True,
        ),
        Figure("file to subscriber through the broker, p50", [m.quantile(0.5) for m in out], "ms"),
        Figure("file to subscriber through the broker, p99", [m.quantile(0.99) for m in out], "ms"),
    ]
    how_far.last = how_far.Measured(
        ingest_per_second=round(figures[0].value),
        ingest_per_core=round(median(s.messages / s.ingest_seconds for s in alone)),
        broker_in_per_core=round(median(s.messages / s.broker_seconds for s in alone)),
        broker_out_per_core=round(median(s.messages / s.read_seconds for s in alone)),
        gateway_in_per_core=round(figures[1].value),
        gateway_out_per_second=round(figures[2].value),
        gateway_out_per_core=round(median(m.messages_per_second / m.daemon_cpu * 100 for m in out)),
        bytes_each=round(median(s.bytes_each for s in alone)),
        viewer_bytes_per_frame=round(median(m.bytes_per_frame for m in out)),
        p50_ms=round(figures[3].value, 1),
        p99_ms=round(figures[4].value, 1),
    )
    return figures


@contextmanager
def _processes(
    root: Path, folders: list[Path], *, gateway: bool
) -> Iterator[tuple[RedisProcess, DaemonProcess, DaemonProcess | None]]:
    """A broker, an ingest for these folders, and a gateway if requested."""
    with ExitStack() as stack:
        broker = stack.enter_context(redis())
        config = root / "slpstream.toml"
        config.write_text(f'[fanout]\nurl = "{broker.url}"\nevent = "{EVENT}"\nmax_messages = 10000000\n')
        ingest = DaemonProcess(*folders, arguments=("--config", str(config)))
        stack.callback(_stop, ingest)
        ingest.wait_ready()
        ingest.until(lambda: "slpstream_broker_connected 1.0" in ingest.text("/metrics"))
        served: DaemonProcess | None = None
        if gateway:
            served = DaemonProcess(arguments=("--config", str(config), "--port", "0"), subcommand="gateway")
            stack.callback(_stop, served)
            known = served
            known.until(lambda: len(known.get("/v1/stations")["stations"]) == len(folders))
        yield broker, ingest, served


def _stop(process: DaemonProcess) -> None:
    if process.process.poll() is None:
        process.kill()


def _send(frames: int, *, gateway: bool) -> Sent:
    game = EndlessGame()
    written = [game.frame(index) for index in range(frames)]
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as name:
        root = Path(name)
        folders = live.make_folders(root, _STATIONS)
        with _processes(root, folders, gateway=gateway) as (broker, ingest, served):
            pids = [ingest.process.pid, broker.pid, *([served.process.pid] if served else [])]
            before = [machine.cpu_seconds(pid) for pid in pids]
            began = time.monotonic()
            files = [os.open(folder / FILE_NAME, os.O_CREAT | os.O_WRONLY | os.O_APPEND) for folder in folders]
            for seed, file in enumerate(files):
                os.write(file, game.head(seed))
            names = [folder.name for folder in folders]
            messages, bytes_each, ended = trio.run(_play, broker.url, names, files, written)
            if served is not None:
                served.until(lambda: _received(served) >= messages, seconds=120)
            used = [machine.cpu_seconds(pid) - cpu for pid, cpu in zip(pids, before, strict=True)]
            read_before = machine.cpu_seconds(broker.pid)
            trio.run(_read_all, broker.url, [folder.name for folder in folders])
            read = machine.cpu_seconds(broker.pid) - read_before
            return Sent(
                messages,
                ended - began,
                used[0],
                used[1],
                used[2] if served else 0.0,
                0 if served is None else _received(served),
                bytes_each,
                max(read, 0.01),
            )


def _received(gateway: DaemonProcess) -> int:
    name = "slpstream_broker_received_messages_total"
    return next(int(float(line.split()[1])) for line in gateway.text("/metrics").splitlines() if line.startswith(name))


async def _play(url: str, stations: list[str], files: list[int], written: list[bytes]) -> tuple[int, float, float]:
    """Write the games and wait until the broker has all messages.

    Returns the number of messages, the broker's memory per message in bytes, and the time of the last message.
    """
    streams = [StationKeys(EVENT, station).stream(mode) for mode in MODES for station in stations]
    frames_written = [0] * len(files)
    counted, changed = 0, time.monotonic()
    async with connected(address_of(url)) as client:
        empty = await _memory(client)
        while min(frames_written) < len(written) or time.monotonic() - changed < 1.0:
            async with client.pipeline(transaction=False) as pipeline:
                requests = [pipeline.xlen(stream) for stream in streams]
            counts = [await request for request in requests]
            if sum(counts) != counted:
                counted, changed = sum(counts), time.monotonic()
            for i, file in enumerate(files):
                while (start := frames_written[i]) < len(written) and start - counts[i] // 2 < _LEAD_FRAMES:
                    os.write(file, b"".join(written[start : start + _FRAMES_PER_WRITE]))
                    frames_written[i] += _FRAMES_PER_WRITE
            await trio.sleep(0.002)
        for file in files:
            os.close(file)
        return counted, (await _memory(client) - empty) / counted, changed


async def _memory(client: Client) -> int:
    info = await client.info("memory")
    return int(str(info["used_memory"]))


async def _read_all(url: str, stations: list[str]) -> None:
    """Read all messages in batches, like a gateway."""
    async with connected(address_of(url)) as client:
        for station in stations:
            for mode in MODES:
                stream, last_id = StationKeys(EVENT, station).stream(mode), b"0-0"
                while found := await client.xread({stream: last_id}, count=_MESSAGES_PER_READ):
                    [entries] = found.values()
                    last = entries[-1].identifier
                    last_id = last if isinstance(last, bytes) else last.encode()


def _serve(load: live.Load) -> live.Measured:
    machine.allow_descriptors(live.DESCRIPTORS)
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as name:
        root = Path(name)
        folders = live.make_folders(root, load.stations)
        with _processes(root, folders, gateway=True) as (_, _, gateway):
            assert gateway is not None
            return live.measure_at(load, gateway, root, folders)
