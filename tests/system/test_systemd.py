"""slpstream.system.systemd against real datagram sockets: what systemd would read is what is compared."""

import os
import secrets
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slpstream.system.systemd import credential, notify, watchdog_interval_seconds

needs_af_unix = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this platform's Python has no AF_UNIX")

# NOTIFY_BUFFER_MAX of systemd, which is PIPE_BUF.
SYSTEMD_READS = 4096


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Stands in for systemd: a bound socket, announced in the environment."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield sock


@needs_af_unix
def test_one_datagram_one_assignment_a_line(manager: socket.socket) -> None:
    assert notify("READY=1", "STATUS=2 stations, 1 game") is True
    assert manager.recv(65536) == b"READY=1\nSTATUS=2 stations, 1 game"
    assert notify("WATCHDOG=1") is True
    assert manager.recv(65536) == b"WATCHDOG=1"


@pytest.mark.skipif(sys.platform != "linux", reason="abstract socket names exist on Linux only")
def test_abstract_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"slpstream-test-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.bind(f"\0{name}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        assert notify("STOPPING=1") is True
        assert sock.recv(65536) == b"STOPPING=1"


@needs_af_unix
@pytest.mark.parametrize(
    ("status", "line"),
    [
        pytest.param("STATUS=a\nMAINPID=1", "STATUS=a MAINPID=1", id="newline-is-no-second-assignment"),
        pytest.param("STATUS=a\0b", "STATUS=a b", id="systemd-drops-a-datagram-with-nul"),
        pytest.param("STATUS=\udcff.slp", "STATUS=?.slp", id="undecodable-file-name"),
        pytest.param("STATUS=もげ.slp", "STATUS=もげ.slp", id="utf-8"),
    ],
)
def test_status_may_carry_any_file_name(manager: socket.socket, status: str, line: str) -> None:
    assert notify("READY=1", status) is True
    assert manager.recv(65536).decode() == f"READY=1\n{line}"


@needs_af_unix
@pytest.mark.parametrize("shift", range(3))
def test_a_long_status_does_not_take_ready_with_it(manager: socket.socket, shift: int) -> None:
    # Three bytes a character: with the three shifts the limit falls on each place of one.
    assert notify("READY=1", "STATUS=" + "x" * shift + "も" * 3000) is True
    datagram = manager.recv(65536)
    assert SYSTEMD_READS - 3 < len(datagram) <= SYSTEMD_READS
    assert datagram.decode().startswith("READY=1\nSTATUS=")  # decodes: no character was cut in two


@needs_af_unix
def test_a_full_queue_is_false_and_does_not_block(manager: socket.socket) -> None:
    # Nobody reads. The kernel takes net.unix.max_dgram_qlen datagrams or the send buffer's worth, then refuses; if
    # notify waited instead, this test would hang.
    assert any(not notify("WATCHDOG=1") for _ in range(100_000))
    assert manager.recv(65536) == b"WATCHDOG=1"


def test_no_socket_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert notify("READY=1") is False


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("", id="empty"),
        pytest.param("vsock:2:1234", id="vsock"),
        pytest.param("relative/path", id="relative"),
        pytest.param("/nonexistent/notify", id="gone"),
        pytest.param("/" + "x" * 200, id="longer-than-sun_path"),
        pytest.param("@slpstream-test-nobody-listens", id="abstract-gone"),
    ],
)
def test_unusable_address_is_false(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    assert notify("READY=1") is False


def test_platform_without_af_unix_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/systemd/notify")
    monkeypatch.delattr(socket, "AF_UNIX", raising=False)
    assert notify("READY=1") is False


OURS = str(os.getpid())


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        pytest.param({}, None, id="not-under-systemd"),
        pytest.param({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": OURS}, 10.0, id="ours"),
        pytest.param({"WATCHDOG_USEC": "20000000"}, 10.0, id="no-pid-named"),
        pytest.param({"WATCHDOG_USEC": "500000"}, 0.25, id="below-a-second"),
        pytest.param({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "1"}, None, id="inherited-from-the-parent"),
        pytest.param({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "me"}, None, id="pid-is-no-number"),
        pytest.param({"WATCHDOG_PID": OURS}, None, id="pid-alone"),
        pytest.param({"WATCHDOG_USEC": ""}, None, id="empty"),
        pytest.param({"WATCHDOG_USEC": "20s"}, None, id="no-number"),
        pytest.param({"WATCHDOG_USEC": "0"}, None, id="zero"),
        pytest.param({"WATCHDOG_USEC": "-1"}, None, id="negative"),
        pytest.param({"WATCHDOG_USEC": str(2**64 - 1)}, None, id="infinity"),
        pytest.param({"WATCHDOG_USEC": "9" * 400}, None, id="more-than-a-float-holds"),
    ],
)
def test_watchdog_interval(environ: dict[str, str], seconds: float | None) -> None:
    assert watchdog_interval_seconds(environ) == seconds


def test_watchdog_interval_reads_the_process_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "4000000")
    monkeypatch.setenv("WATCHDOG_PID", OURS)
    assert watchdog_interval_seconds() == 2.0


def test_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
