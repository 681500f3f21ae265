"""The alert rules in deploy/prometheus and the dashboard in deploy/grafana.

promtool accepts and tests the rules, every metric in them exists, and a real Prometheus that scrapes a real daemon sees
an alert fire and resolve.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from slpstream import config
from slpstream.parts import registry
from tests.daemons.process import running
from tests.deploy.tools import needs
from tests.ports import free_port
from tests.project import ROOT

PROMETHEUS = ROOT / "deploy/prometheus"
RULES = PROMETHEUS / "slpstream.rules.yml"
RULES_TEST = ROOT / "tests/deploy/rules_test.yml"
DASHBOARD = ROOT / "deploy/grafana/slpstream.json"
ALERTS = re.findall(r"- alert: (\w+)", RULES.read_text())
START_SECONDS = 20.0
ALERT_SECONDS = 30.0
_SUFFIXES = ("_bucket", "_sum", "_count")


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=60, check=False)


def metrics() -> dict[str, str]:
    """The kind of each metric by its name."""
    return {row.name: row.kind for row in registry.metrics().rows.values()}


def queries() -> list[str]:
    """All expressions in the dashboard."""
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def metrics_in(text: str) -> set[str]:
    """The names of the metrics in an expression."""
    found = set(re.findall(r"\b(?:slpstream|process)_[a-z_]+", re.sub(r'"[^"]*"', '""', text)))
    return {next((name.removesuffix(end) for end in _SUFFIXES if name.endswith(end)), name) for name in found}


@pytest.mark.slow
@needs("promtool")
def test_rules_fire_as_their_tests_expect() -> None:
    done = promtool("test", "rules", RULES_TEST)
    assert done.returncode == 0, done.stdout + done.stderr
    text = RULES_TEST.read_text()
    for alert in ALERTS:
        silent, firing = re.findall(rf"alertname: {alert}\b(.*)", text)
        assert "exp_alerts: []" in silent
        assert firing == ""


def test_stalled_state_lasts_long_enough_to_alert() -> None:
    """With the default configuration, the shipped scrape interval and the interval of the rules."""
    watch = config.Config().watch
    [wait] = re.findall(r"slpstream_station_stalled == 1\n +for: (\d+)s", RULES.read_text())
    [evaluated] = re.findall(r"\n    interval: (\d+)s", RULES.read_text())
    [scraped] = re.findall(r"scrape_interval: (\d+)s", SCRAPE)
    # A value that is scraped late is visible for one interval less.
    assert int(wait) + max(int(scraped), int(evaluated)) <= watch.idle_seconds - watch.stalled_seconds


@needs("promtool")
def test_scrape_example_is_a_valid_configuration(tmp_path: Path) -> None:
    (tmp_path / "slpstream.rules.yml").write_text(RULES.read_text())
    for name, text in (("plain", SCRAPE), ("token", re.sub("^    # ", "    ", SCRAPE, flags=re.MULTILINE))):
        (tmp_path / "token").write_text("secret")
        config_file = tmp_path / f"{name}.yml"
        config_file.write_text(text.replace("/etc/prometheus/slpstream.token", str(tmp_path / "token")))
        done = promtool("check", "config", config_file)
        assert done.returncode == 0, done.stdout + done.stderr


SCRAPE = (PROMETHEUS / "scrape.yml").read_text()


@pytest.mark.parts("audit", "bracket", "fanout")
def test_every_used_metric_exists() -> None:
    known = metrics().keys()
    assert metrics_in(RULES.read_text()) <= known
    for query in queries():
        assert metrics_in(query), query
        assert metrics_in(query) <= known, query


@pytest.mark.parts("audit", "bracket", "fanout")
def test_counters_are_queried_as_rates() -> None:
    kinds = metrics()
    for text in (RULES.read_text(), *queries()):
        for name in re.findall(r"\b(\w+_total)\b", text):
            assert kinds[name] == "counter"
            assert re.search(rf"(rate|increase)\({name}\b", text), (name, text[:100])


def test_error_counters_exist_from_the_start() -> None:
    """A counter that appears only with its first event shows no increase."""
    metrics = registry.metrics()
    metrics.station("tv1")
    page = metrics.render().decode()
    series = {
        (sample.name, *sorted(sample.labels.values()))
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }
    expected: set[tuple[str, ...]] = {("slpstream_lagged_messages_total",), ("slpstream_index_errors_total",)}
    expected |= {("slpstream_connections_closed_total", code) for code in ("1009", "1013", "4401")}
    expected |= {("slpstream_connections_dropped_total", reason) for reason in ("limit", "room", "silent", "unread")}
    expected |= {
        ("slpstream_source_errors_total", *sorted(("tv1", code))) for code in ("truncated", "replaced", "unreadable")
    }
    expected |= {("slpstream_decode_errors_total", "tv1"), ("slpstream_http_requests_total", "401")}
    assert expected <= series


def grafana(query: str) -> str:
    """A dashboard query with values for its variables."""
    for name, value in (("$__rate_interval", "1m"), ("$job", "slpstream"), ("$instance", ".*"), ("$station", ".*")):
        query = query.replace(name, value)
    assert "$" not in query
    return query


class Prometheus:
    """A running Prometheus."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._process = process

    def get(self, path: str, **query: str) -> Any:
        with urllib.request.urlopen(f"{self._url}{path}?{urllib.parse.urlencode(query)}", timeout=10) as response:
            return json.load(response)["data"]

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5) as response:
                return bool(response.status == 200)
        except OSError:
            assert self._process.poll() is None
            return False

    def states(self, alert: str, **labels: str) -> list[str]:
        """The states of the alerts with this name: `pending` or `firing`."""
        return [
            found["state"]
            for found in self.get("/api/v1/alerts")["alerts"]
            if found["labels"]["alertname"] == alert and labels.items() <= found["labels"].items()
        ]


def without_delays(rules: str) -> str:
    """The shipped rules with waits of 0 and ranges of 5 seconds."""
    rules, waits = re.subn(r"for: \w+", "for: 0s", rules)
    rules, ranges = re.subn(r"\[\w+\]", "[5s]", rules)
    rules = re.sub(r"\n    interval: \w+", "", rules)
    assert waits
    assert ranges
    return rules


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[tuple[Prometheus, Path, Any]]:
    """A Prometheus, the folder of the station `tv1`, and the scraped daemon."""
    replays = tmp_path / "replays"
    replays.mkdir()
    (tmp_path / "slpstream.toml").write_text(
        f'[watch]\nscan_seconds = 0.3\n[[stations]]\nid = "tv1"\nfolder = "{replays}"\n'
    )
    port = free_port()
    with running(arguments=("--config", str(tmp_path / "slpstream.toml"))) as daemon:
        daemon.wait_ready()
        (tmp_path / "slpstream.rules.yml").write_text(without_delays(RULES.read_text()))
        scrape = SCRAPE.replace("127.0.0.1:5151", daemon.url.removeprefix("http://")).replace("15s", "1s")
        (tmp_path / "prometheus.yml").write_text(f"global: {{evaluation_interval: 1s}}\n{scrape}")
        command = ["prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data"]
        command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
        with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stderr=log, cwd=tmp_path) as process:
            try:
                found = Prometheus(port, process)
                until(found.ready, START_SECONDS)
                yield found, replays, daemon
            finally:
                process.terminate()
                process.wait(timeout=20)


def until(condition: Any, seconds: float = ALERT_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
@needs("prometheus")
def test_prometheus_sees_an_alert_fire_and_resolve(prometheus: tuple[Prometheus, Path, Any]) -> None:
    found, replays, daemon = prometheus
    until(lambda: found.get("/api/v1/query", query="slpstream_station_ready == 1")["result"])
    assert found.states("SlpstreamStationNotReady") == []
    assert found.states("SlpstreamDown") == []
    away = replays.rename(replays.with_name("away"))
    until(lambda: found.states("SlpstreamStationNotReady", station="tv1") == ["firing"])
    away.rename(replays)
    until(lambda: found.states("SlpstreamStationNotReady") == [])
    rules = found.get("/api/v1/rules")["groups"][0]["rules"]
    assert len(rules) == len(ALERTS)
    assert {rule["health"] for rule in rules} == {"ok"}
    [target] = found.get("/api/v1/targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    for query in queries():
        found.get("/api/v1/query", query=grafana(query))
    daemon.terminate()
    until(lambda: found.states("SlpstreamDown", job="slpstream") == ["firing"])
