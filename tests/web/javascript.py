"""Run the project's JavaScript modules in node, without a page and with a controlled clock."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from slpstream.formats.registry import name_folders
from slpstream.parts.registry import static_folders
from slpstream.web.app import STATIC
from tests.project import IN_CI

needs_node = pytest.mark.skipif(
    shutil.which("node") is None and not IN_CI, reason="there is no node (Debian: apt install nodejs); only CI insists"
)

WITH_A_FAKE_SOCKET = """
  const { connect } = await import("./slpstream.js");
  const opened = [];
  class Fake {
    constructor(url, protocol) {
      this.url = decodeURIComponent(url);
      this.protocol = protocol;
      this.readyState = 0;
      this.sent = [];
      opened.push(this);
      this.ready = new Promise((resolve) => setTimeout(() => { this.readyState = 1; this.onopen?.(); resolve(); }, 1));
    }
    send(text) { this.sent.push(JSON.parse(text)); }
    say(message) { this.onmessage?.({ data: JSON.stringify(message) }); }
    lose(code = 1006, reason = "") { this.readyState = 3; this.onclose?.({ code, reason }); }
    fail() { this.onerror?.({}); }
    close() { this.readyState = 3; }
  }
  const sockets = async (count) => {
    while (opened.length < count) { await new Promise((resolve) => setTimeout(resolve, 5)); }
    await opened[count - 1].ready;
    opened[count - 1].say({ type: "hello", protocol: 1, version: "9", stations: ["a", "b"] });
    return opened[count - 1];
  };
  const log = (type, station, game, place) => ({ type, station, gameId: game, cursor: `${game}/l${place}.0` });
  const events = [];
  const make = (options) => {
    const client = connect({ base: "https://example.org:1/x/", WebSocket: Fake, ...options });
    client.on("connection", (state) => events.push(state));
    client.on("reset", (station) => events.push(`reset ${station}`));
    client.on("frame", ({ cursor }) => events.push(cursor));
    return client;
  };
"""
"""A client of the module over a scripted websocket, for `run`."""


@cache
def _copied() -> TemporaryDirectory[str]:
    copied = TemporaryDirectory(prefix="slpstream-modules-")
    shutil.copytree(STATIC, Path(copied.name) / "static")
    for name, folder in static_folders().items():
        shutil.copytree(folder, Path(copied.name) / "static" / name, dirs_exist_ok=True)
    for name, folder in name_folders().items():
        shutil.copytree(folder, Path(copied.name) / "static" / "names" / name)
    (Path(copied.name) / "static" / "package.json").write_text('{"type": "module"}')
    return copied


def modules() -> Path:
    """A folder with copies of the static files, in which node treats scripts as modules."""
    return Path(_copied().name) / "static"


def run(script: str, given: Any) -> Any:
    """Run a function body `async (given) => ...` that can import the modules from `./`, and return its result."""
    program = modules() / "script.js"
    program.write_text(
        f"const main = async (given) => {{{script}}};\nconsole.log(JSON.stringify(await main({json.dumps(given)})));\n"
    )
    ran = subprocess.run(["node", str(program)], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
