"""Log lines have a level prefix when they go to the systemd journal, and only then."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from slpstream.system import logs
from slpstream.system.logs import LogLimit


def journal_of(path: Path) -> str:
    """The `JOURNAL_STREAM` that systemd sets when stderr is this file."""
    status = path.stat()
    return f"{status.st_dev}:{status.st_ino}"


@pytest.fixture
def _restored_logging() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_journal_is_recognized_by_device_and_inode(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w") as stream, (tmp_path / "other").open("w") as other:
        environ = {"JOURNAL_STREAM": journal_of(tmp_path / "stderr")}
        assert logs.is_journal(stream, environ)
        assert not logs.is_journal(other, environ), "stderr was redirected"
        assert not logs.is_journal(stream, {})
        assert not logs.is_journal(stream, {"JOURNAL_STREAM": "nonsense"})
    assert not logs.is_journal(stream, environ), "closed"
    assert not logs.is_journal(io.StringIO(), environ)


@pytest.mark.usefixtures("_restored_logging")
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_journal_lines_begin_with_their_level(
    log_format: logs.LogFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "stderr"
    with path.open("w") as stream:
        monkeypatch.setenv("JOURNAL_STREAM", journal_of(path))
        logs.configure(log_format, "debug", stream)
        log = logs.get_logger()
        for level in ("debug", "info", "warning", "error", "critical"):
            getattr(log, level)(f"one of {level}")
        stream.flush()
        assert [line[:3] for line in path.read_text().splitlines()] == ["<7>", "<6>", "<4>", "<3>", "<2>"]
        try:
            raise ValueError("many lines")
        except ValueError:
            log.exception("a traceback")
        stream.flush()
    assert {line[:3] for line in path.read_text().splitlines()[5:]} == {"<3>"}
    monkeypatch.setenv("JOURNAL_STREAM", "1:1")
    other = io.StringIO()
    logs.configure("json", "info", other)
    logs.get_logger().warning("plain")
    assert other.getvalue().startswith("{"), "another stream has no level prefix"


@pytest.mark.usefixtures("_restored_logging")
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_names_cannot_control_the_terminal(log_format: logs.LogFormat) -> None:
    stream = io.StringIO()
    logs.configure(log_format, "info", stream)
    logs.get_logger().info("file", file="a\x1b]0;title\x07\x1b[2J\u202egpj.slp\nsecond line", players=["\x1b[31m"])
    [line] = stream.getvalue().splitlines()
    assert line.isprintable()
    assert "gpj.slp" in line


def test_limited_lines_carry_the_number_of_suppressed_ones() -> None:
    now = 0.0
    limit = LogLimit(2, 60.0, lambda: now)
    assert [limit.admit("gap") for _ in range(4)] == [{}, {}, None, None]
    assert limit.admit("source connected") == {}, "each event has its own limit"
    now = 60.0
    assert [limit.admit("gap") for _ in range(3)] == [{"suppressed": 2}, {}, None]
    now = 500.0
    assert [limit.admit("gap") for _ in range(2)] == [{"suppressed": 1}, {}]


@pytest.mark.usefixtures("_restored_logging")
def test_windows_terminals_get_lines_without_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    """structlog raises an error for colors on Windows when colorama is not installed."""
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    with monkeypatch.context() as windows:
        windows.setattr("slpstream.system.logs.os.name", "nt")
        logs.configure("auto", "info", stream)
    structlog.get_logger().info("listening")
    assert "listening" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
