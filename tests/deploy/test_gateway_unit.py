"""The gateway's unit is hardened like the daemon's, and the example with two venues works."""

from __future__ import annotations

from pathlib import Path

import pytest

from slpstream import config
from slpstream.config import Config
from slpstream.outputs.redis.connection import address_of
from tests.deploy import test_unit
from tests.deploy.test_unit import DEPLOY, EXECUTABLE, settings
from tests.project import ROOT
from tests.redis.redis_process import redis

UNIT = (DEPLOY / "slpstream-gateway.service").read_text(encoding="utf-8")
EXAMPLE = DEPLOY / "examples" / "two_venues"
DIFFERENT = {
    "Description", "After", "Wants", "ExecStartPre", "ExecStart", "StateDirectory", "StateDirectoryMode", "LimitNOFILE",
    "ExecReload",
}  # fmt: skip
analyze = test_unit.analyze


def test_unit_passes_verify_and_exposure_score(analyze: str, tmp_path: Path) -> None:
    path = test_unit.install(tmp_path, UNIT)
    result = test_unit.verify(analyze, path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert test_unit.score(analyze, path) <= test_unit.MAX_SCORE


def test_settings_equal_those_of_the_daemon_unit() -> None:
    gateway = [(key, value) for key, value in settings(UNIT) if key not in DIFFERENT]
    daemon = [(key, value) for key, value in settings(test_unit.UNIT) if key not in DIFFERENT]
    assert gateway == daemon
    assert {key for key, _ in settings(UNIT)} & {"StateDirectory", "ReadWritePaths", "BindPaths"} == set()
    start = dict(settings(UNIT))
    assert start["ExecStart"] == f"{EXECUTABLE} gateway --config /etc/slpstream/gateway.toml"
    assert start["ExecStartPre"] == f"-{EXECUTABLE} check-config /etc/slpstream/gateway.toml"


def example(name: str, tmp_path: Path) -> Config:
    """The configuration in one file of the example; the files that it refers to are created."""
    text = (EXAMPLE / name).read_text(encoding="utf-8")
    for secret in ("broker-password", "broker-ca.pem", "token"):
        (tmp_path / secret).write_text("secret\n")
    path = tmp_path / name
    path.write_text(text.replace("/etc/slpstream/", f"{tmp_path}/"))
    return config.load(path)


def test_example_venues_form_one_event(tmp_path: Path) -> None:
    venues = [example(f"{name}.toml", tmp_path) for name in ("north", "south")]
    gateway = example("gateway.toml", tmp_path)
    assert {each.fanout.event for each in (*venues, gateway)} == {"spring-open"}
    stations = [station.id for venue in venues for station in venue.stations]
    assert len(stations) == len(set(stations)) == 4
    addresses = [address_of(each.fanout.url, each.fanout.password_file) for each in (*venues, gateway)]
    assert {(address.host, address.port) for address in addresses} == {("192.0.2.10", 6379)}
    assert [address.username for address in addresses] == ["venue", "venue", "gateway"]
    assert (EXAMPLE / "haproxy.cfg").read_text().count("server gateway") == 3


def test_example_broker_starts() -> None:
    """The broker starts with the example's users, but without TLS: certificates are up to the operator."""
    omitted = ("#", "bind", "port", "tls-", "aclfile")
    options: list[str] = []
    for line in (EXAMPLE / "redis.conf").read_text().splitlines():
        if line and not line.startswith(omitted):
            key, _, value = line.partition(" ")
            options += [f"--{key}", value.strip('"')]
    with redis(*options, "--aclfile", str(EXAMPLE / "users.acl")):
        pass


@pytest.mark.parametrize("name", ["howto/fanout.md", "reference/how_far_it_goes.md"])
def test_pages_name_only_existing_keys_and_metrics(name: str) -> None:
    import re

    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    keys = {f"{key.section}.{key.name}" for key in config.all_keys()}
    assert set(re.findall(r"`(fanout\.(?!md)\w+)`", text)) <= keys
    from slpstream.system.metrics import TABLE

    assert set(re.findall(r"`(slpstream_\w+)`", text)) <= {row.name for row in TABLE}
