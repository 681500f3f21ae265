"""The gateway's unit is hardened like the daemon's, and the example with two venues works."""

from __future__ import annotations

from pathlib import Path

from slpstream.config import Config
from slpstream.parts import registry
from slpstream.parts.fanout.connection import address_of
from slpstream.parts.fanout.part import Fanout
from tests.deploy.systemd import (
    DEPLOY,
    EXECUTABLE,
    GATEWAY_UNIT,
    MAX_SCORE,
    UNIT,
    complaints,
    exposure,
    install,
    needs_systemd,
    settings,
)
from tests.parts.fanout.redis_process import redis

EXAMPLE = DEPLOY / "examples" / "two_venues"
DIFFERENT = {
    "Description", "After", "Wants", "ExecStartPre", "ExecStart", "StateDirectory", "StateDirectoryMode", "LimitNOFILE",
    "ExecReload",
}  # fmt: skip


@needs_systemd
def test_unit_passes_verify_and_exposure_score(tmp_path: Path) -> None:
    path = install(tmp_path, GATEWAY_UNIT)
    assert complaints(path) == ""
    assert exposure(path) <= MAX_SCORE


def test_settings_equal_those_of_the_daemon_unit() -> None:
    gateway = [(key, value) for key, value in settings(GATEWAY_UNIT) if key not in DIFFERENT]
    assert gateway == [(key, value) for key, value in settings(UNIT) if key not in DIFFERENT]
    assert {key for key, _ in settings(GATEWAY_UNIT)} & {"StateDirectory", "ReadWritePaths", "BindPaths"} == set()
    start = dict(settings(GATEWAY_UNIT))
    assert start["ExecStart"] == f"{EXECUTABLE} gateway --config /etc/slpstream/gateway.toml"
    assert start["ExecStartPre"] == f"-{EXECUTABLE} check-config /etc/slpstream/gateway.toml"


def example(name: str, tmp_path: Path) -> Config:
    """The configuration in one file of the example. The files that it refers to are created."""
    text = (EXAMPLE / name).read_text(encoding="utf-8")
    for secret in ("broker-password", "broker-ca.pem", "token"):
        (tmp_path / secret).write_text("secret\n")
    path = tmp_path / name
    path.write_text(text.replace("/etc/slpstream/", f"{tmp_path}/"))
    return registry.load(path)


def test_example_venues_form_one_event(tmp_path: Path) -> None:
    venues = [example(f"{name}.toml", tmp_path) for name in ("north", "south")]
    gateway = example("gateway.toml", tmp_path)
    assert {each.section(Fanout).event for each in (*venues, gateway)} == {"spring-open"}
    stations = [station.id for venue in venues for station in venue.stations]
    assert len(stations) == len(set(stations)) == 4
    addresses = [
        address_of(each.section(Fanout).url, each.section(Fanout).password_file) for each in (*venues, gateway)
    ]
    assert {(address.host, address.port) for address in addresses} == {("192.0.2.10", 6379)}
    assert [address.username for address in addresses] == ["venue", "venue", "gateway"]
    assert (EXAMPLE / "haproxy.cfg").read_text().count("server gateway") == 3


def test_example_broker_starts() -> None:
    """The broker starts with the example's users, but without TLS, because operators provide the certificates."""
    omitted = ("#", "bind", "port", "tls-", "aclfile")
    options: list[str] = []
    for line in (EXAMPLE / "redis.conf").read_text().splitlines():
        if line and not line.startswith(omitted):
            key, _, value = line.partition(" ")
            options += [f"--{key}", value.strip('"')]
    with redis(*options, "--aclfile", str(EXAMPLE / "users.acl")):
        pass
