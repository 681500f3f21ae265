"""All folders that a daemon writes JSON lines into."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import trio

from slpstream.model.errors import ConfigError
from slpstream.model.topics import TOPICS, Topic
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.jsonl.part import JsonLines
from slpstream.parts.jsonl.sink import JsonLinesSink
from slpstream.stream.channel import Channel

_ALL_BUT_FRAMES: frozenset[Topic] = frozenset(TOPICS) - {"frame"}
_WRITER_THREADS = 4


class JsonLinesFolders(RunningPart):
    """All folders into which we write. If a disk is full, this doesn't affect the other folders."""

    def __init__(self, host: Host) -> None:
        """Raises `ConfigError` if a folder is there twice, because then two sinks would write to the same files."""
        self._host = host
        wanted = host.config.sections(JsonLines)
        folders = [Path(each.folder).expanduser().resolve() for each in wanted]
        for i, folder in enumerate(folders):
            if folder in folders[:i]:
                raise ConfigError("configuration", f"jsonl[{i}].folder", "is there twice", found=folder)
        limiter = trio.CapacityLimiter(_WRITER_THREADS)
        self._sinks = [self._sink(each, limiter) for each in wanted]

    async def follow(self, channel: Channel) -> None:
        """Write the games of a station."""
        async with trio.open_nursery() as nursery:
            for sink in self._sinks:
                follow = partial(sink.follow, channel)
                nursery.start_soon(partial(self._host.errors.keep_running, "jsonl", follow, station=channel.station))

    def not_ready(self) -> list[str]:
        """Return those folders that we can't write to."""
        return [reason for sink in self._sinks for reason in sink.not_ready()]

    def _sink(self, wanted: JsonLines, limiter: trio.CapacityLimiter) -> JsonLinesSink:
        metrics = self._host.metrics
        return JsonLinesSink(
            Path(wanted.folder).expanduser(),
            stations=frozenset(wanted.stations) or None,
            topics=frozenset(wanted.topics) or _ALL_BUT_FRAMES,
            frames=wanted.frames,
            limiter=limiter,
            on_bytes=lambda station, count: metrics.counter("slpstream_jsonl_bytes_total", station).inc(count),
        )
