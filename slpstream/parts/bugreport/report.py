"""The content of a bug report, and where it comes from."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import ssl
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import trio

from slpstream.cli.access_token import read_token
from slpstream.cli.addresses import base_address
from slpstream.config import Server, convert
from slpstream.formats.kernel import kernel
from slpstream.model.errors import ConfigError, FormatError, SinkError, SourceError
from slpstream.model.foreign_data import json_or_none
from slpstream.model.version import __version__
from slpstream.parts import registry
from slpstream.parts.bugreport.part import LOG_PATH, LogLines
from slpstream.parts.bugreport.redaction import Redaction, as_toml
from slpstream.system import systemd
from slpstream.system.files import read_start
from slpstream.system.http_client import request, target_of

_README = """This is a bug report of slpstream, written at {time} UTC. It contains:

{contents}

Secrets were removed: tokens, passwords, keys, the URLs of webhooks, and the credentials and paths of all other URLs.
Your home folder is shown as ~. What remains are the names of folders, stations and players, and the addresses of
machines in your network. Look through the files before you give them to anyone.
"""
_TIMEOUT_SECONDS = 10.0
_MAX_BODY_BYTES = 16 << 20
_MAX_LOG_BYTES = 4 << 20
_HEAD_BYTES = 64 << 10
_DUMPED_BYTES = 512
_ANSWERED = (200, 503)
"""The statuses of answers. `/readyz` has 503 if something does not work."""
_UNAUTHORIZED = (401, 403)
_ANSWERS = {
    "/readyz": ("readyz.json", "which stations and outputs do not work, and why"),
    "/v1/stations": ("station_list.json", "the stations and their games"),
    LOG_PATH: ("daemon_log.txt", "the newest log lines that the daemon has kept"),
    "/metrics": ("metrics.txt", "the metrics of the daemon"),
}
"""The paths that the daemon is asked for, and the file for each answer with its description."""


def begin(token_file: Path | None, url: str | None) -> Report:
    """Begin a report with the versions. `url` is that of the daemon, which can contain a password."""
    redaction = Redaction(registry.sections(), Path.home())
    report = Report(redaction, token_file)
    report.add_text("versions.txt", "versions of slpstream, Python and libraries", _versions())
    if token_file is not None and token_file.is_file():
        redaction.remember_file(token_file)
    for name in ("token", "operate_token"):
        if (file := systemd.credential(name)) is not None:
            redaction.remember_file(file)
    if url is not None:
        redaction.remember_credentials(url)
    return report


class Report:
    """A bug report that is being collected. Secrets are removed at the end, when all of them are known."""

    def __init__(self, redaction: Redaction, token_file: Path | None) -> None:
        self.contents: dict[str, str] = {}
        """The files with their descriptions."""
        self.missing: list[str] = []
        """Everything that could not be collected, each with the reason."""
        self._redaction = redaction
        self._token_file = token_file
        self._server = Server()
        self._texts: dict[str, str] = {}
        self._binary: dict[str, bytes] = {}

    def files(self, written_at: time.struct_time) -> Mapping[str, bytes]:
        """Return all files, without secrets. `missing` has no secrets either from now on."""
        self.missing = [self._redaction.text(note) for note in self.missing]
        contents = [f"  {name:<20} {what}" for name, what in self.contents.items()]
        contents += ["", *(f"Not included: {note}" for note in self.missing)] if self.missing else []
        readme = _README.format(time=time.strftime("%Y-%m-%d %H:%M:%S", written_at), contents="\n".join(contents))
        texts = {name: self._redaction.text(text) for name, text in self._texts.items()}
        return {
            "README.txt": readme.encode(),
            **{name: text.encode("utf-8", "replace") for name, text in texts.items()},
            **self._binary,
        }

    def add_text(self, name: str, what: str, text: str) -> None:
        """Add a text from which secrets still have to be removed."""
        self.contents[name] = what
        self._texts[name] = text

    def add_configuration(self, file: Path | None, checked: str) -> None:
        """Add the configuration without secrets and comments, and the outcome of checking it."""
        if file is None:
            self.missing.append("the configuration, because there is no `--config`")
            return
        try:
            table = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
        except OSError as error:
            self.missing.append(f"the configuration {file}: {error.strerror}")
            return
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
            # The file has secrets that we cannot tell from the rest, and the message may show some of it.
            place = re.search(r"\(at [a-z0-9, ]+\)$", str(error))
            self.missing.append(f"the configuration {file}: it is not TOML {place[0] if place else ''}".rstrip())
            return
        self.add_text("configuration.toml", "the configuration without secrets", as_toml(self._redaction.table(table)))
        self.add_text("check_config.txt", "whether the configuration is valid", f"{checked}\n")
        with contextlib.suppress(ConfigError):  # the defaults are a good guess then
            self._server = convert({"server": table.get("server", {})}, registry.sections()).server

    def add_daemon(self, url: str | None) -> None:
        """Ask the daemon at a URL for everything that it knows, by default at the address in the configuration."""
        server = self._server
        if url is None and server.port == 0:
            self.missing.append("the answers of the daemon, because the configuration has no port; give its URL")
            return
        base = (url or base_address(server.host, server.port)).rstrip("/")
        try:
            answers, trouble = trio.run(_ask, base, self._token())
        except ValueError as error:
            answers, trouble = {}, str(error)
        if trouble:
            self.missing.append(f"answers of the daemon at {base}: {trouble}")
        for path, (status, body) in answers.items():
            name, what = _ANSWERS[path]
            if status in _ANSWERED:
                self.add_text(name, what, _readable(path, body))
            else:
                hint = "; `--token-file` names the file of the operator token" if status in _UNAUTHORIZED else ""
                self.missing.append(f"{name}, because the daemon answered {status}{hint}")

    def _token(self) -> str | None:
        """Return the token of the option or of the configuration."""
        names = [name for name in (self._server.operate_token_file, self._server.token_file) if name]
        file = self._token_file or (Path(names[0]).expanduser() if names else None)
        try:
            return None if file is None else read_token(file)
        except (ConfigError, RuntimeError) as error:
            self.missing.append(f"the token for the daemon: {error}")
            return None

    def add_journal(self, unit: str, lines: int) -> None:
        """Add the last lines of the service in the journal of systemd, if there is one."""
        program = shutil.which("journalctl") if sys.platform == "linux" else None
        if program is None:
            return
        arguments = ["--unit", unit, "--lines", str(lines), "--no-pager", "--quiet", "--output", "short-iso"]
        try:
            done = subprocess.run(  # noqa: S603 -- a program of the system
                [program, *arguments], capture_output=True, timeout=_TIMEOUT_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            self.missing.append(f"the journal: {type(error).__name__}")
            return
        if done.stdout.strip():
            self.add_text(
                "journal.txt", f"the last lines of {unit} in the journal", done.stdout.decode("utf-8", "replace")
            )
        else:
            self.missing.append(f"the journal, because it has no lines of the service {unit} that you may read")

    def add_log_file(self, file: Path, lines: int) -> None:
        """Add the last lines of a log file."""
        try:
            size = file.stat().st_size
            with file.open("rb") as log:
                log.seek(max(0, size - _MAX_LOG_BYTES))
                last = log.read(_MAX_LOG_BYTES).decode("utf-8", "replace").splitlines()[-lines:]
        except OSError as error:
            self.missing.append(f"the log {file}: {error.strerror}")
            return
        self.add_text("log_file.txt", "the last lines of the log file", "\n".join(last) + "\n")

    def add_replay(self, file: Path) -> None:
        """Add the first bytes of a replay, and the error that reading it gives."""
        from slpstream.api import messages  # noqa: PLC0415 -- takes long to import

        try:
            head, size = read_start(file, _HEAD_BYTES)
        except OSError as error:
            self.missing.append(f"the replay {file}: {error.strerror}")
            return
        said: list[str] = []
        try:
            said.extend(message.json().decode() for message in messages(file, topics=("game", "diagnostic")))
        except (FormatError, SourceError) as error:
            said.append(str(error))
        text = "\n".join([f"{file}", f"{size} bytes, of which replay_head.bin has the first {len(head)}", "", *said])
        self.add_text("replay.txt", "what can be read of the replay, and its first bytes", f"{text}\n\n{_dump(head)}")
        self.contents["replay_head.bin"] = "the head of the replay, with the names of the players"
        self._binary["replay_head.bin"] = head


async def _ask(base: str, token: str | None) -> tuple[dict[str, tuple[int, bytes]], str]:
    """Return the status and the body of each answer, and why there are no more of them.

    We don't follow redirects, so the token doesn't get to other servers. Raises `ValueError` if `base` isn't a URL.
    """
    headers = [] if token is None else [("authorization", f"Bearer {token}")]
    answers: dict[str, tuple[int, bytes]] = {}
    for path in _ANSWERS:
        target = target_of(base + path)
        tls = ssl.create_default_context() if target.secure else None
        try:
            answer = await request("GET", target, headers, b"", tls, _TIMEOUT_SECONDS, max_body_bytes=_MAX_BODY_BYTES)
        except SinkError as error:
            return answers, str(error)
        answers[path] = (answer.status, answer.body)
    return answers, ""


def _readable(path: str, body: bytes) -> str:
    """Return JSON with indentation, the lines of a log as lines, and everything else as it is."""
    log = json_or_none(body, LogLines) if path == LOG_PATH else None
    if log is not None:
        return "".join(f"{line}\n" for line in log.lines)
    value = json_or_none(body, dict[str, Any])
    if value is None:
        return body.decode("utf-8", "replace")
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _versions() -> str:
    """Return the versions of everything that slpstream needs, as a text."""
    facts: dict[str, Any] = {
        "slpstream": __version__,
        "kernel": "yes" if kernel is not None else "no",
        "Python": sys.version.replace("\n", " "),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "parts": ", ".join(part.name for part in registry.parts()),
    }
    lines = [f"{name}: {value}" for name, value in facts.items()]
    return "\n".join([*lines, "", *_libraries()]) + "\n"


def _libraries() -> Sequence[str]:
    try:
        required = importlib.metadata.requires("slpstream") or []
    except importlib.metadata.PackageNotFoundError:
        return ["The versions of libraries are unknown, because slpstream was not installed as a package."]
    names = sorted({re.split(r"[^A-Za-z0-9._-]", each, maxsplit=1)[0].lower() for each in required})
    return [f"{name}: {_version(name)}" for name in names]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _dump(head: bytes) -> str:
    """Return bytes as hexadecimal numbers and characters, sixteen in each line."""
    lines = []
    for at in range(0, min(len(head), _DUMPED_BYTES), 16):
        row = head[at : at + 16]
        characters = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        lines.append(f"{at:06x}  {row.hex(' '):<47}  {characters}\n")
    return "".join(lines)
