"""The gateway's unit is as hard as the daemon's, and the example of two venues is one that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from slpstream import config
from slpstream.config import Config
from slpstream.outputs.redis.connection import address_of
from tests.deploy import test_unit
from tests.deploy.test_unit import DEPLOY, EXECUTABLE, settings
from tests.redis.redis_process import redis

UNIT = (DEPLOY / "slpstream-gateway.service").read_text(encoding="utf-8")
EXAMPLE = DEPLOY / "examples" / "two_venues"
DIFFERENT = {
    "Description", "After", "Wants", "ExecStartPre", "ExecStart", "StateDirectory", "StateDirectoryMode", "LimitNOFILE",
    "ExecReload",
}  # fmt: skip
analyze = test_unit.analyze


def test_systemd_has_nothing_to_say(analyze: str, tmp_path: Path) -> None:
    path = test_unit.install(tmp_path, UNIT)
    result = test_unit.verify(analyze, path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert test_unit.score(analyze, path) <= test_unit.WORST_SCORE


def test_it_is_the_unit_of_the_daemon_but_for_what_it_does() -> None:
    ours = [(key, value) for key, value in settings(UNIT) if key not in DIFFERENT]
    theirs = [(key, value) for key, value in settings(test_unit.UNIT) if key not in DIFFERENT]
    assert ours == theirs
    assert {key for key, _ in settings(UNIT)} & {"StateDirectory", "ReadWritePaths", "BindPaths"} == set()
    start = dict(settings(UNIT))
    assert start["ExecStart"] == f"{EXECUTABLE} gateway --config /etc/slpstream/gateway.toml"
    assert start["ExecStartPre"] == f"-{EXECUTABLE} check-config /etc/slpstream/gateway.toml"


def example(name: str, tmp_path: Path) -> Config:
    """A file of the example, with what it names there."""
    text = (EXAMPLE / name).read_text(encoding="utf-8")
    for secret in ("broker-password", "broker-ca.pem", "token"):
        (tmp_path / secret).write_text("secret\n")
    path = tmp_path / name
    path.write_text(text.replace("/etc/slpstream/", f"{tmp_path}/"))
    return config.load(path)


def test_the_example_is_one_event(tmp_path: Path) -> None:
    venues = [example(f"{name}.toml", tmp_path) for name in ("north", "south")]
    gateway = example("gateway.toml", tmp_path)
    assert {each.fanout.event for each in (*venues, gateway)} == {"spring-open"}
    stations = [station.id for venue in venues for station in venue.stations]
    assert len(stations) == len(set(stations)) == 4
    places = [address_of(each.fanout.url, each.fanout.password_file) for each in (*venues, gateway)]
    assert {(place.host, place.port) for place in places} == {("192.0.2.10", 6379)}
    assert [place.username for place in places] == ["venue", "venue", "gateway"]
    assert (EXAMPLE / "haproxy.cfg").read_text().count("server gateway") == 3


def test_the_example_s_broker_starts() -> None:
    """With its own users; without the certificates, which are the operator's."""
    left_out = ("#", "bind", "port", "tls-", "aclfile")
    options: list[str] = []
    for line in (EXAMPLE / "redis.conf").read_text().splitlines():
        if line and not line.startswith(left_out):
            key, _, value = line.partition(" ")
            options += [f"--{key}", value.strip('"')]
    with redis(*options, "--aclfile", str(EXAMPLE / "users.acl")):
        pass


@pytest.mark.parametrize("name", ["fanout.md", "how_far_it_goes.md"])
def test_the_pages_name_only_what_there_is(name: str) -> None:
    import re

    text = (DEPLOY / "docs" / name).read_text(encoding="utf-8")
    keys = {f"{key.section}.{key.name}" for key in config.all_keys()}
    assert set(re.findall(r"`(fanout\.(?!md)\w+)`", text)) <= keys
    from slpstream.system.metrics import TABLE

    assert set(re.findall(r"`(slpstream_\w+)`", text)) <= {row.name for row in TABLE}
