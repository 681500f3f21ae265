"""The audit of a real daemon: its HTTP interface, its metrics, and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from slpstream.parts.audit.cli import command
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.parts.audit.fleet import USUAL, Console, fixes, game, name_of, write_fleet, write_setup

SETUPS = 12
ODD = {3: Console(fixes=fixes(3, 0, 0)), 8: Console(rows={**USUAL.rows, "starting_timer_seconds": 420})}
PORT = ("03", "ucf", 3)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder, SETUPS, ODD)
    return folder


@pytest.fixture(scope="module")
def daemon(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    arguments = configuration(tmp_path_factory.mktemp("configuration"), f"[[stations]]\nid = '*'\nfolder = '{fleet}'\n")
    with running(arguments=arguments) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: sum(each["games"] for each in daemon.get("/v1/audit")["setups"]) == 2 * SETUPS, 60)
        yield daemon


def found(daemon: DaemonProcess) -> set[tuple[str, str, int | None]]:
    findings = daemon.get("/v1/audit")["findings"]
    return {(each["setups"][0], each["name"], each.get("port")) for each in findings if each["kind"] == "differs"}


def test_differences_are_found(daemon: DaemonProcess) -> None:
    assert found(daemon) == {PORT, ("08", "timer", None)}
    audit = daemon.get("/v1/audit")
    assert [setup["setup"] for setup in audit["setups"]] == [name_of(number + 1) for number in range(SETUPS)]
    assert [setup["setup"] for setup in audit["setups"] if setup.get("differences")] == ["03", "08"]
    assert audit["findings"][0]["words"] == "setup 03 differs from the other 11: UCF off on port 3, elsewhere on"
    assert metric(daemon) == {("03", "ucf", 1.0), ("08", "timer", 1.0)}


def metric(daemon: DaemonProcess) -> set[tuple[str, str, float]]:
    """Station, value and number of each sample of the metric."""
    [family] = [
        family
        for family in text_string_to_metric_families(daemon.text("/metrics"))
        if family.name == "slpstream_setup_differences"
    ]
    return {(sample.labels["station"], sample.labels["what"], sample.value) for sample in family.samples}


def test_command_asks_the_daemon(daemon: DaemonProcess, tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [daemon.url])
    assert done.exit_code == 1
    assert "setup 03 differs from the other 11: UCF off on port 3, elsewhere on\n" in done.output
    as_json = CliRunner().invoke(command, ["--json", daemon.url])
    assert json.loads(as_json.stdout) == daemon.get("/v1/audit")
    gone = CliRunner().invoke(command, ["http://127.0.0.1:9"])
    assert gone.exit_code == 74
    assert gone.output.startswith("slpstream: http://127.0.0.1:9: ")


def test_codes_of_a_game(daemon: DaemonProcess) -> None:
    games = daemon.get("/v1/games?station=01")["games"]
    both = [daemon.get(f"/v1/games/{each['gameId']}")["codes"] for each in games]
    assert both[0] == both[1]
    codes = both[0]
    assert codes["count"] == len(codes["codes"]) == 18
    assert {each["name"] for each in codes["sets"]} == {"UCF 0.84", "wobbling limit", "lag reduction PD", "safety"}
    assert codes["codes"][0] == {"type": "04", "address": "8015EE98", "bytes": 8}


@pytest.mark.slow
def test_difference_goes_away_when_it_is_corrected(tmp_path: Path) -> None:
    write_fleet(tmp_path / "fleet", 3, {2: Console(stocks=3)})
    with running(arguments=configuration(tmp_path, f"[[stations]]\nid = '*'\nfolder = '{tmp_path}/fleet'\n")) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: found(daemon) == {("02", "stocks", None)}, 60)
        (tmp_path / "fleet" / "02" / "Game_9.slp").write_bytes(game(USUAL, 9, seconds=150.0))
        daemon.until(lambda: found(daemon) == set(), 60)
        [change] = daemon.get("/v1/audit")["findings"]
        assert change["words"] == "setup 02 has changed: stocks 4, before 3"
        write_setup(tmp_path / "fleet" / "04", Console(rows={**USUAL.rows, "is_pal": True}))
        daemon.until(lambda: found(daemon) == {("04", "region", None)}, 60)
        daemon.until(lambda: metric(daemon) == {("04", "region", 1.0)}, 60)
