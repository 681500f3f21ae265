"""What Prometheus is shown of a station."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from slpstream.metrics import Metrics

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
