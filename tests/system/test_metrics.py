"""The table of metrics, and the page for Prometheus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import trio
from prometheus_client.parser import text_string_to_metric_families

from slpstream.config import Config, Server, Store
from slpstream.daemon.daemon import Daemon
from slpstream.model.messages import START
from slpstream.parts import registry
from slpstream.system.metrics import TABLE, Metrics
from tests.daemons.station import running_station, until
from tests.formats.slippi.stats.games import with_raw_length
from tests.project import ROOT
from tests.synthetic.match import synthetic_match

NAME = "slpstream_append_to_publish_seconds"


@pytest.mark.not_on_windows("figures of the process are those of Linux")
@pytest.mark.trio
@pytest.mark.parts("dashboard")
async def test_daemon_exports_every_row_and_the_few_that_the_dashboard_asks_for(tmp_path: Path) -> None:
    page = (ROOT / "slpstream/parts/dashboard/static/daemon.js").read_text(encoding="utf-8")
    asked = set(re.findall(r': "((?:slpstream|process)_[a-z_]+)"', page))
    assert len(asked) == 7
    daemon = Daemon(Config(server=Server(port=0), store=Store(folder=str(tmp_path))), [], strict=True)
    daemon.host.metrics.station("left").publish_seconds.observe([0.01])
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: daemon.run(handle_signals=False, task_status=task_status))
        assert not daemon.host.metrics.unbound_gauges
        whole, few = daemon.served.render_metrics().decode(), daemon.served.render_metrics(asked).decode()
        daemon.stop()
    exported = re.findall(r"^# TYPE (\S+) (\S+)$", whole, re.MULTILINE)
    assert sorted(exported) == sorted((row.name, row.kind) for row in (*TABLE, *registry.metric_rows()))
    samples = {line.partition(" ")[0].partition("{")[0] for line in few.splitlines() if not line.startswith("#")}
    assert samples == {name for name in asked if name != "slpstream_tail_lag_seconds"}  # no station, no gauge
    assert Metrics().render(["slpstream_unknown"]) == b""


def test_delays_are_a_histogram_per_station() -> None:
    """Buckets are cumulative and include their upper bound."""
    metrics = Metrics()
    tv1, _ = metrics.station("tv1"), metrics.station("tv2")
    for seconds in ([0.0, 60.0], [], [0.0167, 0.0005, 4.0, 0.0006]):
        tv1.publish_seconds.observe(seconds)
    lines = metrics.render().decode().splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines if line.startswith(NAME) and 'station="tv1"' in line)
    values = {key.partition('le="')[2].partition('"')[0] or key.partition("{")[0]: float(v) for key, v in found.items()}
    assert values[f"{NAME}_count"] == values["+Inf"] == 6
    assert abs(values[f"{NAME}_sum"] - 64.0178) < 1e-9
    assert [values[end] for end in ("0.0005", "0.001", "0.008", "0.0167", "1.0", "5.0")] == [2, 3, 3, 4, 4, 5]
    metrics.drop_station("tv1")
    rest = metrics.render().decode()
    assert 'station="tv2"' in rest
    assert 'station="tv1"' not in rest


def totals(metrics: Metrics) -> dict[str, float]:
    """The sum of all samples, by metric."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {family.name: sum(sample.value for sample in family.samples) for family in families}


@pytest.mark.trio
async def test_counts_are_flushed_when_a_station_ends(tmp_path: Path) -> None:
    """Counts are buffered, and flushed when a daemon stops in the middle of a game."""
    metrics = Metrics()
    data = synthetic_match(seed=11, frames=300)
    half = with_raw_length(data[: len(data) // 2], 0)
    async with running_station(tmp_path, metrics=metrics) as station:
        (tmp_path / "Game_1.slp").write_bytes(half)
        await until(lambda: len(station.files) == 1 and station.files.lag_seconds == 0.0)
        game = station.channel.current
        assert game is not None
        frames = sum(message.type == "frame" for message in game.logs["live"].since(START) or ())
    counted = totals(metrics)
    assert counted["slpstream_read_bytes"] == len(half)
    assert counted["slpstream_frames"] == frames > 100
    assert counted["slpstream_events"] > 4 * frames
