"""The page on outputs: its examples run, and its numbers and names are correct."""

from __future__ import annotations

import json
import re
import subprocess
import time
import tomllib
from typing import Any

import pytest

from slpstream import config
from slpstream.parts import registry
from slpstream.system.http_client import signature
from tests.project import ROOT
from tests.web.javascript import needs_node

TEXT = (ROOT / "docs" / "howto" / "outputs.md").read_text(encoding="utf-8")
SECRET, BODY = b"key", '{"type":"set","player":"Æther"}'.encode()


def examples(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def headers(sent_at: int, body: bytes = BODY) -> dict[str, str]:
    return {"x-slpstream-timestamp": str(sent_at), "x-slpstream-signature": signature(SECRET, sent_at, body)}


@pytest.fixture
def cases() -> list[tuple[dict[str, str], bool]]:
    now = int(time.time())
    forged = {**headers(now), "x-slpstream-timestamp": str(now + 1)}
    short = {**headers(now), "x-slpstream-signature": "sha256="}
    return [
        (headers(now), True),
        (headers(now - 600), False),
        (headers(now, b"{}"), False),
        (forged, False),
        (short, False),
    ]


def test_python_example_checks_the_signature(cases: list[tuple[dict[str, str], bool]]) -> None:
    [example] = examples("python")
    session: dict[str, Any] = {}
    exec(compile(example, "outputs.md", "exec"), session)
    assert [session["is_ours"](SECRET, given, BODY) for given, _ in cases] == [ours for _, ours in cases]


@needs_node
def test_node_example_checks_the_signature(cases: list[tuple[dict[str, str], bool]]) -> None:
    [example] = examples("js")
    given = json.dumps([case for case, _ in cases])
    script = f"{example}\nconst body = Buffer.from({BODY.hex()!r}, 'hex');\n"
    script += f"console.log(JSON.stringify({given}.map((headers) => isOurs('key', headers, body))));"
    ran = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(ran.stdout) == [ours for _, ours in cases]


def test_configuration_examples_are_valid() -> None:
    found = [config.convert(tomllib.loads(example), registry.sections()) for example in examples("toml")]
    assert [list(each.parts) for each in found] == [["webhooks"], ["jsonl"]]
