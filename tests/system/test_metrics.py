"""What Prometheus is shown of a station."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from slpstream.model.messages import START
from slpstream.system.metrics import Metrics
from tests.running_station import running_station, until
from tests.synthetic.match import synthetic_match

NAME = "slpstream_append_to_publish_seconds"


def delays(metrics: Metrics) -> dict[str, dict[str, float]]:
    """By station: what the page says of how long it takes from file to subscriber."""
    families = {family.name: family for family in text_string_to_metric_families(metrics.render().decode())}
    assert families[NAME].type == "histogram"
    found: dict[str, dict[str, float]] = {}
    for sample in families[NAME].samples:
        key = sample.labels.get("le", sample.name.removeprefix(NAME))
        found.setdefault(sample.labels["station"], {})[key] = sample.value
    return found


def test_delays_are_a_histogram_of_each_station() -> None:
    """The buckets are cumulative, and a value that is an upper end belongs below it."""
    metrics = Metrics()
    tv1, _ = metrics.station("tv1"), metrics.station("tv2")
    for seconds in (0.0, 0.0005, 0.0006, 0.0167, 4.0, 60.0):
        tv1.publish_seconds.observe(seconds)
    said = delays(metrics)
    assert said["tv1"]["_count"] == said["tv1"]["+Inf"] == 6
    assert abs(said["tv1"]["_sum"] - 64.0178) < 1e-9
    assert [said["tv1"][end] for end in ("0.0005", "0.001", "0.008", "0.0167", "1.0", "5.0")] == [2, 3, 3, 4, 4, 5]
    assert set(said["tv2"].values()) == {0.0}
    metrics.drop_station("tv1")
    assert set(delays(metrics)) == {"tv2"}


def totals(metrics: Metrics) -> dict[str, float]:
    """By metric: the sum of all its counts."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {family.name: sum(sample.value for sample in family.samples) for family in families}


@pytest.mark.trio
async def test_what_was_counted_is_written_when_a_station_ends(tmp_path: Path) -> None:
    """Counters are written now and then; a daemon that stops in the middle of a game has counted it all."""
    metrics = Metrics()
    data = synthetic_match(seed=11, frames=300)
    half = data[: len(data) // 2]
    async with running_station(tmp_path, metrics=metrics) as station:
        (tmp_path / "Game_1.slp").write_bytes(half)
        await until(lambda: station.active_files == 1 and station.lag_seconds == 0.0)
        game = station.channel.current
        assert game is not None
        frames = sum(message.type == "frame" for message in game.logs["live"].since(START) or ())
    counted = totals(metrics)
    assert counted["slpstream_read_bytes"] == len(half)
    assert counted["slpstream_frames"] == frames > 100
    assert counted["slpstream_events"] > 4 * frames
