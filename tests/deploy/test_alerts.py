"""deploy/prometheus and deploy/grafana, held to what they say: promtool accepts and tests the rules, every metric in
them exists, and a real Prometheus that scrapes a real daemon sees an alert fire and resolve."""

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
from slpstream.daemon.daemon import Daemon
from tests.daemon_process import running
from tests.deploy.tools import free_port, needs
from tests.project import ROOT

PROMETHEUS = ROOT / "deploy/prometheus"
RULES = PROMETHEUS / "rules.yml"
RULES_TEST = ROOT / "tests/deploy/rules_test.yml"
DASHBOARD = ROOT / "deploy/grafana/slpstream.json"
ALERTS = re.findall(r"- alert: (\w+)", RULES.read_text())
START_SECONDS = 20.0
ALERT_SECONDS = 30.0
_MADE = ("_bucket", "_sum", "_count")


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=60, check=False)


def metrics() -> dict[str, str]:
    """Names of all metrics, and their types."""
    daemon = Daemon(config.Config(), [])
    daemon.register_gauges()
    return {name: kind for name, kind, _ in daemon.metrics.documentation()}


def queries() -> list[str]:
    """All expressions of the dashboard."""
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def used(text: str) -> set[str]:
    """Metrics in an expression."""
    found = set(re.findall(r"\b(?:slpstream|process)_[a-z_]+", re.sub(r'"[^"]*"', '""', text)))
    return {next((name.removesuffix(end) for end in _MADE if name.endswith(end)), name) for name in found}


# -- rules -------------------------------------------------------------------------------------------------------------


@needs("promtool")
def test_promtool_accepts_the_rules() -> None:
    done = promtool("check", "rules", RULES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ALERTS)} rules found" in done.stdout


@needs("promtool")
def test_the_rules_do_what_they_are_for() -> None:
    done = promtool("test", "rules", RULES_TEST)
    assert done.returncode == 0, done.stdout + done.stderr
    text = RULES_TEST.read_text()
    for alert in ALERTS:
        silent, firing = re.findall(rf"alertname: {alert}\b(.*)", text)
        assert "exp_alerts: []" in silent
        assert firing == ""


@needs("promtool")
@pytest.mark.parametrize("alert", ALERTS)
def test_each_rule_is_tested(alert: str, tmp_path: Path) -> None:
    """With another expression its test fails."""
    rules = RULES.read_text()
    begin = rules.index(f"- alert: {alert}\n")
    end = rules.find("- alert:", begin + 1)
    rule = rules[begin : end if end > 0 else None]
    wrong = re.sub(r"expr: (\|\n)?.*?(?=\n        (for|labels):)", "expr: vector(1) == 0", rule, flags=re.DOTALL)
    assert wrong != rule
    (tmp_path / "rules.yml").write_text(rules.replace(rule, wrong))
    tests = RULES_TEST.read_text()
    head, *cases = re.split(r"(?=^  - name: )", tests, flags=re.MULTILINE)
    [case] = [case for case in cases if case.startswith(f"  - name: {alert}\n")]
    assert "../../deploy/prometheus/rules.yml" in head
    (tmp_path / "test.yml").write_text(head.replace("../../deploy/prometheus/rules.yml", "rules.yml") + case)
    assert promtool("test", "rules", tmp_path / "test.yml").returncode == 1


def test_a_station_is_stalled_for_long_enough() -> None:
    """With the default configuration, the shipped scrape interval and the interval of the rules."""
    watch = config.Config().watch
    [wait] = re.findall(r"slpstream_station_stalled == 1\n +for: (\d+)s", RULES.read_text())
    [evaluated] = re.findall(r"\n    interval: (\d+)s", RULES.read_text())
    [scraped] = re.findall(r"scrape_interval: (\d+)s", SCRAPE)
    # What is scraped a moment late is seen an interval shorter.
    assert int(wait) + max(int(scraped), int(evaluated)) <= watch.idle_seconds - watch.stalled_seconds


@needs("promtool")
def test_the_scrape_example_is_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "slpstream.rules.yml").write_text(RULES.read_text())
    for name, text in (("plain", SCRAPE), ("token", re.sub("^    # ", "    ", SCRAPE, flags=re.MULTILINE))):
        (tmp_path / "token").write_text("secret")
        config_file = tmp_path / f"{name}.yml"
        config_file.write_text(text.replace("/etc/prometheus/slpstream.token", str(tmp_path / "token")))
        done = promtool("check", "config", config_file)
        assert done.returncode == 0, done.stdout + done.stderr


SCRAPE = (PROMETHEUS / "scrape.yml").read_text()


# -- metrics -----------------------------------------------------------------------------------------------------------


def test_every_metric_that_is_used_exists() -> None:
    known = metrics().keys()
    assert used(RULES.read_text()) <= known
    for query in queries():
        assert used(query), query
        assert used(query) <= known, query


def test_what_is_a_counter_is_asked_for_its_increase() -> None:
    kinds = metrics()
    for text in (RULES.read_text(), *queries()):
        for name in re.findall(r"\b(\w+_total)\b", text):
            assert kinds[name] == "counter"
            assert re.search(rf"(rate|increase)\({name}\b", text), (name, text[:100])


def test_what_was_dropped_is_counted_from_the_beginning() -> None:
    """A counter that is only there from its first event on shows no increase."""
    daemon = Daemon(config.Config(), [])
    daemon.metrics.station("tv1")
    page = daemon.metrics.render().decode()
    there = {
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
    assert expected <= there


# -- dashboard ---------------------------------------------------------------------------------------------------------


@needs("promtool")
def test_every_query_of_the_dashboard_parses(tmp_path: Path) -> None:
    rows = [f"  - record: query_{number}\n    expr: {json.dumps(grafana(q))}" for number, q in enumerate(queries())]
    assert len(rows) > 20
    (tmp_path / "rules.yml").write_text("groups:\n- name: dashboard\n  rules:\n" + "\n".join(rows) + "\n")
    done = promtool("check", "rules", tmp_path / "rules.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def grafana(query: str) -> str:
    """A query with its variables filled in."""
    for name, value in (("$__rate_interval", "1m"), ("$job", "slpstream"), ("$instance", ".*"), ("$station", ".*")):
        query = query.replace(name, value)
    assert "$" not in query
    return query


def test_the_dashboard_is_laid_out() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, f"{panel['title']} lies on another"
        assert place["x"] + place["w"] <= 24
        taken |= cells


# -- and a real Prometheus ---------------------------------------------------------------------------------------------


class Prometheus:
    """A running one."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._process = process

    def get(self, path: str, **query: str) -> Any:
        with urllib.request.urlopen(f"{self._url}{path}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            assert self._process.poll() is None
            return False

    def states(self, alert: str, **labels: str) -> list[str]:
        """Of the alerts of this name: `pending`, `firing`."""
        return [
            found["state"]
            for found in self.get("/api/v1/alerts")["alerts"]
            if found["labels"]["alertname"] == alert and labels.items() <= found["labels"].items()
        ]


def hurried(rules: str) -> str:
    """The shipped rules, without patience."""
    rules, waits = re.subn(r"for: \w+", "for: 0s", rules)
    rules, ranges = re.subn(r"\[\w+\]", "[5s]", rules)
    rules = re.sub(r"\n    interval: \w+", "", rules)
    assert waits
    assert ranges
    return rules


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[tuple[Prometheus, Path, Any]]:
    """Prometheus, the folder of the station `tv1` that it watches, and the daemon."""
    replays = tmp_path / "replays"
    replays.mkdir()
    (tmp_path / "slpstream.toml").write_text(
        f'[watch]\nscan_seconds = 0.3\n[[stations]]\nid = "tv1"\nfolder = "{replays}"\n'
    )
    port = free_port()
    with running(arguments=("--config", str(tmp_path / "slpstream.toml"))) as daemon:
        daemon.wait_ready()
        (tmp_path / "slpstream.rules.yml").write_text(hurried(RULES.read_text()))
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
def test_a_real_prometheus_sees_an_alert_fire_and_resolve(prometheus: tuple[Prometheus, Path, Any]) -> None:
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
