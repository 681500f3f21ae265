"""`slpstream.system.systemd` with real datagram sockets in place of systemd."""

import os
import secrets
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slpstream.system.systemd import credential, notify, watchdog_interval_seconds

needs_af_unix = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this platform's Python has no AF_UNIX")

# systemd's NOTIFY_BUFFER_MAX, which is PIPE_BUF.
MAX_DATAGRAM_BYTES = 4096


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A bound socket that stands in for systemd, with its address in the environment."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield sock


@needs_af_unix
@pytest.mark.parametrize("abstract", [False, True])
def test_notify_sends_one_datagram_with_an_assignment_per_line(
    abstract: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if abstract and sys.platform != "linux":
        pytest.skip("abstract socket names exist on Linux only")
    name = f"slpstream-test-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.bind(f"\0{name}" if abstract else str(tmp_path / name))
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}" if abstract else str(tmp_path / name))
        assert notify("READY=1", "STATUS=2 stations, 1 game") is True
        assert sock.recv(65536) == b"READY=1\nSTATUS=2 stations, 1 game"
        assert notify("WATCHDOG=1") is True
        assert sock.recv(65536) == b"WATCHDOG=1"


@needs_af_unix
@pytest.mark.parametrize(
    ("status", "line"),
    [
        pytest.param("STATUS=a\nMAINPID=1", "STATUS=a MAINPID=1", id="newline-starts-no-second-assignment"),
        pytest.param("STATUS=a\0b", "STATUS=a b", id="systemd-drops-a-datagram-with-nul"),
        pytest.param("STATUS=\udcff.slp", "STATUS=?.slp", id="undecodable-file-name"),
        pytest.param("STATUS=もげ.slp", "STATUS=もげ.slp", id="utf-8"),
    ],
)
def test_status_can_contain_any_file_name(manager: socket.socket, status: str, line: str) -> None:
    assert notify("READY=1", status) is True
    assert manager.recv(65536).decode() == f"READY=1\n{line}"


@needs_af_unix
@pytest.mark.parametrize("shift", range(3))
def test_long_status_is_cut_without_losing_ready(manager: socket.socket, shift: int) -> None:
    # Each character has three bytes, so with three shifts the limit falls on each byte of a character.
    assert notify("READY=1", "STATUS=" + "x" * shift + "も" * 3000) is True
    datagram = manager.recv(65536)
    assert MAX_DATAGRAM_BYTES - 3 < len(datagram) <= MAX_DATAGRAM_BYTES
    assert datagram.decode().startswith("READY=1\nSTATUS=")  # it decodes, so no character was cut in two


@needs_af_unix
def test_full_queue_returns_false_without_blocking(manager: socket.socket) -> None:
    # The socket is never read. The kernel accepts net.unix.max_dgram_qlen datagrams, or as many as the send buffer
    # holds, then refuses. If `notify` waited instead, this test would hang.
    assert any(not notify("WATCHDOG=1") for _ in range(100_000))
    assert manager.recv(65536) == b"WATCHDOG=1"


@pytest.mark.parametrize("has_af_unix", [True, False])
@pytest.mark.parametrize(
    "address",
    [
        *(None, "", "vsock:2:1234", "relative/path", "/nonexistent/notify", "@slpstream-test-no-listener"),
        pytest.param("/" + "x" * 200, id="longer-than-sun_path"),
    ],
)
def test_unusable_address_returns_false(
    monkeypatch: pytest.MonkeyPatch, address: str | None, has_af_unix: bool
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    if address is not None:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    if not has_af_unix:
        monkeypatch.delattr(socket, "AF_UNIX", raising=False)
    assert notify("READY=1") is False


OWN_PID = str(os.getpid())


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        pytest.param({}, None, id="not-under-systemd"),
        pytest.param({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": OWN_PID}, 10.0, id="own-pid"),
        pytest.param({"WATCHDOG_USEC": "20000000"}, 10.0, id="without-a-pid"),
        pytest.param({"WATCHDOG_USEC": "500000"}, 0.25, id="less-than-a-second"),
        pytest.param({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "1"}, None, id="pid-of-the-parent"),
        pytest.param({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "me"}, None, id="pid-not-a-number"),
        pytest.param({"WATCHDOG_PID": OWN_PID}, None, id="pid-alone"),
        pytest.param({"WATCHDOG_USEC": ""}, None, id="empty"),
        pytest.param({"WATCHDOG_USEC": "20s"}, None, id="not-a-number"),
        pytest.param({"WATCHDOG_USEC": "0"}, None, id="zero"),
        pytest.param({"WATCHDOG_USEC": "-1"}, None, id="negative"),
        pytest.param({"WATCHDOG_USEC": str(2**64 - 1)}, None, id="infinity"),
        pytest.param({"WATCHDOG_USEC": "9" * 400}, None, id="too-large-for-a-float"),
    ],
)
def test_watchdog_interval(environ: dict[str, str], seconds: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert watchdog_interval_seconds(environ) == seconds
    for name in ("WATCHDOG_USEC", "WATCHDOG_PID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert watchdog_interval_seconds() == seconds


def test_credential_path_needs_a_directory_and_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    assert credential("token") is None
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert credential("token") is None
    (tmp_path / "token").write_text("secret")
    assert credential("token") == tmp_path / "token"


@pytest.mark.parametrize("name", ["", ".", "..", "../secret", "/etc/passwd", "a/b", "..\\secret", "a\0b"])
def test_credential_never_leaves_its_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "credentials").mkdir()
    assert credential(name, {"CREDENTIALS_DIRECTORY": str(tmp_path / "credentials")}) is None
