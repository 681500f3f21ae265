"""Passwords, TLS, clusters, and errors for wrong ones."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from click.testing import CliRunner
from coredis.exceptions import RedisError

from slpstream.model.errors import ConfigError
from slpstream.parts.fanout.connection import BROKER_ERRORS, address_of, connected, reason_of
from tests.parts.fanout.gateways import Follower, Gateway
from tests.parts.fanout.ingest import Ingest, broker_client, expected, until
from tests.parts.fanout.redis_process import RedisProcess, redis
from tests.ports import free_port
from tests.project import ROOT
from tests.stream.fakes import FakeLog, FakeStation


@pytest.mark.parametrize(
    ("url", "shown", "username", "password", "database"),
    [
        ("redis://localhost", "redis://localhost:6379", None, None, 0),
        ("redis://:secret@broker:7000/3", "redis://broker:7000/3", None, "secret", 3),
        ("rediss://venue:p%40ss@[::1]:7000", "rediss://[::1]:7000", "venue", "p@ss", 0),
        ("redis+cluster://a:1", "redis+cluster://a:1", None, None, 0),
        ("rediss+cluster://u:p@a", "rediss+cluster://a:6379", "u", "p", 0),
    ],
)
def test_url_is_parsed(url: str, shown: str, username: str | None, password: str | None, database: int) -> None:
    address = address_of(url)
    assert str(address) == shown
    assert (address.username, address.password, address.database) == (username, password, database)
    assert address.cluster == ("+cluster" in url)
    assert (address.context is not None) == url.startswith("rediss")


@pytest.mark.parametrize(
    "url",
    ["http://a", "redis://", "redis://a:port", "redis://a/x", "redis+cluster://a/1", "redis+sentinel://a", "a:6379"],
)
def test_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"fanout\.url"):
        address_of(url)


def test_secrets_are_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from the file\nnot this\n")
    assert address_of("redis://user@a", str(file)).password == "from the file"
    file.write_text("\n")
    with pytest.raises(ConfigError, match="first line is empty"):
        address_of("redis://a", str(file))
    with pytest.raises(ConfigError, match="cannot be read"):
        address_of("redis://a", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="ca_file"):
        address_of("rediss://a", "", str(tmp_path / "nowhere"))


async def send_a_game(url: str, event: str, gateway_url: str = "") -> None:
    """Send a game from a sink to a subscriber of a gateway, and compare it."""
    station, log = FakeStation(), FakeLog(1)
    ingest = Ingest(url, event, station)
    follower = Follower()
    async with ingest.running():
        async with Gateway(gateway_url or url, event).running("main") as gateway, follower.at(gateway) as connection:
            game = station.begin(log)
            while station.write(game, 4):
                await trio.sleep(0.002)
            await until(lambda: len(connection.log) >= len(log.whole()))
        assert follower.lines == expected(log)


async def refusal(url: str, ca_file: str = "") -> str:
    """The reason why a connection is refused."""
    reasons: list[str] = []
    try:
        async with connected(address_of(url, "", ca_file)):
            pass
    except* BROKER_ERRORS as errors:
        reasons.append(reason_of(errors))
    [reason] = reasons
    return reason


@pytest.mark.trio
async def test_user_and_password_are_required() -> None:
    with redis("--requirepass", "secret", "--user", "venue", "on", ">venue-secret", "~slpstream:*", "+@all") as server:
        assert "AUTH" in (await refusal(server.url)).upper()
        assert "password" in await refusal(server.url.replace("//", "//:wrong@"))
        await send_a_game(server.url.replace("//", "//:secret@"), "password")
        await send_a_game(server.url.replace("//", "//venue:venue-secret@"), "user")
        station = FakeStation()
        ingest = Ingest(server.url.replace("//", "//venue:wrong@"), "wrong", station)
        async with trio.open_nursery() as nursery:
            ingest.start(nursery)
            await until(lambda: "not connected yet" not in (ingest.sink.problem or ""))
            assert "venue" not in (ingest.sink.problem or "")
            assert not ingest.sink.connected
            nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_permissions_of_the_example_suffice() -> None:
    acl = ROOT / "deploy" / "examples" / "two_venues" / "users.acl"
    with redis("--aclfile", str(acl)) as server:
        venue = server.url.replace("//", "//venue:change-this-one@")
        gateway = server.url.replace("//", "//gateway:and-this-one@")
        await send_a_game(venue, "rights", gateway)
        async with broker_client(gateway) as client:
            with pytest.raises(RedisError, match="no permissions"):
                await client.delete(["slpstream:rights:main"])
        assert await refusal(server.url)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a self-signed certificate for 127.0.0.1 and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        if os.environ.get("CI") == "true":
            pytest.fail("openssl is missing")
        pytest.skip("openssl is missing")
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder


@pytest.fixture
def encrypted(certificate: Path) -> Iterator[RedisProcess]:
    key, cert = str(certificate / "key.pem"), str(certificate / "cert.pem")
    with redis(
        "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no", tls=True
    ) as server:
        yield server


@pytest.mark.trio
async def test_tls_checks_the_certificate(encrypted: RedisProcess, certificate: Path) -> None:
    url = encrypted.url.replace("redis://", "rediss://")
    trusted = str(certificate / "cert.pem")
    async with connected(address_of(url, "", trusted)) as client:
        assert await client.ping()
    assert "certificate" in (await refusal(url)).lower()
    assert await refusal(url.replace("127.0.0.1", "localhost"), trusted)  # not a name in the certificate
    assert await refusal(encrypted.url)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisProcess]:
    """A cluster of one node with all slots."""
    with redis("--cluster-enabled", "yes", "--cluster-port", str(free_port())) as server:
        with socket.create_connection(("127.0.0.1", server.port), 5) as sock:
            sock.sendall(b"CLUSTER ADDSLOTSRANGE 0 16383\r\n")
            assert sock.recv(100) == b"+OK\r\n"
            state = b""
            while b"cluster_state:ok" not in state:
                sock.sendall(b"CLUSTER INFO\r\n")
                state = sock.recv(4096)
        yield server


@pytest.mark.slow
@pytest.mark.trio
async def test_game_is_sent_through_a_cluster(cluster: RedisProcess) -> None:
    await send_a_game(cluster.url.replace("redis://", "redis+cluster://"), "cluster")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "fanout.url"),
        (["--url", "http://a"], "fanout.url"),
        (["--url", "redis://a", "--host", "0.0.0.0"], "token_file"),
    ],
)
def test_command_reports_wrong_options(arguments: list[str], message: str) -> None:
    from slpstream.parts.fanout.cli import command

    result = CliRunner().invoke(command, arguments)
    assert isinstance(result.exception, ConfigError)
    assert message in str(result.exception)
