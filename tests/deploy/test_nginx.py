"""deploy/nginx.conf, run by a real nginx with a self-signed certificate, in front of a real daemon.

Only the values that users replace are changed: ports, certificate, folder of the logs.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import trio
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.trio.client import ClientConnection, connect
from websockets.typing import Origin

from tests.daemons.process import DaemonProcess, running
from tests.deploy.tools import needs
from tests.ports import free_port
from tests.project import ROOT

NAME = "slp.example.org"
TOKEN, OPERATE_TOKEN = "token-of-readers", "token-of-operators"

pytestmark = needs("nginx", "openssl")


class Proxied(NamedTuple):
    """nginx as a reverse proxy of a daemon."""

    daemon: DaemonProcess
    port: int
    plain_port: int
    trust: ssl.SSLContext
    folder: Path

    def connect(self) -> ssl.SSLSocket:
        """Open a TLS connection. The certificate is checked."""
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        return self.trust.wrap_socket(raw, server_hostname=NAME)

    def get(self, target: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Send a GET request; return the status, the headers with lower-case names, and the body."""
        connection = http.client.HTTPConnection(NAME)
        connection.sock = self.connect()
        extra = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", target, headers={"host": NAME, **extra})
        with connection.getresponse() as response:
            result = response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        connection.close()
        return result

    @asynccontextmanager
    async def stream(self, query: str, origin: Origin | None = None) -> AsyncIterator[ClientConnection]:
        """Open a websocket to the stream.

        We don't use the synchronous client, because it shares the TLS connection between two threads. With that, the
        handshake timed out in two of ninety runs.
        """
        with trio.fail_after(10):
            raw = await trio.open_tcp_stream("127.0.0.1", self.port)
            async with connect(
                f"wss://{NAME}/v1/stream{query}", stream=raw, ssl=self.trust, origin=origin
            ) as websocket:
                yield websocket


def configuration(folder: Path, daemon_port: int, port: int, plain_port: int) -> str:
    """The shipped file with a user's values, inside a minimal `nginx.conf`."""
    shipped = (ROOT / "deploy/nginx.conf").read_text()
    for old, new, count in (
        ("127.0.0.1:5151", f"127.0.0.1:{daemon_port}", 1),
        ("    listen [::]:443 ssl http2;\n", "", 1),
        ("    listen [::]:80;\n", "", 1),
        ("listen 443 ssl http2", f"listen 127.0.0.1:{port} ssl http2", 1),
        ("listen 80", f"listen 127.0.0.1:{plain_port}", 1),
        ("/etc/letsencrypt/live/slp.example.org", str(folder), 2),
        ("/var/log/nginx", str(folder), 2),
    ):
        assert shipped.count(old) == count, old
        shipped = shipped.replace(old, new)
    temp_paths = "".join(
        f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    return f"{user}pid {folder}/pid;\nworker_processes 1;\nevents {{}}\nhttp {{\n{temp_paths}{shipped}}}\n"


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    folder = tmp_path_factory.mktemp("nginx")
    openssl = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl += ["-days", "2", "-keyout", "privkey.pem", "-out", "fullchain.pem", "-subj", f"/CN={NAME}"]
    openssl += ["-addext", f"subjectAltName=DNS:{NAME}"]
    subprocess.run(openssl, cwd=folder, check=True, capture_output=True)
    (folder / "replays").mkdir()
    (folder / "token").write_text(TOKEN)
    (folder / "operate").write_text(OPERATE_TOKEN)
    (folder / "slpstream.toml").write_text(
        f'[server]\ntoken_file = "{folder}/token"\noperate_token_file = "{folder}/operate"\n'
        f'allowed_hosts = ["{NAME}"]\n[[stations]]\nid = "main"\nfolder = "{folder}/replays"\n'
    )
    port, plain_port = free_port(), free_port()
    with running(arguments=("--config", str(folder / "slpstream.toml"))) as daemon:
        config = configuration(folder, int(daemon.url.rpartition(":")[2]), port, plain_port)
        (folder / "nginx.conf").write_text(config)
        command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "nginx.log")]
        subprocess.run([*command, "-t"], check=True, capture_output=True)
        with subprocess.Popen([*command, "-g", "daemon off;"], stderr=subprocess.PIPE) as nginx:
            try:
                trust = ssl.create_default_context(cafile=str(folder / "fullchain.pem"))
                deadline = time.monotonic() + 15
                while True:
                    try:
                        socket.create_connection(("127.0.0.1", port), timeout=1).close()
                        break
                    except OSError:
                        assert time.monotonic() < deadline
                        assert nginx.poll() is None
                        time.sleep(0.05)
                yield Proxied(daemon, port, plain_port, trust, folder)
            finally:
                nginx.terminate()
                nginx.communicate(timeout=10)


@pytest.mark.slow
def test_proxied_requests_need_the_token(proxied: Proxied) -> None:
    assert proxied.daemon.get("/healthz") == {"status": "ok"}, "requests from the machine itself need no token"
    none = 'Bearer realm="slpstream"'
    for headers, challenge in (
        ({}, none),
        ({"authorization": "Bearer wrong"}, f'{none}, error="invalid_token"'),
        ({"x_forwarded_for": "127.0.0.1"}, none),
        ({"x_forwarded_for": ""}, none),
    ):
        status, response_headers, body = proxied.get("/v1/stations", **headers)
        assert (status, json.loads(body)["status"]) == (401, 401)
        assert response_headers["www-authenticate"] == challenge
    for token in (TOKEN, OPERATE_TOKEN):
        status, response_headers, body = proxied.get("/v1/stations", authorization=f"Bearer {token}")
        assert (status, json.loads(body)["stations"][0]["id"]) == (200, "main")
        assert proxied.get(f"/v1/stations?token={token}")[0] == 200
    assert response_headers["strict-transport-security"] == "max-age=31536000"
    assert response_headers["content-security-policy"].startswith("default-src 'none'")
    assert response_headers["x-content-type-options"] == "nosniff"
    assert proxied.get("/static/slpstream.js")[0] == 200


def test_hosts_and_origins_are_checked_through_the_proxy(proxied: Proxied) -> None:
    bearer = f"Bearer {TOKEN}"
    assert proxied.get("/healthz", authorization=bearer, host="evil.example")[0] == 421
    assert proxied.get("/healthz", authorization=bearer, origin="https://evil.example")[0] == 403
    assert proxied.get("/healthz", authorization=bearer, origin=f"https://{NAME}")[0] == 200


@pytest.mark.trio
async def test_origin_of_a_websocket_is_checked_through_the_proxy(proxied: Proxied) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with proxied.stream(f"?token={TOKEN}", Origin("https://evil.example")):
            pass
    assert refused.value.response.status_code == 403


@pytest.mark.trio
async def test_websocket_through_the_proxy(proxied: Proxied) -> None:
    async with proxied.stream("?station=main") as websocket:
        assert json.loads(await websocket.recv())["code"] == 4401
        with pytest.raises(ConnectionClosed) as closed:
            await websocket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
    async with proxied.stream(f"?station=main&token={TOKEN}", Origin(f"https://{NAME}")) as websocket:
        assert json.loads(await websocket.recv())["type"] == "hello"
        assert json.loads(await websocket.recv())["type"] == "station"


def test_server_sent_events_are_not_buffered(proxied: Proxied) -> None:
    with proxied.connect() as connection:
        head = f"GET /v1/events?station=main&token={TOKEN} HTTP/1.1\r\nHost: {NAME}\r\n\r\n"
        connection.sendall(head.encode())
        received = b""
        while b"event: station" not in received:
            data = connection.recv(65536)
            assert data, received
            received += data


def test_metrics_and_plain_http_are_not_proxied(proxied: Proxied) -> None:
    assert proxied.get(f"/metrics?token={TOKEN}")[0] == 404
    connection = http.client.HTTPConnection("127.0.0.1", proxied.plain_port, timeout=10)
    connection.request("GET", "/overlay/main?x=1", headers={"Host": NAME})
    with connection.getresponse() as response:
        assert (response.status, response.headers["location"]) == (301, f"https://{NAME}/overlay/main?x=1")
    connection.close()


def test_proxy_log_has_no_token(proxied: Proxied) -> None:
    assert proxied.get(f"/v1/stations?token={TOKEN}")[0] == 200
    assert proxied.get(f"/{'x' * 20_000}?token={TOKEN}")[0] == 414
    deadline = time.monotonic() + 10
    while "/v1/stations" not in (log := (proxied.folder / "slpstream.log").read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert TOKEN not in log + (proxied.folder / "slpstream.error.log").read_text()
